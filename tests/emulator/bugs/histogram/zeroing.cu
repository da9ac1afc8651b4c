// Some threads count before others have set the bins to zero.
#include <cstdint>

__global__ void histogram(const float* x, float* y, int n, int bins) {
    extern __shared__ unsigned counts[];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
        counts[bin] = 0;  // finding: race_shared
    }
#ifndef BUG
    __syncthreads();
#endif
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        atomicAdd(&counts[min(static_cast<int>(x[i] * bins), bins - 1)], 1u);  // finding: race_shared
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) {
        y[bin] = counts[bin];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const int bins = 16;
    histogram<<<1, 64, bins * sizeof(unsigned), stream>>>(x, y, n, bins);
}
