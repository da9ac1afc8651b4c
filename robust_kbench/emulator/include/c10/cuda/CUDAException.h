// C10_CUDA_CHECK and its family.
#pragma once
#include <c10/util/Exception.h>

#include "c10/cuda/CUDAMacros.h"
#include "c10/cuda/CUDAMiscFunctions.h"
#include "kbemu/cuda.h"

namespace c10 {

class CUDAError : public Error {
    using Error::Error;
};

}  // namespace c10

#define C10_CUDA_CHECK(expression) \
    do { \
        const cudaError_t kbemu_error = static_cast<cudaError_t>(expression); \
        if (kbemu_error != cudaSuccess) cudaGetLastError(); \
        TORCH_CHECK_WITH(CUDAError, kbemu_error == cudaSuccess, "CUDA error: ", cudaGetErrorString(kbemu_error)); \
    } while (0)

#define C10_CUDA_CHECK_WARN(expression) \
    do { \
        const cudaError_t kbemu_error = static_cast<cudaError_t>(expression); \
        if (kbemu_error != cudaSuccess) { \
            cudaGetLastError(); \
            TORCH_WARN("CUDA warning: ", cudaGetErrorString(kbemu_error)); \
        } \
    } while (0)

#define C10_CUDA_ERROR_HANDLED(expression) expression
#define C10_CUDA_IGNORE_ERROR(expression) \
    do { \
        if ((expression) != cudaSuccess) cudaGetLastError(); \
    } while (0)
#define C10_CUDA_CLEAR_ERROR() cudaGetLastError()
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
