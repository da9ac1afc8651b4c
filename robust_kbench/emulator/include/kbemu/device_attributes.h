// cudaDeviceGetAttribute: the attributes that decide about a launch or that kernels print.
#pragma once
#include "kbemu/device_limits.h"
#include "kbemu/errors.h"

// Name, code, value on the emulated device.
#define KBEMU_ATTRIBUTES(_) \
    _(cudaDevAttrMaxThreadsPerBlock, 1, kbemu::device::kThreadsPerBlock) \
    _(cudaDevAttrMaxBlockDimX, 2, 1024) \
    _(cudaDevAttrMaxBlockDimY, 3, 1024) \
    _(cudaDevAttrMaxBlockDimZ, 4, 64) \
    _(cudaDevAttrMaxGridDimX, 5, 2147483647) \
    _(cudaDevAttrMaxGridDimY, 6, 65535) \
    _(cudaDevAttrMaxGridDimZ, 7, 65535) \
    _(cudaDevAttrMaxSharedMemoryPerBlock, 8, kbemu::device::kSharedPerBlock) \
    _(cudaDevAttrTotalConstantMemory, 9, kbemu::device::kConstantMemory) \
    _(cudaDevAttrWarpSize, 10, 32) \
    _(cudaDevAttrMaxPitch, 11, 2147483647) \
    _(cudaDevAttrMaxRegistersPerBlock, 12, kbemu::device::kRegisters) \
    _(cudaDevAttrClockRate, 13, kbemu::device::kClockKiloHertz) \
    _(cudaDevAttrTextureAlignment, 14, 512) \
    _(cudaDevAttrGpuOverlap, 15, 1) \
    _(cudaDevAttrMultiProcessorCount, 16, kbemu::device::kMultiprocessors) \
    _(cudaDevAttrKernelExecTimeout, 17, 0) \
    _(cudaDevAttrIntegrated, 18, 0) \
    _(cudaDevAttrCanMapHostMemory, 19, 1) \
    _(cudaDevAttrComputeMode, 20, 0) \
    _(cudaDevAttrConcurrentKernels, 31, 1) \
    _(cudaDevAttrEccEnabled, 32, 1) \
    _(cudaDevAttrMemoryClockRate, 36, kbemu::device::kMemoryClockKiloHertz) \
    _(cudaDevAttrGlobalMemoryBusWidth, 37, kbemu::device::kMemoryBusBits) \
    _(cudaDevAttrL2CacheSize, 38, kbemu::device::kL2Cache) \
    _(cudaDevAttrMaxThreadsPerMultiProcessor, 39, kbemu::device::kThreadsPerMultiprocessor) \
    _(cudaDevAttrAsyncEngineCount, 40, 3) \
    _(cudaDevAttrUnifiedAddressing, 41, 1) \
    _(cudaDevAttrComputeCapabilityMajor, 75, kbemu::device::kMajor) \
    _(cudaDevAttrComputeCapabilityMinor, 76, kbemu::device::kMinor) \
    _(cudaDevAttrStreamPrioritiesSupported, 78, 1) \
    _(cudaDevAttrGlobalL1CacheSupported, 79, 1) \
    _(cudaDevAttrLocalL1CacheSupported, 80, 1) \
    _(cudaDevAttrMaxSharedMemoryPerMultiprocessor, 81, kbemu::device::kSharedPerMultiprocessor) \
    _(cudaDevAttrMaxRegistersPerMultiprocessor, 82, kbemu::device::kRegisters) \
    _(cudaDevAttrManagedMemory, 83, 1) \
    _(cudaDevAttrPageableMemoryAccess, 88, 0) \
    _(cudaDevAttrConcurrentManagedAccess, 89, 1) \
    _(cudaDevAttrCooperativeLaunch, 95, 1) \
    _(cudaDevAttrMaxSharedMemoryPerBlockOptin, 97, kbemu::device::kSharedPerBlockOptIn) \
    _(cudaDevAttrMaxBlocksPerMultiprocessor, 106, kbemu::device::kBlocksPerMultiprocessor) \
    _(cudaDevAttrMaxPersistingL2CacheSize, 108, kbemu::device::kL2Cache * 3 / 4) \
    _(cudaDevAttrReservedSharedMemoryPerBlock, 111, kbemu::device::kSharedReservedPerBlock) \
    _(cudaDevAttrMemoryPoolsSupported, 115, 1) \
    _(cudaDevAttrClusterLaunch, 120, 0)

#define KBEMU_ENUMERATOR(name, code, value) name = code,
enum cudaDeviceAttr { KBEMU_ATTRIBUTES(KBEMU_ENUMERATOR) };
#undef KBEMU_ENUMERATOR

inline cudaError_t cudaDeviceGetAttribute(int* result, cudaDeviceAttr attribute, int device) {
    if (!result) return kbemu::host::outcome(cudaErrorInvalidValue);
    if (device > 0) return kbemu::host::outcome(cudaErrorInvalidDevice);
#define KBEMU_VALUE(name, code, value) \
    case code: *result = static_cast<int>(value); return cudaSuccess;
    switch (static_cast<int>(attribute)) { KBEMU_ATTRIBUTES(KBEMU_VALUE) }
#undef KBEMU_VALUE
    return kbemu::host::outcome(cudaErrorInvalidValue);
}
