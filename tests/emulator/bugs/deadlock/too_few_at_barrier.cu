// A named barrier for 64 threads that one warp alone reaches.
#include <cstdint>

__global__ void reverse_first_warp(const float* x, float* y) {
    __shared__ float values[32];
    const int thread = threadIdx.x;
    if (thread < 32) {
        values[thread] = x[thread];
#ifdef BUG
        asm volatile("bar.sync 1, 64;" ::: "memory");  // finding: deadlock
#else
        asm volatile("bar.sync 1, 32;" ::: "memory");
#endif
        y[thread] = values[31 - thread];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    reverse_first_warp<<<1, 64, 0, stream>>>(x, y);
}
