// CUDA's mathematical functions that the C library lacks, in double precision. The float forms in math.h round them.
#pragma once
#include <cmath>
#include <initializer_list>
#include <limits>

namespace kbemu {

constexpr double kPi = 3.14159265358979323846;
constexpr double kRootOfTwo = 1.41421356237309504880;
constexpr double kRootOfHalf = 0.70710678118654752440;
constexpr double kRestOfRootOfHalf = -4.833646656726457e-17;  // what a double cannot hold of it
constexpr double kRootOfPi = 1.77245385090551602730;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// x without its multiples of 2, exactly: in [-1, 1].
inline double within_a_turn(double x) {
    return x - 2.0 * std::nearbyint(0.5 * x);
}

// sin(pi * x). What is multiplied by pi is at most 1/2 and exact, so integers and halves give exact results.
inline double sine_of_pi(double x) {
    const double angle = within_a_turn(x);
    const double folded = std::fabs(angle) > 0.5 ? std::copysign(1.0, angle) - angle : angle;
    const double sine = std::sin(kPi * folded);
    return sine == 0.0 ? std::copysign(0.0, x) : sine;
}

inline double cosine_of_pi(double x) {
    return std::sin(kPi * (0.5 - std::fabs(within_a_turn(x))));
}

// exp(x * x) * factor, without the error that rounding x * x would have.
inline double times_exp_of_square(double factor, double x) {
    const double square = x * x;
    const double rest = std::fma(x, x, -square);
    return std::exp(square) * factor * (1.0 + rest);
}

// exp(x * x) * erfc(x).
inline double scaled_complementary_error(double x) {
    if (x < -27.0) return kInfinity;
    if (x < 0.0) return 2.0 * times_exp_of_square(1.0, x) - scaled_complementary_error(-x);
    if (x < 25.0) return times_exp_of_square(std::erfc(x), x);
    const double y = 0.5 / (x * x);
    const double series = 1.0 - y * (1.0 - 3.0 * y * (1.0 - 5.0 * y * (1.0 - 7.0 * y * (1.0 - 9.0 * y))));
    return series / (x * kRootOfPi);
}

// The x with erfc(x) = y, for 0 < y < 1: a closed-form guess that Newton's method improves. It works on the logarithm,
// because erfc itself has no precise derivative left where y is tiny.
inline double inverse_of_small_erfc(double y) {
    const double logarithm = std::log(y * (2.0 - y));
    const double half = 0.5 * logarithm + 4.330746750799873;  // 2 / (0.147 pi)
    double x = std::sqrt(std::sqrt(half * half - logarithm / 0.147) - half);
    for (int step = 0; step < 5; ++step) {
        const double scaled = scaled_complementary_error(x);
        x += 0.5 * kRootOfPi * scaled * (std::log(scaled) - x * x - std::log(y));
    }
    return x;
}

// The x with erf(x) = y, for -1/2 <= y <= 1/2.
inline double inverse_of_small_erf(double y) {
    double x = 0.5 * kRootOfPi * y;
    for (int step = 0; step < 5; ++step) {
        const double newton = times_exp_of_square(0.5 * kRootOfPi * (std::erf(x) - y), x);
        x -= newton / (1.0 + x * newton);
    }
    return x;
}

inline double inverse_complementary_error(double y) {
    if (!(y >= 0.0 && y <= 2.0)) return kNotANumber;
    if (y == 0.0) return kInfinity;
    if (y == 2.0) return -kInfinity;
    if (y < 0.5) return inverse_of_small_erfc(y);
    return y <= 1.5 ? inverse_of_small_erf(1.0 - y) : -inverse_of_small_erfc(2.0 - y);
}

inline double inverse_error(double y) {
    if (std::fabs(y) <= 0.5) return inverse_of_small_erf(y);
    return std::copysign(inverse_complementary_error(1.0 - std::fabs(y)), y);
}

// The standard normal distribution, erfc(-x / sqrt(2)) / 2. Far out the rounding of x / sqrt(2) would dominate the
// error, so its rest is carried to first order.
inline double normal_distribution(double x) {
    if (std::fabs(x) > 40.0) return x > 0.0 ? 1.0 : 0.0;
    const double scaled = -x * kRootOfHalf;
    const double rest = std::fma(-x, kRootOfHalf, -scaled) - x * kRestOfRootOfHalf;
    return 0.5 * std::erfc(scaled) - std::exp(-scaled * scaled) / kRootOfPi * rest;
}

inline double inverse_normal_distribution(double y) {
    return -kRootOfTwo * inverse_complementary_error(2.0 * y);
}

// The modified Bessel functions I0 and I1 of 0 <= x <= 30 by their power series, whose terms are all positive.
inline double modified_bessel_near_zero(int order, double x) {
    double term = order == 0 ? 1.0 : 0.5 * x;
    double sum = term;
    for (int k = 1; term > 1e-17 * sum; ++k) {
        term *= 0.25 * x * x / (static_cast<double>(k) * (k + order));
        sum += term;
    }
    return sum;
}

// For larger x by the asymptotic expansion in 1/x, times exp(x) / sqrt(2 pi x).
inline double modified_bessel_far_out(int order, double x) {
    double term = 1.0;
    double sum = term;
    for (int k = 1; std::fabs(term) > 1e-17; ++k) {
        const double odd = 2.0 * k - 1.0;
        term *= (odd * odd - 4.0 * order * order) / (8.0 * k * x);
        sum += term;
    }
    const double root = std::exp(0.5 * x);  // exp(x) overflows before the result does
    return sum / std::sqrt(2.0 * kPi * x) * root * root;
}

inline double modified_bessel(int order, double x) {
    if (x < 0.0) return order == 0 ? modified_bessel(0, -x) : -modified_bessel(1, -x);
    if (x > 720.0) return kInfinity;
    return x > 30.0 ? modified_bessel_far_out(order, x) : modified_bessel_near_zero(order, x);
}

// The Euclidean norm. Scaling by the largest component keeps the squares from overflow and underflow.
template <class Real>
inline double length(const Real* begin, const Real* end) {
    double largest = 0.0;
    for (const Real* value = begin; value != end; ++value) {
        if (std::fabs(*value) > largest) largest = std::fabs(*value);
    }
    if (std::isinf(largest)) return largest;
    const double scale = largest == 0.0 ? 1.0 : largest;
    double sum = 0.0;
    for (const Real* value = begin; value != end; ++value) sum += (*value / scale) * (*value / scale);
    return scale * std::sqrt(sum);
}

template <class Real>
inline double length(std::initializer_list<Real> values) {
    return length(values.begin(), values.end());
}

}  // namespace kbemu
