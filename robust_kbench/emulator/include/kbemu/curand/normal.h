// Normal numbers by the method of Box and Muller, in pairs of which curand_normal keeps the second for the next call.
// The uniform numbers are cuRAND's; logarithm, sine and cosine are the processor's, and so may differ in the last bits.
#pragma once
#include <cmath>

#include "kbemu/curand/uniform.h"

namespace kbemu::curand {

constexpr float kTwoPiTimesTwoToMinus32 = 2.3283064e-10f * 6.2831855f;

inline float2 box_muller(unsigned x, unsigned y) {
    const float radius = sqrtf(-2.0f * logf(uniform(x)));
    const float angle = y * kTwoPiTimesTwoToMinus32 + kTwoPiTimesTwoToMinus32 / 2;
    return {radius * sinf(angle), radius * cosf(angle)};
}

inline double2 box_muller(double first, double second) {
    const double radius = sqrt(-2.0 * log(first));
    const double angle = 2 * 3.14159265358979323846 * second;
    return {radius * sin(angle), radius * cos(angle)};
}

// The two uniform numbers of a pair in double precision.
template <class State>
inline double2 two_uniform(State* state) {
    const double first = curand_uniform_double(state);
    return {first, curand_uniform_double(state)};
}

inline double2 two_uniform(curandStatePhilox4_32_10* state) {
    return curand_uniform2_double(state);
}

}  // namespace kbemu::curand

template <class State>
inline float2 curand_normal2(State* state) {
    const unsigned x = curand(state);
    return kbemu::curand::box_muller(x, curand(state));
}

template <class State>
inline float curand_normal(State* state) {
    state->has_normal = !state->has_normal;
    if (!state->has_normal) return state->normal;
    const float2 pair = curand_normal2(state);
    state->normal = pair.y;
    return pair.x;
}

inline float4 curand_normal4(curandStatePhilox4_32_10* state) {
    const uint4 bits = curand4(state);
    const float2 first = kbemu::curand::box_muller(bits.x, bits.y);
    const float2 second = kbemu::curand::box_muller(bits.z, bits.w);
    return {first.x, first.y, second.x, second.y};
}

template <class State>
inline double2 curand_normal2_double(State* state) {
    const double2 uniform = kbemu::curand::two_uniform(state);
    return kbemu::curand::box_muller(uniform.x, uniform.y);
}

template <class State>
inline double curand_normal_double(State* state) {
    state->has_normal_double = !state->has_normal_double;
    if (!state->has_normal_double) return state->normal_double;
    const double2 pair = curand_normal2_double(state);
    state->normal_double = pair.y;
    return pair.x;
}

template <class State>
inline float curand_log_normal(State* state, float mean, float deviation) {
    return expf(mean + deviation * curand_normal(state));
}

template <class State>
inline float2 curand_log_normal2(State* state, float mean, float deviation) {
    const float2 pair = curand_normal2(state);
    return {expf(mean + deviation * pair.x), expf(mean + deviation * pair.y)};
}

inline float4 curand_log_normal4(curandStatePhilox4_32_10* state, float mean, float deviation) {
    const float4 normal = curand_normal4(state);
    return {expf(mean + deviation * normal.x), expf(mean + deviation * normal.y), expf(mean + deviation * normal.z),
            expf(mean + deviation * normal.w)};
}

template <class State>
inline double curand_log_normal_double(State* state, double mean, double deviation) {
    return exp(mean + deviation * curand_normal_double(state));
}

// Counts the uniform numbers whose product stays above exp(-lambda); large means take the normal approximation. Other
// numbers than cuRAND's, of the same distribution.
template <class State>
inline unsigned curand_poisson(State* state, double lambda) {
    if (lambda > 500) {
        const double value = lambda + sqrt(lambda) * curand_normal_double(state) + 0.5;
        return value > 0 ? static_cast<unsigned>(value) : 0;
    }
    const double limit = exp(-lambda);
    unsigned count = 0;
    double product = curand_uniform_double(state);
    for (; product > limit; product *= curand_uniform_double(state)) ++count;
    return count;
}
