// Row-major products with cuBLAS, which is column-major: C = A B, and C = 2 A^T B + C; then a vector.
#include <cstdint>
#include <cublas_v2.h>

extern "C" void run(const float* a, const float* b, const float* start, float* c, float* d, float* y, int64_t m,
                    int64_t n, int64_t k, cudaStream_t stream) {
    cublasHandle_t handle;
    cublasCreate(&handle);
    cublasSetStream(handle, stream);
    const float one = 1.0f, zero = 0.0f, two = 2.0f;
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
    // d (k x n) = 2 a^T (k x m) c (m x n) + start
    cudaMemcpyAsync(d, start, k * n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, k, m, &two, c, n, a, k, &one, d, n);
    // y (m) = a (m x k) times the first column of b
    cublasSgemv(handle, CUBLAS_OP_T, k, m, &one, a, k, b, n, &zero, y, 1);
    cudaStreamSynchronize(stream);
    cublasDestroy(handle);
}
