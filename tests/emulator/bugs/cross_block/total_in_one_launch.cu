// Normalisation by a total that other blocks are still adding to; the atomic orders the additions, not the read.
#include <cstdint>

__global__ void add(const float* x, float* total, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(total, fabsf(x[i]));
    }
}

__global__ void normalise(const float* x, float* total, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG
    if (i < n) {
        atomicAdd(total, fabsf(x[i]));  // finding: race_global
    }
    __syncthreads();
#endif
    if (i < n) {
        y[i] = x[i] / *total;  // finding: race_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const int blocks = (n + 63) / 64;
    cudaMemsetAsync(y + n, 0, sizeof(float), stream);
#ifndef BUG
    add<<<blocks, 64, 0, stream>>>(x, y + n, n);
#endif
    normalise<<<blocks, 64, 0, stream>>>(x, y + n, y, n);
}
