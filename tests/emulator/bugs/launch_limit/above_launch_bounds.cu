// A kernel compiled for blocks of 128 threads, launched with 256.
#include <cstdint>

__global__ void __launch_bounds__(128) square(const float* x, float* y, int n) {  // finding: launch_limit
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] * x[i];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
#ifdef BUG
    const int threads = 256;
#else
    const int threads = 128;
#endif
    square<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, y, n);  // finding: launch_limit
}
