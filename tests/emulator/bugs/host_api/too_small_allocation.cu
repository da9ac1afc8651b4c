// cudaMalloc is told the number of elements where it takes bytes.
#include <cstdint>

__global__ void exponentials(const float* x, float* e, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        e[i] = expf(x[i]);  // finding: out_of_bounds_global
    }
}

__global__ void ratios(const float* e, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = e[i] / (1.0f + e[i]);
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    float* e = nullptr;
#ifdef BUG
    cudaMalloc(&e, n);
#else
    cudaMalloc(&e, n * sizeof(float));
#endif
    exponentials<<<(n + 63) / 64, 64, 0, stream>>>(x, e, n);
    ratios<<<(n + 63) / 64, 64, 0, stream>>>(e, y, n);
    cudaFree(e);
}
