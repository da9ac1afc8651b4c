// The devices as torch counts them: there is one.
#pragma once
#include <c10/core/Device.h>

#include "c10/cuda/CUDAException.h"

namespace c10::cuda {

inline DeviceIndex device_count() noexcept {
    return 1;
}

inline DeviceIndex device_count_ensure_non_zero() {
    return 1;
}

inline DeviceIndex current_device() {
    return 0;
}

inline void set_device(DeviceIndex device, bool = false) {
    C10_CUDA_CHECK(cudaSetDevice(device));
}

inline void device_synchronize() {
    C10_CUDA_CHECK(cudaDeviceSynchronize());
}

inline void stream_synchronize(cudaStream_t stream) {
    C10_CUDA_CHECK(cudaStreamSynchronize(stream));
}

inline DeviceIndex ExchangeDevice(DeviceIndex) {
    return 0;
}

inline DeviceIndex MaybeExchangeDevice(DeviceIndex) {
    return 0;
}

inline cudaError_t GetDeviceCount(int* count) {
    return cudaGetDeviceCount(count);
}

inline void memcpy_and_sync(void* target, const void* source, int64_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    C10_CUDA_CHECK(cudaMemcpyAsync(target, source, bytes, kind, stream));
}

}  // namespace c10::cuda
