// Histogram of [0, 1]: the value 1 falls into a bin after the last one, and the atomic writes there.
#include <cstdint>

__global__ void histogram(const float* x, float* y, int n, int bins) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
#ifdef BUG
        const int bin = static_cast<int>(x[i] * bins);
#else
        const int bin = min(static_cast<int>(x[i] * bins), bins - 1);
#endif
        atomicAdd(&y[bin], 1.0f);  // finding: out_of_bounds_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    cudaMemsetAsync(y, 0, 16 * sizeof(float), stream);
    histogram<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n, 16);
}
