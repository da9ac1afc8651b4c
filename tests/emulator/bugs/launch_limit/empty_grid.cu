// The number of blocks is rounded down, to zero for a small input.
#include <cstdint>

__global__ void square(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] * x[i];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
#ifdef BUG
    const int blocks = n / 256;
#else
    const int blocks = (n + 255) / 256;
#endif
    square<<<blocks, 256, 0, stream>>>(x, y, n);  // finding: launch_limit
}
