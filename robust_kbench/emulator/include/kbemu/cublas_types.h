// cuBLAS: status codes, modes and the handle.
#pragma once
#include "kbemu/streams.h"
#include "library_types.h"

struct __half;
struct float2;
struct double2;

#define KBEMU_CUBLAS_STATUSES(_) \
    _(CUBLAS_STATUS_SUCCESS, 0) \
    _(CUBLAS_STATUS_NOT_INITIALIZED, 1) \
    _(CUBLAS_STATUS_ALLOC_FAILED, 3) \
    _(CUBLAS_STATUS_INVALID_VALUE, 7) \
    _(CUBLAS_STATUS_ARCH_MISMATCH, 8) \
    _(CUBLAS_STATUS_MAPPING_ERROR, 11) \
    _(CUBLAS_STATUS_EXECUTION_FAILED, 13) \
    _(CUBLAS_STATUS_INTERNAL_ERROR, 14) \
    _(CUBLAS_STATUS_NOT_SUPPORTED, 15) \
    _(CUBLAS_STATUS_LICENSE_ERROR, 16)

#define KBEMU_ENUMERATOR(name, code) name = code,
typedef enum { KBEMU_CUBLAS_STATUSES(KBEMU_ENUMERATOR) } cublasStatus_t;
#undef KBEMU_ENUMERATOR

inline const char* cublasGetStatusName(cublasStatus_t status) {
#define KBEMU_NAME(name, code) \
    case code: return #name;
    switch (static_cast<int>(status)) { KBEMU_CUBLAS_STATUSES(KBEMU_NAME) }
#undef KBEMU_NAME
    return "unrecognized cuBLAS status";
}

inline const char* cublasGetStatusString(cublasStatus_t status) {
    return cublasGetStatusName(status);
}

typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 } cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;
typedef enum {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
} cublasMath_t;
typedef enum {
    CUBLAS_GEMM_DFALT = -1,
    CUBLAS_GEMM_DEFAULT = -1,
    CUBLAS_GEMM_ALGO0 = 0,
    CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
    CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
} cublasGemmAlgo_t;
typedef enum {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_16F_PEDANTIC = 65,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    CUBLAS_COMPUTE_32I = 72,
    CUBLAS_COMPUTE_32I_PEDANTIC = 73,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
} cublasComputeType_t;

struct cublasContext {
    cudaStream_t stream = nullptr;
    cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
    cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
    cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
};
typedef cublasContext* cublasHandle_t;
