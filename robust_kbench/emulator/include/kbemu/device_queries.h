// The one device: which it is, what it can do, and the settings that change nothing here.
#pragma once
#include "kbemu/device_attributes.h"
#include "kbemu/device_memory.h"
#include "kbemu/device_properties.h"

namespace kbemu::host {

// Tensors are in the processor's memory, where torch says that the index of their device is -1.
inline cudaError_t check_device(int device) {
    return device == 0 || device == -1 ? cudaSuccess : outcome(cudaErrorInvalidDevice);
}

}  // namespace kbemu::host

inline cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}

inline cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}

inline cudaError_t cudaSetDevice(int device) {
    return kbemu::host::check_device(device);
}

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (!properties) return kbemu::host::outcome(cudaErrorInvalidValue);
    *properties = cudaDeviceProp();
    return kbemu::host::check_device(device);
}

inline cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

inline cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return cudaSuccess;
}

inline cudaError_t cudaDeviceCanAccessPeer(int* possible, int, int) {
    *possible = 0;
    return cudaSuccess;
}

inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
    return kbemu::host::outcome(cudaErrorPeerAccessUnsupported);
}

inline cudaError_t cudaDeviceReset() {
    return cudaSuccess;
}

inline cudaError_t cudaSetDeviceFlags(unsigned) {
    return cudaSuccess;
}

enum cudaLimit {
    cudaLimitStackSize = 0,
    cudaLimitPrintfFifoSize = 1,
    cudaLimitMallocHeapSize = 2,
    cudaLimitPersistingL2CacheSize = 6,
};

inline cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) {
    return cudaSuccess;
}

inline cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
    *value = limit == cudaLimitStackSize ? 1 << 10 : limit == cudaLimitPersistingL2CacheSize ? 0 : 8 << 20;
    return cudaSuccess;
}

enum cudaSharedMemConfig {
    cudaSharedMemBankSizeDefault = 0,
    cudaSharedMemBankSizeFourByte = 1,
    cudaSharedMemBankSizeEightByte = 2,
};

inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
    return cudaSuccess;
}

enum cudaFuncCache {
    cudaFuncCachePreferNone = 0,
    cudaFuncCachePreferShared = 1,
    cudaFuncCachePreferL1 = 2,
    cudaFuncCachePreferEqual = 3,
};

inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
    return cudaSuccess;
}

enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0,
    cudaMemoryTypeHost = 1,
    cudaMemoryTypeDevice = 2,
    cudaMemoryTypeManaged = 3,
};

struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void* devicePointer;
    void* hostPointer;
};

inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    const bool known = kbemu::kbemu_is_device_memory(pointer, 1);
    void* address = const_cast<void*>(pointer);
    *attributes = {known ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered, 0, known ? address : nullptr,
                   known ? nullptr : address};
    return cudaSuccess;
}

enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1,
    cudaMemAdviseUnsetReadMostly = 2,
    cudaMemAdviseSetPreferredLocation = 3,
    cudaMemAdviseUnsetPreferredLocation = 4,
    cudaMemAdviseSetAccessedBy = 5,
    cudaMemAdviseUnsetAccessedBy = 6,
};
enum { cudaCpuDeviceId = -1, cudaInvalidDeviceId = -2 };

inline cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, int) {
    return cudaSuccess;
}

inline cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t = nullptr) {
    return cudaSuccess;
}

inline cudaError_t cudaProfilerStart() {
    return cudaSuccess;
}

inline cudaError_t cudaProfilerStop() {
    return cudaSuccess;
}
