// AT_CUDA_CHECK and the checks of libraries' results.
#pragma once
#include "c10/cuda/CUDAException.h"
#include "cublas_v2.h"

#define AT_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)

#define TORCH_CUDABLAS_CHECK(expression) \
    do { \
        const cublasStatus_t kbemu_status = (expression); \
        TORCH_CHECK(kbemu_status == CUBLAS_STATUS_SUCCESS, "CUDA error: ", cublasGetStatusName(kbemu_status)); \
    } while (0)

#define AT_CUDA_DRIVER_CHECK(expression) \
    do { \
        const int kbemu_status = static_cast<int>(expression); \
        TORCH_CHECK(kbemu_status == 0, "CUDA driver error: ", kbemu_status); \
    } while (0)
