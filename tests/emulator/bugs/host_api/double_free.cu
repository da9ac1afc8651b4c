// A buffer is freed on the path of an optional step, and then once more at the end.
#include <cstdint>

__global__ void scale(const float* x, float* y, int n, float factor) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = factor * x[i];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    float* scaled = nullptr;
    cudaMalloc(&scaled, n * sizeof(float));
    scale<<<(n + 63) / 64, 64, 0, stream>>>(x, scaled, n, 2.0f);
    scale<<<(n + 63) / 64, 64, 0, stream>>>(scaled, y, n, 3.0f);
#ifdef BUG
    cudaFree(scaled);
#endif
    cudaFree(scaled);  // finding: invalid_free
}
