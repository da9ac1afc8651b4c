// cuRAND from the host: arrays of random numbers. All generators are one Philox sequence, so that for the same seed the
// numbers are others than cuRAND's, of the same distribution.
#pragma once
#include "curand_kernel.h"

typedef enum {
    CURAND_STATUS_SUCCESS = 0,
    CURAND_STATUS_VERSION_MISMATCH = 100,
    CURAND_STATUS_NOT_INITIALIZED = 101,
    CURAND_STATUS_ALLOCATION_FAILED = 102,
    CURAND_STATUS_TYPE_ERROR = 103,
    CURAND_STATUS_OUT_OF_RANGE = 104,
    CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
    CURAND_STATUS_LAUNCH_FAILURE = 201,
    CURAND_STATUS_INTERNAL_ERROR = 999,
} curandStatus_t;
typedef enum {
    CURAND_RNG_PSEUDO_DEFAULT = 100,
    CURAND_RNG_PSEUDO_XORWOW = 101,
    CURAND_RNG_PSEUDO_MRG32K3A = 121,
    CURAND_RNG_PSEUDO_MT19937 = 142,
    CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
} curandRngType_t;
typedef curandStatePhilox4_32_10* curandGenerator_t;

inline curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
    if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
    curand_init(seed, 0, 0, generator);
    return CURAND_STATUS_SUCCESS;
}

inline curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t) {
    *generator = new curandStatePhilox4_32_10;
    return curandSetPseudoRandomGeneratorSeed(*generator, 0);
}

inline curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
    delete generator;
    return CURAND_STATUS_SUCCESS;
}

inline curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
    skipahead(offset, generator);
    return CURAND_STATUS_SUCCESS;
}

inline curandStatus_t curandSetStream(curandGenerator_t, cudaStream_t) {
    return CURAND_STATUS_SUCCESS;
}

namespace kbemu::curand {

template <class T, class Draw>
inline curandStatus_t generate(
    curandGenerator_t generator, T* target, std::size_t count, Draw draw, const Site& site) {
    if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
    if (!host::inside_one_allocation(target, count * sizeof(T), "draws random numbers to", site)) {
        return CURAND_STATUS_LAUNCH_FAILURE;
    }
    for (std::size_t i = 0; i < count; ++i) target[i] = draw(generator);
    if (count) host::tell_of_write(target, count * sizeof(T));
    return CURAND_STATUS_SUCCESS;
}

}  // namespace kbemu::curand

inline curandStatus_t curandGenerate(
    curandGenerator_t generator, unsigned* target, std::size_t count, KBEMU_HERE) {
    return kbemu::curand::generate(generator, target, count, [](auto* state) { return curand(state); }, site);
}

inline curandStatus_t curandGenerateUniform(
    curandGenerator_t generator, float* target, std::size_t count, KBEMU_HERE) {
    return kbemu::curand::generate(generator, target, count, [](auto* state) { return curand_uniform(state); }, site);
}

inline curandStatus_t curandGenerateUniformDouble(
    curandGenerator_t generator, double* target, std::size_t count, KBEMU_HERE) {
    const auto draw = [](auto* state) { return curand_uniform_double(state); };
    return kbemu::curand::generate(generator, target, count, draw, site);
}

inline curandStatus_t curandGenerateNormal(
    curandGenerator_t generator, float* target, std::size_t count, float mean, float deviation, KBEMU_HERE) {
    const auto draw = [=](auto* state) { return mean + deviation * curand_normal(state); };
    return kbemu::curand::generate(generator, target, count, draw, site);
}

inline curandStatus_t curandGenerateNormalDouble(
    curandGenerator_t generator, double* target, std::size_t count, double mean, double deviation, KBEMU_HERE) {
    const auto draw = [=](auto* state) { return mean + deviation * curand_normal_double(state); };
    return kbemu::curand::generate(generator, target, count, draw, site);
}

inline curandStatus_t curandGenerateLogNormal(
    curandGenerator_t generator, float* target, std::size_t count, float mean, float deviation, KBEMU_HERE) {
    const auto draw = [=](auto* state) { return curand_log_normal(state, mean, deviation); };
    return kbemu::curand::generate(generator, target, count, draw, site);
}
