// Neighbouring lanes exchange values through shared memory as if a warp ran in lock-step.
#include <cstdint>

__global__ void swap_pairs(const float* x, float* y, int n) {
    __shared__ float values[128];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        values[threadIdx.x] = x[i];  // finding: race_shared
    }
#ifndef BUG
    __syncwarp();
#endif
    if (i < n) {
        y[i] = values[threadIdx.x ^ 1];  // finding: race_shared
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    swap_pairs<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
