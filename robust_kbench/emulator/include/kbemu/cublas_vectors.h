// cuBLAS: vectors, and matrices with vectors, in float and double. Defined in libkbemu.so.
#pragma once
#include "kbemu/cublas_types.h"

// The functions of an element type; P is the letter in their names.
#define KBEMU_CUBLAS_VECTORS(P, T) \
    cublasStatus_t cublas##P##gemv( \
        cublasHandle_t handle, cublasOperation_t transpose, int m, int n, const T* alpha, const T* a, int lda, \
        const T* x, int step_x, const T* beta, T* y, int step_y, KBEMU_HERE); \
    cublasStatus_t cublas##P##ger( \
        cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int step_x, const T* y, int step_y, T* a, \
        int lda, KBEMU_HERE); \
    cublasStatus_t cublas##P##geam( \
        cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, const T* alpha, const T* a, \
        int lda, const T* beta, const T* b, int ldb, T* c, int ldc, KBEMU_HERE); \
    cublasStatus_t cublas##P##dgmm( \
        cublasHandle_t handle, cublasSideMode_t side, int m, int n, const T* a, int lda, const T* x, int step_x, T* c, \
        int ldc, KBEMU_HERE); \
    cublasStatus_t cublas##P##axpy( \
        cublasHandle_t handle, int n, const T* alpha, const T* x, int step_x, T* y, int step_y, KBEMU_HERE); \
    cublasStatus_t cublas##P##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int step_x, KBEMU_HERE); \
    cublasStatus_t cublas##P##copy( \
        cublasHandle_t handle, int n, const T* x, int step_x, T* y, int step_y, KBEMU_HERE); \
    cublasStatus_t cublas##P##swap(cublasHandle_t handle, int n, T* x, int step_x, T* y, int step_y, KBEMU_HERE); \
    cublasStatus_t cublas##P##dot( \
        cublasHandle_t handle, int n, const T* x, int step_x, const T* y, int step_y, T* result, KBEMU_HERE); \
    cublasStatus_t cublas##P##nrm2(cublasHandle_t handle, int n, const T* x, int step_x, T* result, KBEMU_HERE); \
    cublasStatus_t cublas##P##asum(cublasHandle_t handle, int n, const T* x, int step_x, T* result, KBEMU_HERE);
KBEMU_CUBLAS_VECTORS(S, float)
KBEMU_CUBLAS_VECTORS(D, double)
#undef KBEMU_CUBLAS_VECTORS

// The place of the first largest or smallest absolute value, counted from 1.
cublasStatus_t cublasIsamax(cublasHandle_t handle, int n, const float* x, int step_x, int* result, KBEMU_HERE);
cublasStatus_t cublasIdamax(cublasHandle_t handle, int n, const double* x, int step_x, int* result, KBEMU_HERE);
cublasStatus_t cublasIsamin(cublasHandle_t handle, int n, const float* x, int step_x, int* result, KBEMU_HERE);
cublasStatus_t cublasIdamin(cublasHandle_t handle, int n, const double* x, int step_x, int* result, KBEMU_HERE);
