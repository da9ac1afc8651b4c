// Privatised histogram: shared bins per block, then one global atomic per bin.
#include <cstdint>

constexpr int BINS = 37;

__global__ void histogram(const uint8_t* data, unsigned int* bins, int n) {
    __shared__ unsigned int local[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        atomicAdd(&local[data[i] % BINS], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) {
        if (local[b] > 0) atomicAdd(&bins[b], local[b]);
    }
}

extern "C" void run(const uint8_t* data, uint32_t* bins, int64_t n, cudaStream_t stream) {
    cudaMemsetAsync(bins, 0, BINS * sizeof(unsigned int), stream);
    histogram<<<4, 64, 0, stream>>>(data, bins, static_cast<int>(n));
}
