// Arithmetic with a given rounding, and arithmetic that the compiler may not contract.
#pragma once
#include <cfenv>
#include <cmath>

namespace kbemu {

// CUDA's suffixes _rn, _rz, _ru, _rd.
enum class Rounding { kNearest, kZero, kUp, kDown };

constexpr int environment(Rounding rounding) {
    switch (rounding) {
        case Rounding::kZero: return FE_TOWARDZERO;
        case Rounding::kUp: return FE_UPWARD;
        case Rounding::kDown: return FE_DOWNWARD;
        default: return FE_TONEAREST;
    }
}

// The compiler assumes the default rounding. Passing a value through memory that it cannot see into keeps it from
// computing the operation at compile time or moving it across the change of the mode.
template <class T>
inline void hide(T& value) {
    asm volatile("" : "+m"(value) : : "memory");
}

// Operation()(operands...) in the given rounding.
template <Rounding rounding, class Operation, class... Operands>
inline auto rounded(Operands... operands) {
    if constexpr (rounding == Rounding::kNearest) {
        return Operation()(operands...);
    } else {
        const int before = std::fegetround();
        std::fesetround(environment(rounding));
        (hide(operands), ...);
        auto result = Operation()(operands...);
        hide(result);
        std::fesetround(before);
        return result;
    }
}

// A value that takes no part in contraction to a fused multiply-add, as __fmul_rn and __fadd_rn promise.
template <class Real>
inline Real uncontracted(Real value) {
    return __builtin_assoc_barrier(value);
}

// A real number rounded to an integral value.
template <Rounding rounding, class Real>
inline Real integral(Real value) {
    switch (rounding) {
        case Rounding::kZero: return std::trunc(value);
        case Rounding::kUp: return std::ceil(value);
        case Rounding::kDown: return std::floor(value);
        default: return std::nearbyint(value);
    }
}

}  // namespace kbemu
