// The scratch buffer is freed between the kernel that fills it and the one that reads it.
#include <cstdint>

__global__ void square(const float* x, float* squares, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        squares[i] = x[i] * x[i];
    }
}

__global__ void add_mirrored(const float* squares, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = squares[i] + squares[n - 1 - i];  // finding: out_of_bounds_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    float* squares = nullptr;
    cudaMalloc(&squares, n * sizeof(float));
    square<<<(n + 63) / 64, 64, 0, stream>>>(x, squares, n);
#ifdef BUG
    cudaFree(squares);
    add_mirrored<<<(n + 63) / 64, 64, 0, stream>>>(squares, y, n);
#else
    add_mirrored<<<(n + 63) / 64, 64, 0, stream>>>(squares, y, n);
    cudaFree(squares);
#endif
}
