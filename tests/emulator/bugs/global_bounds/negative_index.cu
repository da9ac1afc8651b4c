// Causal convolution: the first outputs reach back before the input.
#include <cstdint>

__global__ void convolve(const float* x, float* y, int n, int taps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float sum = 0.0f;
    for (int tap = 0; tap < taps; ++tap) {
#ifndef BUG
        if (i - tap >= 0)
#endif
            sum += x[i - tap] / (1 + tap);  // finding: out_of_bounds_global
    }
    y[i] = sum;
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    convolve<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n, 4);
}
