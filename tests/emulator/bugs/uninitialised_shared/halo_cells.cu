// Halo cells at the ends of the input are never set.
#include <cstdint>

constexpr int kThreads = 32;

__global__ void neighbours(const float* x, float* y, int n) {
    __shared__ float tile[kThreads + 2];
    const int thread = threadIdx.x;
    const int i = blockIdx.x * kThreads + thread;
    tile[thread + 1] = i < n ? x[i] : 0.0f;
    if (thread == 0 && i > 0) {
        tile[0] = x[i - 1];
    }
    if (thread == kThreads - 1 && i + 1 < n) {
        tile[kThreads + 1] = x[i + 1];
    }
#ifndef BUG
    if (thread == 0 && i == 0) {
        tile[0] = 0.0f;
    }
    if (thread == kThreads - 1 && i + 1 >= n) {
        tile[kThreads + 1] = 0.0f;
    }
#endif
    __syncthreads();
    if (i < n) {
        y[i] = tile[thread] + tile[thread + 2];  // finding: uninitialised_shared
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    neighbours<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(x, y, n);
}
