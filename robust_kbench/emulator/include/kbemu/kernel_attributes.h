// What host code asks or sets about a kernel. The rewriter passes kernels as KernelReference; where it could not, the
// argument is a plain pointer and the setting is for every kernel.
#pragma once
#include "kbemu/device_queries.h"
#include "kbemu/launch.h"

namespace kbemu::host {

template <class... P>
inline const char* kernel_name(const KernelReference<P...>& kernel) {
    return kernel.name;
}

template <class T>
inline const char* kernel_name(const T&) {
    return nullptr;
}

}  // namespace kbemu::host

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
    cudaFuncAttributeClusterDimMustBeSet = 10,
    cudaFuncAttributeRequiredClusterWidth = 11,
    cudaFuncAttributeRequiredClusterHeight = 12,
    cudaFuncAttributeRequiredClusterDepth = 13,
    cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
};
enum cudaSharedCarveout {
    cudaSharedmemCarveoutDefault = -1,
    cudaSharedmemCarveoutMaxShared = 100,
    cudaSharedmemCarveoutMaxL1 = 0,
};

template <class Kernel>
inline cudaError_t cudaFuncSetAttribute(const Kernel& kernel, cudaFuncAttribute attribute, int value) {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    // More than this device has, and no more than the next has, is the runtime's to call unsupported.
    if (value < 0 || std::size_t(value) > kbemu::device::kSharedOfAnyDevice) {
        return kbemu::host::outcome(cudaErrorInvalidValue);
    }
    kbemu::kbemu_allow_shared(kbemu::host::kernel_name(kernel), value);
    return cudaSuccess;
}

template <class Kernel>
inline cudaError_t cudaFuncSetCacheConfig(const Kernel&, cudaFuncCache) {
    return cudaSuccess;
}

template <class Kernel>
inline cudaError_t cudaFuncSetSharedMemConfig(const Kernel&, cudaSharedMemConfig) {
    return cudaSuccess;
}

// Nothing is compiled for a device, so there are no registers to count: 32 a thread allow full occupancy.
struct cudaFuncAttributes {
    std::size_t sharedSizeBytes = 0;
    std::size_t constSizeBytes = 0;
    std::size_t localSizeBytes = 0;
    int maxThreadsPerBlock = kbemu::device::kThreadsPerBlock;
    int numRegs = 32;
    int ptxVersion = 80;
    int binaryVersion = 80;
    int cacheModeCA = 0;
    int maxDynamicSharedSizeBytes = kbemu::device::kSharedPerBlock;
    int preferredShmemCarveout = cudaSharedmemCarveoutDefault;
};

template <class Kernel>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const Kernel&) {
    *attributes = cudaFuncAttributes();
    return cudaSuccess;
}
