// Threads count into bins in shared memory without atomics.
#include <cstdint>

constexpr int kBins = 16;

__global__ void histogram(const float* x, float* y, int n) {
    __shared__ int counts[kBins];
    if (threadIdx.x < kBins) {
        counts[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const int bin = min(static_cast<int>(x[i] * kBins), kBins - 1);
#ifdef BUG
        counts[bin]++;  // finding: race_shared
#else
        atomicAdd(&counts[bin], 1);
#endif
    }
    __syncthreads();
    if (threadIdx.x < kBins) {
        y[threadIdx.x] = counts[threadIdx.x];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    histogram<<<1, 128, 0, stream>>>(x, y, n);
}
