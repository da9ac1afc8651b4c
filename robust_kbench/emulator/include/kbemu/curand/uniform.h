// Uniform numbers: greater than 0, and at most 1.
#pragma once
#include "kbemu/curand/mrg32k3a.h"
#include "kbemu/curand/philox.h"
#include "kbemu/curand/xorwow.h"

namespace kbemu::curand {

constexpr float kTwoToMinus32 = 2.3283064e-10f;
constexpr double kTwoToMinus32Double = 2.3283064365386963e-10;
constexpr double kTwoToMinus53 = 1.1102230246251565e-16;

inline float uniform(unsigned bits) {
    return bits * kTwoToMinus32 + kTwoToMinus32 / 2;
}

// 53 of the 64 bits.
inline double uniform(unsigned low, unsigned high) {
    const unsigned long long bits = low ^ static_cast<unsigned long long>(high) << 21;
    return bits * kTwoToMinus53 + kTwoToMinus53 / 2;
}

}  // namespace kbemu::curand

template <class State>
inline float curand_uniform(State* state) {
    return kbemu::curand::uniform(curand(state));
}

inline double curand_uniform_double(curandStateXORWOW* state) {
    const unsigned low = curand(state);
    return kbemu::curand::uniform(low, curand(state));
}

inline double curand_uniform_double(curandStatePhilox4_32_10* state) {
    return curand(state) * kbemu::curand::kTwoToMinus32Double + kbemu::curand::kTwoToMinus32Double;
}

inline double curand_uniform_double(curandStateMRG32k3a* state) {
    return kbemu::curand::mrg_next(state) * kbemu::curand::kModulus1Inverse;
}

inline float curand_uniform(curandStateMRG32k3a* state) {
    return static_cast<float>(curand_uniform_double(state));
}

inline float4 curand_uniform4(curandStatePhilox4_32_10* state) {
    const uint4 bits = curand4(state);
    using kbemu::curand::uniform;
    return {uniform(bits.x), uniform(bits.y), uniform(bits.z), uniform(bits.w)};
}

inline double2 curand_uniform2_double(curandStatePhilox4_32_10* state) {
    const uint4 bits = curand4(state);
    return {kbemu::curand::uniform(bits.x, bits.y), kbemu::curand::uniform(bits.z, bits.w)};
}
