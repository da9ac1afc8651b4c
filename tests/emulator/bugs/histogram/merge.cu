// Block counts go to the output while threads of the block still count.
#include <cstdint>

constexpr int kBins = 16;

__global__ void histogram(const float* x, float* y, int n) {
    __shared__ float counts[kBins];
    if (threadIdx.x < kBins) {
        counts[threadIdx.x] = 0.0f;
    }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&counts[min(static_cast<int>(x[i] * kBins), kBins - 1)], 1.0f);  // finding: race_shared
    }
#ifndef BUG
    __syncthreads();
#endif
    if (threadIdx.x < kBins) {
        atomicAdd(&y[threadIdx.x], counts[threadIdx.x]);  // finding: race_shared
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    cudaMemsetAsync(y, 0, kBins * sizeof(float), stream);
    histogram<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
