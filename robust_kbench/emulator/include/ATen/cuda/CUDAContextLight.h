// The device's properties and cuBLAS handle as torch hands them out.
#pragma once
#include <c10/core/Allocator.h>

#include <cstdint>

#include "c10/cuda/CUDACachingAllocator.h"
#include "c10/cuda/CUDAFunctions.h"
#include "c10/cuda/CUDAStream.h"
#include "cublas_v2.h"

namespace at::cuda {

inline std::int64_t getNumGPUs() {
    return 1;
}

inline bool is_available() {
    return true;
}

inline int warp_size() {
    return 32;
}

inline cudaDeviceProp* getDeviceProperties(c10::DeviceIndex) {
    static cudaDeviceProp properties;
    return &properties;
}

inline cudaDeviceProp* getCurrentDeviceProperties() {
    return getDeviceProperties(0);
}

inline bool canDeviceAccessPeer(c10::DeviceIndex, c10::DeviceIndex) {
    return false;
}

inline c10::Allocator* getCUDADeviceAllocator() {
    return c10::cuda::CUDACachingAllocator::get();
}

inline cublasHandle_t getCurrentCUDABlasHandle(bool = true) {
    static const cublasHandle_t handle = [] {
        cublasHandle_t created = nullptr;
        cublasCreate(&created);
        return created;
    }();
    return handle;
}

}  // namespace at::cuda
