// The size is no multiple of the block, and the threads beyond it are not held back.
#include <cstdint>

__global__ void square(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifndef BUG
    if (i >= n) {
        return;
    }
#endif
    const float value = x[i];  // finding: out_of_bounds_global
    y[i] = value * value;      // finding: out_of_bounds_global
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    square<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
