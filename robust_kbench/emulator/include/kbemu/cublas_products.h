// cuBLAS: products of matrices, all of them one general product with types of elements. Matrices are stored by column.
#pragma once
#include "kbemu/cublas_types.h"

namespace kbemu::cublas {

struct Matrix {
    const void* data;
    cudaDataType type;
    int leading;           // elements from one column to the next
    long long stride = 0;  // elements from one matrix of a batch to the next
    const void* const* array = nullptr;  // or the address of each
};

struct Product {
    cublasOperation_t transpose_a, transpose_b;
    int m, n, k;
    const void* alpha;
    Matrix a, b;
    const void* beta;
    Matrix c;
    cublasComputeType_t compute;
    int batch = 1;
};

// C = alpha * op(A) * op(B) + beta * C in libkbemu.so. Products are summed in the type of `compute`, but never in fewer
// bits than float: neither TF32 nor half accumulation is emulated.
cublasStatus_t multiply(cublasHandle_t handle, const Product& product, const Site& site);

template <class T>
inline constexpr cudaDataType type_of = CUDA_R_32F;
template <>
inline constexpr cudaDataType type_of<double> = CUDA_R_64F;
template <>
inline constexpr cudaDataType type_of<__half> = CUDA_R_16F;

template <class T>
inline constexpr cublasComputeType_t compute_of = CUBLAS_COMPUTE_32F;
template <>
inline constexpr cublasComputeType_t compute_of<double> = CUBLAS_COMPUTE_64F;
template <>
inline constexpr cublasComputeType_t compute_of<__half> = CUBLAS_COMPUTE_16F;

}  // namespace kbemu::cublas

// The three functions of an element type.
#define KBEMU_CUBLAS_PRODUCTS(T, gemm, gemm_strided, gemm_batched) \
    inline cublasStatus_t gemm( \
        cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T* alpha, \
        const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc, KBEMU_HERE) { \
        constexpr cudaDataType type = kbemu::cublas::type_of<T>; \
        return kbemu::cublas::multiply( \
            handle, {ta, tb, m, n, k, alpha, {a, type, lda}, {b, type, ldb}, beta, {c, type, ldc}, \
                     kbemu::cublas::compute_of<T>}, site); \
    } \
    inline cublasStatus_t gemm_strided( \
        cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T* alpha, \
        const T* a, int lda, long long stride_a, const T* b, int ldb, long long stride_b, const T* beta, T* c, \
        int ldc, long long stride_c, int batch, KBEMU_HERE) { \
        constexpr cudaDataType type = kbemu::cublas::type_of<T>; \
        return kbemu::cublas::multiply( \
            handle, {ta, tb, m, n, k, alpha, {a, type, lda, stride_a}, {b, type, ldb, stride_b}, beta, \
                     {c, type, ldc, stride_c}, kbemu::cublas::compute_of<T>, batch}, site); \
    } \
    inline cublasStatus_t gemm_batched( \
        cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T* alpha, \
        const T* const a[], int lda, const T* const b[], int ldb, const T* beta, T* const c[], int ldc, int batch, \
        KBEMU_HERE) { \
        constexpr cudaDataType type = kbemu::cublas::type_of<T>; \
        using Array = const void* const*; \
        return kbemu::cublas::multiply( \
            handle, {ta, tb, m, n, k, alpha, {nullptr, type, lda, 0, reinterpret_cast<Array>(a)}, \
                     {nullptr, type, ldb, 0, reinterpret_cast<Array>(b)}, beta, \
                     {nullptr, type, ldc, 0, reinterpret_cast<Array>(c)}, kbemu::cublas::compute_of<T>, batch}, site); \
    }
KBEMU_CUBLAS_PRODUCTS(float, cublasSgemm, cublasSgemmStridedBatched, cublasSgemmBatched)
KBEMU_CUBLAS_PRODUCTS(double, cublasDgemm, cublasDgemmStridedBatched, cublasDgemmBatched)
KBEMU_CUBLAS_PRODUCTS(__half, cublasHgemm, cublasHgemmStridedBatched, cublasHgemmBatched)
#undef KBEMU_CUBLAS_PRODUCTS

inline cublasStatus_t cublasGemmEx(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const void* alpha,
    const void* a, cudaDataType type_a, int lda, const void* b, cudaDataType type_b, int ldb, const void* beta, void* c,
    cudaDataType type_c, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t, KBEMU_HERE) {
    return kbemu::cublas::multiply(
        handle, {ta, tb, m, n, k, alpha, {a, type_a, lda}, {b, type_b, ldb}, beta, {c, type_c, ldc}, compute}, site);
}

inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const void* alpha,
    const void* a, cudaDataType type_a, int lda, long long stride_a, const void* b, cudaDataType type_b, int ldb,
    long long stride_b, const void* beta, void* c, cudaDataType type_c, int ldc, long long stride_c, int batch,
    cublasComputeType_t compute, cublasGemmAlgo_t, KBEMU_HERE) {
    return kbemu::cublas::multiply(
        handle, {ta, tb, m, n, k, alpha, {a, type_a, lda, stride_a}, {b, type_b, ldb, stride_b}, beta,
                 {c, type_c, ldc, stride_c}, compute, batch}, site);
}

inline cublasStatus_t cublasGemmBatchedEx(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const void* alpha,
    const void* const a[], cudaDataType type_a, int lda, const void* const b[], cudaDataType type_b, int ldb,
    const void* beta, void* const c[], cudaDataType type_c, int ldc, int batch, cublasComputeType_t compute,
    cublasGemmAlgo_t, KBEMU_HERE) {
    return kbemu::cublas::multiply(
        handle, {ta, tb, m, n, k, alpha, {nullptr, type_a, lda, 0, a}, {nullptr, type_b, ldb, 0, b}, beta,
                 {nullptr, type_c, ldc, 0, c}, compute, batch}, site);
}

inline cublasStatus_t cublasSgemmEx(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const float* alpha,
    const void* a, cudaDataType type_a, int lda, const void* b, cudaDataType type_b, int ldb, const float* beta,
    void* c, cudaDataType type_c, int ldc, KBEMU_HERE) {
    return cublasGemmEx(
        handle, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, CUBLAS_COMPUTE_32F,
        CUBLAS_GEMM_DEFAULT, site);
}
