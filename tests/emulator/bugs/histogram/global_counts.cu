// All threads of all blocks count into bins in global memory without atomics.
#include <cstdint>

__global__ void histogram(const float* x, float* y, int n, int bins) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const int bin = min(static_cast<int>(x[i] * bins), bins - 1);
#ifdef BUG
        y[bin] += 1.0f;  // finding: race_global
#else
        atomicAdd(y + bin, 1.0f);
#endif
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    cudaMemsetAsync(y, 0, 16 * sizeof(float), stream);
    histogram<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n, 16);
}
