// Reduction of the last warp through volatile shared memory, in the style of the time when warps ran in lock-step.
#include <cstdint>

__device__ void reduce_last_warp(volatile float* sums, int lane) {
    for (int offset = 32; offset > 0; offset /= 2) {
        const float other = sums[lane + offset];  // finding: race_shared
#ifndef BUG
        __syncwarp();
#endif
        sums[lane] += other;  // finding: race_shared
#ifndef BUG
        __syncwarp();
#endif
    }
}

__global__ void block_sums(const float* x, float* y) {
    __shared__ float sums[128];
    const int thread = threadIdx.x;
    sums[thread] = x[blockIdx.x * blockDim.x + thread];
    __syncthreads();
    if (thread < 64) {
        sums[thread] += sums[thread + 64];
    }
    __syncthreads();
    if (thread < 32) {
        reduce_last_warp(sums, thread);
    }
    if (thread == 0) {
        y[blockIdx.x] = sums[0];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    block_sums<<<n / 128, 128, 0, stream>>>(x, y);
}
