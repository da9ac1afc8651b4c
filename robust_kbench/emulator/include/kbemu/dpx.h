// The DPX functions: sums, minima and maxima in one step, on 32-bit integers and on pairs of 16-bit integers.
#pragma once
#include <cstdint>

#include "kbemu/packed_integers.h"

namespace kbemu {

struct Larger {
    static constexpr std::int64_t of(std::int64_t x, std::int64_t y) { return x > y ? x : y; }
    static constexpr bool first(std::int64_t x, std::int64_t y) { return x >= y; }
};

struct Smaller {
    static constexpr std::int64_t of(std::int64_t x, std::int64_t y) { return x < y ? x : y; }
    static constexpr bool first(std::int64_t x, std::int64_t y) { return x <= y; }
};

constexpr std::int64_t not_negative(std::int64_t x) {
    return x > 0 ? x : 0;
}

// The pairwise extremum, and which of the two it is; `first` receives one answer for each lane, the highest lane first.
template <class Lane, class Extremum, class... Flags>
inline unsigned extremum_and_origin(unsigned a, unsigned b, Flags*... first) {
    int index = sizeof...(Flags);
    ((--index, *first = Extremum::first(lane<Lane>(a, index), lane<Lane>(b, index))), ...);
    return lanewise<Lane>(Extremum::of, a, b);
}

}  // namespace kbemu

#define KBEMU_DPX_TWO(name, Word, Lane, expression)                                                                \
    inline Word name(Word a, Word b) {                                                                             \
        return kbemu::lanewise<Lane>([](std::int64_t x, std::int64_t y) { return expression; }, a, b);             \
    }
#define KBEMU_DPX_THREE(name, Word, Lane, expression)                                                              \
    inline Word name(Word a, Word b, Word c) {                                                                     \
        const auto operation = [](std::int64_t x, std::int64_t y, std::int64_t z) { return expression; };          \
        return kbemu::lanewise<Lane>(operation, a, b, c);                                                          \
    }

// The sum wraps around before it is compared.
#define KBEMU_DPX(suffix, Word, Lane, extremum, Extremum)                                                          \
    KBEMU_DPX_THREE(__vi##extremum##3_##suffix, Word, Lane, Extremum::of(Extremum::of(x, y), z))                   \
    KBEMU_DPX_THREE(__viadd##extremum##_##suffix, Word, Lane, Extremum::of(static_cast<Lane>(x + y), z))

#define KBEMU_DPX_RELU(suffix, Word, Lane, extremum, Extremum)                                                     \
    KBEMU_DPX_TWO(__vi##extremum##_##suffix##_relu, Word, Lane, kbemu::not_negative(Extremum::of(x, y)))           \
    KBEMU_DPX_THREE(__vi##extremum##3_##suffix##_relu, Word, Lane,                                                 \
                    kbemu::not_negative(Extremum::of(Extremum::of(x, y), z)))                                      \
    KBEMU_DPX_THREE(__viadd##extremum##_##suffix##_relu, Word, Lane,                                               \
                    kbemu::not_negative(Extremum::of(static_cast<Lane>(x + y), z)))

#define KBEMU_DPX_WORD(suffix, Word, Lane, extremum, Extremum)                                                     \
    KBEMU_DPX(suffix, Word, Lane, extremum, Extremum)                                                              \
    inline Word __vib##extremum##_##suffix(Word a, Word b, bool* first) {                                          \
        return kbemu::extremum_and_origin<Lane, Extremum>(a, b, first);                                            \
    }

#define KBEMU_DPX_PAIR(suffix, Lane, extremum, Extremum)                                                           \
    KBEMU_DPX(suffix, unsigned, Lane, extremum, Extremum)                                                          \
    inline unsigned __vib##extremum##_##suffix(unsigned a, unsigned b, bool* first_high, bool* first_low) {        \
        return kbemu::extremum_and_origin<Lane, Extremum>(a, b, first_high, first_low);                            \
    }

KBEMU_DPX_WORD(s32, int, std::int32_t, max, kbemu::Larger)
KBEMU_DPX_WORD(s32, int, std::int32_t, min, kbemu::Smaller)
KBEMU_DPX_WORD(u32, unsigned, std::uint32_t, max, kbemu::Larger)
KBEMU_DPX_WORD(u32, unsigned, std::uint32_t, min, kbemu::Smaller)
KBEMU_DPX_PAIR(s16x2, std::int16_t, max, kbemu::Larger)
KBEMU_DPX_PAIR(s16x2, std::int16_t, min, kbemu::Smaller)
KBEMU_DPX_PAIR(u16x2, std::uint16_t, max, kbemu::Larger)
KBEMU_DPX_PAIR(u16x2, std::uint16_t, min, kbemu::Smaller)
KBEMU_DPX_RELU(s32, int, std::int32_t, max, kbemu::Larger)
KBEMU_DPX_RELU(s32, int, std::int32_t, min, kbemu::Smaller)
KBEMU_DPX_RELU(s16x2, unsigned, std::int16_t, max, kbemu::Larger)
KBEMU_DPX_RELU(s16x2, unsigned, std::int16_t, min, kbemu::Smaller)

#undef KBEMU_DPX_TWO
#undef KBEMU_DPX_THREE
#undef KBEMU_DPX
#undef KBEMU_DPX_RELU
#undef KBEMU_DPX_WORD
#undef KBEMU_DPX_PAIR
