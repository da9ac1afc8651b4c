// Single and double precision arithmetic with a rounding in the name: __fadd_rz, __dmul_ru, __fsqrt_rd, ...
#pragma once
#include "kbemu/rounding.h"

namespace kbemu {

struct Add {
    template <class Real>
    Real operator()(Real a, Real b) const {
        return uncontracted(a) + uncontracted(b);
    }
};

struct Subtract {
    template <class Real>
    Real operator()(Real a, Real b) const {
        return uncontracted(a) - uncontracted(b);
    }
};

struct Multiply {
    template <class Real>
    Real operator()(Real a, Real b) const {
        return uncontracted(a * b);
    }
};

struct Divide {
    template <class Real>
    Real operator()(Real a, Real b) const {
        return a / b;
    }
};

struct MultiplyAdd {
    template <class Real>
    Real operator()(Real a, Real b, Real c) const {
        return std::fma(a, b, c);
    }
};

struct SquareRoot {
    template <class Real>
    Real operator()(Real a) const {
        return std::sqrt(a);
    }
};

struct Reciprocal {
    template <class Real>
    Real operator()(Real a) const {
        return Real(1) / a;
    }
};

}  // namespace kbemu

#define KBEMU_DIRECTED(name, Real, Operation, parameters, arguments)                                               \
    inline Real name##_rn parameters { return kbemu::rounded<kbemu::Rounding::kNearest, Operation> arguments; }    \
    inline Real name##_rz parameters { return kbemu::rounded<kbemu::Rounding::kZero, Operation> arguments; }       \
    inline Real name##_ru parameters { return kbemu::rounded<kbemu::Rounding::kUp, Operation> arguments; }         \
    inline Real name##_rd parameters { return kbemu::rounded<kbemu::Rounding::kDown, Operation> arguments; }

KBEMU_DIRECTED(__fadd, float, kbemu::Add, (float a, float b), (a, b))
KBEMU_DIRECTED(__fsub, float, kbemu::Subtract, (float a, float b), (a, b))
KBEMU_DIRECTED(__fmul, float, kbemu::Multiply, (float a, float b), (a, b))
KBEMU_DIRECTED(__fdiv, float, kbemu::Divide, (float a, float b), (a, b))
KBEMU_DIRECTED(__frcp, float, kbemu::Reciprocal, (float a), (a))
KBEMU_DIRECTED(__fsqrt, float, kbemu::SquareRoot, (float a), (a))
KBEMU_DIRECTED(__fmaf, float, kbemu::MultiplyAdd, (float a, float b, float c), (a, b, c))
KBEMU_DIRECTED(__fmaf_ieee, float, kbemu::MultiplyAdd, (float a, float b, float c), (a, b, c))

KBEMU_DIRECTED(__dadd, double, kbemu::Add, (double a, double b), (a, b))
KBEMU_DIRECTED(__dsub, double, kbemu::Subtract, (double a, double b), (a, b))
KBEMU_DIRECTED(__dmul, double, kbemu::Multiply, (double a, double b), (a, b))
KBEMU_DIRECTED(__ddiv, double, kbemu::Divide, (double a, double b), (a, b))
KBEMU_DIRECTED(__drcp, double, kbemu::Reciprocal, (double a), (a))
KBEMU_DIRECTED(__dsqrt, double, kbemu::SquareRoot, (double a), (a))
KBEMU_DIRECTED(__fma, double, kbemu::MultiplyAdd, (double a, double b, double c), (a, b, c))

#undef KBEMU_DIRECTED

// One rounding: over all floats, 1/sqrt(x) in double precision is never so near to the middle of two floats that its
// own rounding would mislead the second.
inline float __frsqrt_rn(float a) {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a)));
}
