// cuRAND's generators on the device: one thread draws, in the way that `draw` says.
#include <curand.h>
#include <curand_kernel.h>

template <class State>
__global__ void draw(unsigned long long seed, unsigned long long sequence, unsigned long long offset, int what,
                     unsigned* bits, double* numbers, int count) {
    State state;
    curand_init(seed, sequence, offset, &state);
    for (int i = 0; i < count; ++i) {
        if (what == 0) bits[i] = curand(&state);
        if (what == 1) numbers[i] = curand_uniform(&state);
        if (what == 2) numbers[i] = curand_uniform_double(&state);
        if (what == 3) numbers[i] = curand_normal(&state);
        if (what == 4) numbers[i] = curand_normal_double(&state);
        if (what == 5) numbers[i] = curand_log_normal(&state, 0.5f, 0.25f);
        if (what == 6) numbers[i] = curand_poisson(&state, 4.0);
    }
}

extern "C" int draws(int generator, unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                     int what, unsigned* bits, double* numbers, int count) {
    if (generator == 0) draw<curandState><<<1, 1>>>(seed, sequence, offset, what, bits, numbers, count);
    if (generator == 1) draw<curandStatePhilox4_32_10_t><<<1, 1>>>(seed, sequence, offset, what, bits, numbers, count);
    if (generator == 2) draw<curandStateMRG32k3a_t><<<1, 1>>>(seed, sequence, offset, what, bits, numbers, count);
    return cudaGetLastError();
}

__global__ void draw_four(unsigned long long seed, int offset, unsigned* bits) {
    curandStatePhilox4_32_10_t state;
    curand_init(seed, 3, offset, &state);
    for (int i = 0; i < 8; i += 4) {
        const uint4 block = curand4(&state);
        bits[i] = block.x;
        bits[i + 1] = block.y;
        bits[i + 2] = block.z;
        bits[i + 3] = block.w;
    }
}

extern "C" int fours(unsigned long long seed, int offset, unsigned* bits) {
    draw_four<<<1, 1>>>(seed, offset, bits);
    return cudaGetLastError();
}

extern "C" int state_bytes(int generator) {
    const int bytes[] = {sizeof(curandState), sizeof(curandStatePhilox4_32_10_t), sizeof(curandStateMRG32k3a_t)};
    return bytes[generator];
}

extern "C" int from_the_host(float* normal, int count) {
    curandGenerator_t generator;
    curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
    curandSetPseudoRandomGeneratorSeed(generator, 11);
    const int status = curandGenerateNormal(generator, normal, count, 10.0f, 2.0f);
    curandDestroyGenerator(generator);
    return status;
}
