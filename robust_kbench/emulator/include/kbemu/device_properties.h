// cudaDeviceProp of the emulated device.
#pragma once
#include <unistd.h>

#include "kbemu/device_limits.h"

// Fields that CUDA 13 has dropped are kept, since older sources read them.
struct cudaDeviceProp {
    char name[256] = "CUDA emulator (compute capability 8.0)";
    std::size_t totalGlobalMem = std::size_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    std::size_t sharedMemPerBlock = kbemu::device::kSharedPerBlock;
    std::size_t sharedMemPerBlockOptin = kbemu::device::kSharedPerBlockOptIn;
    std::size_t sharedMemPerMultiprocessor = kbemu::device::kSharedPerMultiprocessor;
    std::size_t reservedSharedMemPerBlock = kbemu::device::kSharedReservedPerBlock;
    int regsPerBlock = kbemu::device::kRegisters;
    int regsPerMultiprocessor = kbemu::device::kRegisters;
    int warpSize = 32;
    int maxThreadsPerBlock = kbemu::device::kThreadsPerBlock;
    int maxThreadsPerMultiProcessor = kbemu::device::kThreadsPerMultiprocessor;
    int maxBlocksPerMultiProcessor = kbemu::device::kBlocksPerMultiprocessor;
    int maxThreadsDim[3] = {1024, 1024, 64};
    int maxGridSize[3] = {2147483647, 65535, 65535};
    int multiProcessorCount = kbemu::device::kMultiprocessors;
    int major = kbemu::device::kMajor;
    int minor = kbemu::device::kMinor;
    std::size_t totalConstMem = kbemu::device::kConstantMemory;
    std::size_t memPitch = 2147483647;
    std::size_t textureAlignment = 512;
    std::size_t surfaceAlignment = 512;
    int l2CacheSize = kbemu::device::kL2Cache;
    int persistingL2CacheMaxSize = kbemu::device::kL2Cache * 3 / 4;
    int accessPolicyMaxWindowSize = 134213632;
    int clockRate = kbemu::device::kClockKiloHertz;
    int memoryClockRate = kbemu::device::kMemoryClockKiloHertz;
    int memoryBusWidth = kbemu::device::kMemoryBusBits;
    int asyncEngineCount = 3;
    int concurrentKernels = 1;
    int cooperativeLaunch = 1;
    int managedMemory = 1;
    int concurrentManagedAccess = 1;
    int pageableMemoryAccess = 0;
    int unifiedAddressing = 1;
    int canMapHostMemory = 1;
    int streamPrioritiesSupported = 1;
    int globalL1CacheSupported = 1;
    int localL1CacheSupported = 1;
    int memoryPoolsSupported = 1;
    int clusterLaunch = 0;
    int computeMode = 0;
    int integrated = 0;
    int isMultiGpuBoard = 0;
    int kernelExecTimeoutEnabled = 0;
    int ECCEnabled = 1;
    int tccDriver = 0;
    int pciBusID = 0;
    int pciDeviceID = 0;
    int pciDomainID = 0;
};
