// fmin and fmax as PTX has them, which the C library leaves open: +0 is above -0, a number is above and below any NaN,
// signalling or not, and two NaNs give the canonical one. The headers rename the C library's functions to these.
#include <bit>
#include <cstdint>

namespace {

template <class T, class Bits>
constexpr T kCanonicalNan = std::bit_cast<T>(static_cast<Bits>(~Bits{0} >> 1));

template <class T, class Bits>
bool is_negative(T value) {
    return std::bit_cast<Bits>(value) >> (8 * sizeof(Bits) - 1);
}

template <class T, class Bits>
T extreme(T a, T b, bool wants_larger) {
    if (a != a) return b != b ? kCanonicalNan<T, Bits> : b;
    if (b != b) return a;
    if (a == b) return is_negative<T, Bits>(a) == wants_larger ? b : a;
    return (a > b) == wants_larger ? a : b;
}

}  // namespace

extern "C" {

float kbemu_fmaxf(float a, float b) { return extreme<float, std::uint32_t>(a, b, true); }
float kbemu_fminf(float a, float b) { return extreme<float, std::uint32_t>(a, b, false); }
double kbemu_fmax(double a, double b) { return extreme<double, std::uint64_t>(a, b, true); }
double kbemu_fmin(double a, double b) { return extreme<double, std::uint64_t>(a, b, false); }
}
