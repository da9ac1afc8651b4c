// The calls that -fsanitize=shift,alignment,float-cast-overflow,integer-divide-by-zero inserts where C++ leaves the
// behaviour undefined. Only kernels are of interest; host code is left alone.
#include <string>

#include "engine.h"

using namespace kbemu;

namespace {

// The start of every record that the compiler hands over.
struct Location {
    const char* file;
    std::uint32_t line, column;
};

struct Type {
    std::uint16_t kind, info;
    char name[1];
};

struct ShiftData {
    Location location;
    const Type *left, *right;
};

struct AlignmentData {
    Location location;
    const Type* type;
    unsigned char log_alignment, access;
};

struct CastData {
    Location location;
    const Type *from, *to;
};

// Site has no public constructor from parts; libstdc++'s own representation is three numbers and two names.
struct SiteParts {
    const char *file, *function;
    unsigned line, column;
};

Place place_of(const Location& location) {
    // Places outlive this call, and there are few of them: one for each line that goes wrong.
    auto* parts = new SiteParts{location.file, "", location.line, location.column};
    Place place;
    static_assert(sizeof place.site == sizeof parts);
    __builtin_memcpy(static_cast<void*>(&place.site), &parts, sizeof parts);
    return place;
}

void tell(const char* kind, const std::string& message, const Location& location) {
    if (self) report(kind, message, place_of(location));
}

}  // namespace

extern "C" {

void __ubsan_handle_shift_out_of_bounds(ShiftData* data, unsigned long, unsigned long amount) {
    if (!self) return;
    const std::string type = data->left ? data->left->name : "a value";
    tell("shift_width", "a shift of " + type + " by " + std::to_string(static_cast<long>(amount)) +
                            ", which is not below its width in bits", data->location);
}

void __ubsan_handle_float_cast_overflow(CastData* data, unsigned long) {
    if (!self) return;
    tell("float_conversion", std::string("a conversion from ") + data->from->name + " to " + data->to->name +
                                 " of a value that does not fit (or NaN)", data->location);
}

void __ubsan_handle_divrem_overflow(CastData* data, unsigned long, unsigned long) {
    tell("integer_division", "an integer division by zero, or one whose result does not fit", data->location);
}

void __ubsan_handle_type_mismatch_v1(AlignmentData* data, unsigned long pointer) {
    if (!self || pointer == 0) return;
    const unsigned long alignment = 1ul << data->log_alignment;
    if (pointer % alignment == 0) return;
    tell("misaligned_access", std::string("an access to ") + data->type->name + " at an address that is not a multiple of " +
                                  std::to_string(alignment), data->location);
}
}
