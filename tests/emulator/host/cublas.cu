// cuBLAS as host code calls it; every function returns the status of its product.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

cublasHandle_t handle() {
    static cublasHandle_t created = nullptr;
    if (!created) cublasCreate(&created);
    return created;
}

cublasOperation_t operation(int transposed) {
    return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

}  // namespace

extern "C" int sgemm(
    int ta, int tb, int m, int n, int k, const float* scalars, const float* a, int lda, const float* b, int ldb,
    float* c, int ldc) {
    return cublasSgemm(
        handle(), operation(ta), operation(tb), m, n, k, &scalars[0], a, lda, b, ldb, &scalars[1], c, ldc);
}

extern "C" int dgemm(
    int ta, int tb, int m, int n, int k, const double* scalars, const double* a, int lda, const double* b, int ldb,
    double* c, int ldc) {
    return cublasDgemm(
        handle(), operation(ta), operation(tb), m, n, k, &scalars[0], a, lda, b, ldb, &scalars[1], c, ldc);
}

extern "C" int hgemm(int n, const __half* a, const __half* b, __half* c) {
    const __half one = __float2half(1.0f), zero = __float2half(0.0f);
    return cublasHgemm(handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n);
}

extern "C" int mixed(int type, int n, const void* a, const void* b, float* c) {
    const float one = 1.0f, zero = 0.0f;
    const cudaDataType element = type ? CUDA_R_16BF : CUDA_R_16F;
    return cublasGemmEx(
        handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, element, n, b, element, n, &zero, c, CUDA_R_32F, n,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
}

extern "C" int integers(int n, const signed char* a, const signed char* b, int* c) {
    const int one = 1, zero = 0;
    return cublasGemmEx(
        handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, CUDA_R_8I, n, b, CUDA_R_8I, n, &zero, c, CUDA_R_32I, n,
        CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT);
}

extern "C" int strided(int batch, int m, int n, int k, const float* a, const float* b, float* c) {
    const float one = 1.0f, zero = 0.0f;
    return cublasSgemmStridedBatched(
        handle(), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, m, m * k, b, k, k * n, &zero, c, m, m * n, batch);
}

extern "C" int batched(int m, int n, int k, const float* a, const float* b, float* c) {
    const float one = 1.0f, zero = 0.0f;
    const float* as[] = {a, a + m * k};
    const float* bs[] = {b + k * n, b};
    float* cs[] = {c, c + m * n};
    return cublasSgemmBatched(
        handle(), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, as, m, bs, k, &zero, cs, m, 2);
}

extern "C" int beyond() {
    float* memory;
    const float one = 1.0f;
    cudaMalloc(&memory, 100 * sizeof(float));
    const int status = cublasSgemm(
        handle(), CUBLAS_OP_N, CUBLAS_OP_N, 5, 5, 21, &one, memory, 5, memory, 21, &one, memory, 5);  // product
    cudaFree(memory);
    return status;
}

extern "C" int gemv(int transposed, int m, int n, const float* scalars, const float* a, const float* x, float* y) {
    return cublasSgemv(handle(), operation(transposed), m, n, &scalars[0], a, m, x, 1, &scalars[1], y, 2);
}

extern "C" int ger(int m, int n, const float* x, const float* y, float* a) {
    const float two = 2.0f;
    return cublasSger(handle(), m, n, &two, x, 1, y, -1, a, m);
}

// The transpose, by way of a sum with nothing.
extern "C" int transposed(int m, int n, const float* a, float* c) {
    const float one = 1.0f, zero = 0.0f;
    return cublasSgeam(handle(), CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, a, n, &zero, nullptr, m, c, m);
}

// dot, nrm2, asum of two vectors, places of the largest and smallest, and x becomes 2 x + y.
extern "C" int vectors(int n, float* x, float* y, float* results, int* places) {
    const float two = 2.0f, one = 1.0f;
    cublasSdot(handle(), n, x, 1, y, 1, &results[0]);
    cublasSnrm2(handle(), n, x, 1, &results[1]);
    cublasSasum(handle(), n, x, 1, &results[2]);
    cublasIsamax(handle(), n, x, 1, &places[0]);
    cublasIsamin(handle(), n, x, 1, &places[1]);
    cublasSscal(handle(), n, &two, x, 1);
    return cublasSaxpy(handle(), n, &one, y, 1, x, 1);
}

extern "C" int settings() {
    cublasHandle_t own;
    cublasPointerMode_t mode;
    cublasCreate(&own);
    cublasSetStream(own, nullptr);
    cublasSetMathMode(own, CUBLAS_TF32_TENSOR_OP_MATH);
    cublasSetPointerMode(own, CUBLAS_POINTER_MODE_DEVICE);
    cublasGetPointerMode(own, &mode);
    cublasDestroy(own);
    return mode;
}
