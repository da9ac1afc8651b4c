// Reverses each warp's values through shared memory and trusts the shuffles in between to order it: they do not.
#include <cstdint>

__global__ void reverse_and_scale(const float* x, float* y, int n) {
    __shared__ float values[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x % 32;
    float sum = x[i];
    values[threadIdx.x] = sum;  // finding: race_shared
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
#ifndef BUG
    __syncwarp();
#endif
    y[i] = values[threadIdx.x - lane + 31 - lane] * sum;  // finding: race_shared
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    reverse_and_scale<<<n / 64, 64, 0, stream>>>(x, y, n);
}
