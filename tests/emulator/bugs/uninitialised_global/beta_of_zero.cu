// alpha * a * b + beta * c with beta = 0 still reads c, which holds no numbers yet: 0 * NaN is NaN.
#include <cstdint>

__global__ void gemm(const float* a, const float* b, float* c, int size, float alpha, float beta) {
    const int row = threadIdx.y;
    const int column = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < size; ++k) {
        sum += a[row * size + k] * b[k * size + column];
    }
#ifdef BUG
    c[row * size + column] = alpha * sum + beta * c[row * size + column];  // finding: uninitialised_global
#else
    c[row * size + column] = beta == 0.0f ? alpha * sum : alpha * sum + beta * c[row * size + column];
#endif
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    gemm<<<1, dim3(n, n), 0, stream>>>(x, x + n * n, y, n, 1.0f, 0.0f);
}
