// Threads of a block exchange values through global memory without a barrier.
#include <cstdint>

__global__ void reverse_blocks(const float* x, float* staging, float* y, int n) {
    const int first = blockIdx.x * blockDim.x;
    staging[first + threadIdx.x] = 2.0f * x[first + threadIdx.x];  // finding: race_global
#ifndef BUG
    __syncthreads();
#endif
    y[first + threadIdx.x] = staging[first + blockDim.x - 1 - threadIdx.x];  // finding: race_global
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    reverse_blocks<<<n / 96, 96, 0, stream>>>(x, y + n, y, n);
}
