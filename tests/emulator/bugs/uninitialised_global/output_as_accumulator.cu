// Atomics add to an output that nobody has set to zero.
#include <cstdint>

__global__ void total(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(y, x[i]);  // finding: uninitialised_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
#ifndef BUG
    cudaMemsetAsync(y, 0, sizeof(float), stream);
#endif
    total<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
