// cuBLAS handles. The settings are kept and change nothing: arithmetic is never reduced, scalars are read through their
// pointers wherever these point.
#pragma once
#include "kbemu/cublas_types.h"

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
    if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
    *handle = new cublasContext;
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
    *version = 130000;
    return CUBLAS_STATUS_SUCCESS;
}

// A setting: a field of the handle, the function that changes it and the one that reads it.
#define KBEMU_CUBLAS_SETTING(type, field, setter, getter) \
    inline cublasStatus_t setter(cublasHandle_t handle, type value) { \
        if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED; \
        handle->field = value; \
        return CUBLAS_STATUS_SUCCESS; \
    } \
    inline cublasStatus_t getter(cublasHandle_t handle, type* value) { \
        if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED; \
        *value = handle->field; \
        return CUBLAS_STATUS_SUCCESS; \
    }
KBEMU_CUBLAS_SETTING(cudaStream_t, stream, cublasSetStream, cublasGetStream)
KBEMU_CUBLAS_SETTING(cublasPointerMode_t, pointer_mode, cublasSetPointerMode, cublasGetPointerMode)
KBEMU_CUBLAS_SETTING(cublasMath_t, math_mode, cublasSetMathMode, cublasGetMathMode)
KBEMU_CUBLAS_SETTING(cublasAtomicsMode_t, atomics_mode, cublasSetAtomicsMode, cublasGetAtomicsMode)
#undef KBEMU_CUBLAS_SETTING

inline cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void*, std::size_t) {
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasSetStream_v2 cublasSetStream
#define cublasGetStream_v2 cublasGetStream
#define cublasSetPointerMode_v2 cublasSetPointerMode
#define cublasGetPointerMode_v2 cublasGetPointerMode
