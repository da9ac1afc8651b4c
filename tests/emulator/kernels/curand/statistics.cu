// The default generator: sums and sums of squares of uniform and normal numbers, for a check of their moments.
#include <cstdint>
#include <curand_kernel.h>

__global__ void setup(curandState* states, unsigned long long seed) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(seed, id, 0, &states[id]);
}

__global__ void moments(curandState* states, float* sums, float* ranges, int draws) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    curandState local = states[id];
    float low = 1.0f, high = 0.0f;
    for (int d = 0; d < draws; ++d) {
        const float u = curand_uniform(&local);
        const float g = curand_normal(&local);
        atomicAdd(&sums[0], u);
        atomicAdd(&sums[1], u * u);
        atomicAdd(&sums[2], g);
        atomicAdd(&sums[3], g * g);
        low = fminf(low, u);
        high = fmaxf(high, u);
    }
    states[id] = local;
    ranges[2 * id] = low > 0.0f ? 1.0f : 0.0f;
    ranges[2 * id + 1] = high <= 1.0f ? 1.0f : 0.0f;
}

extern "C" void run(float* sums, float* ranges, int64_t threads, int64_t draws, cudaStream_t stream) {
    curandState* states;
    cudaMalloc(&states, threads * sizeof(curandState));
    cudaMemsetAsync(sums, 0, 4 * sizeof(float), stream);
    setup<<<threads / 32, 32, 0, stream>>>(states, 1234ULL);
    moments<<<threads / 32, 32, 0, stream>>>(states, sums, ranges, draws);
    cudaStreamSynchronize(stream);
    cudaFree(states);
}
