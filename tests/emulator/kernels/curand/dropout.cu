// Dropout with a mask that can be made again from the seed: four elements of a thread share a Philox block.
#include <cstdint>
#include <curand_kernel.h>

__global__ void dropout(const float* x, float* y, uint8_t* mask, float keep, unsigned long long seed, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandStatePhilox4_32_10_t state;
    curand_init(seed, i, 0, &state);
    const float4 random = curand_uniform4(&state);
    const float draws[4] = {random.x, random.y, random.z, random.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int e = 4 * i + k;
        if (e < n) {
            mask[e] = draws[k] <= keep;
            y[e] = mask[e] ? x[e] / keep : 0.0f;
        }
    }
}

extern "C" void run(const float* x, float* y, uint8_t* mask, int64_t seed, int64_t n, cudaStream_t stream) {
    const int threads = (n + 3) / 4;
    dropout<<<(threads + 31) / 32, 32, 0, stream>>>(x, y, mask, 0.75f, seed, n);
}
