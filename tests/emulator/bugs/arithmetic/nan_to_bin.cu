// The bin of a logarithm: a negative input gives NaN, which has no integer.
#include <cstdint>

__global__ void histogram(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
#ifdef BUG
        const float level = log2f(x[i]);
#else
        const float level = log2f(fmaxf(x[i], 1.0f));
#endif
        const int bin = static_cast<int>(level);  // finding: float_conversion
        atomicAdd(&y[min(max(bin, 0), 7)], 1.0f);
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    cudaMemsetAsync(y, 0, 8 * sizeof(float), stream);
    histogram<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
