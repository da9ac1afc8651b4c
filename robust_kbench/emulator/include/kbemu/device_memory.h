// cudaMalloc and its family. Device, pinned and managed memory are all ordinary memory that the runtime library knows,
// with red zones around it.
#pragma once
#include <unistd.h>

#include "kbemu/streams.h"

enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaMemAttachSingle = 4 };
enum { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4 };
enum { cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2 };

namespace kbemu::host {

inline cudaError_t allocate(void** pointer, std::size_t bytes, const char* label) {
    if (!pointer) return outcome(cudaErrorInvalidValue);
    *pointer = bytes ? kbemu_allocate(bytes, label) : nullptr;
    return *pointer || !bytes ? cudaSuccess : outcome(cudaErrorMemoryAllocation);
}

// The host writes such memory without asking anybody: all of it counts as written.
inline cudaError_t allocate_for_host(void** pointer, std::size_t bytes, const char* label) {
    const cudaError_t error = allocate(pointer, bytes, label);
    if (error == cudaSuccess && *pointer) kbemu_host_wrote(*pointer, bytes);
    return error;
}

inline cudaError_t release(void* pointer, const Site& site) {
    if (!pointer || kbemu_free(pointer)) return cudaSuccess;
    kbemu_finding("invalid_free", "the pointer is not the start of a live allocation", &site);
    return outcome(cudaErrorInvalidValue);
}

// All functions of the family take the address of a pointer to any type.
template <class T>
inline void** untyped(T** pointer) {
    return const_cast<void**>(reinterpret_cast<const void* const*>(pointer));
}

}  // namespace kbemu::host

template <class T>
inline cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
    return kbemu::host::allocate(kbemu::host::untyped(pointer), bytes, "cudaMalloc");
}

template <class T>
inline cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t) {
    return kbemu::host::allocate(kbemu::host::untyped(pointer), bytes, "cudaMallocAsync");
}

template <class T>
inline cudaError_t cudaMallocHost(T** pointer, std::size_t bytes, unsigned = 0) {
    return kbemu::host::allocate_for_host(kbemu::host::untyped(pointer), bytes, "cudaMallocHost");
}

template <class T>
inline cudaError_t cudaHostAlloc(T** pointer, std::size_t bytes, unsigned) {
    return kbemu::host::allocate_for_host(kbemu::host::untyped(pointer), bytes, "cudaHostAlloc");
}

template <class T>
inline cudaError_t cudaMallocManaged(T** pointer, std::size_t bytes, unsigned = cudaMemAttachGlobal) {
    return kbemu::host::allocate_for_host(kbemu::host::untyped(pointer), bytes, "cudaMallocManaged");
}

template <class T>
inline cudaError_t cudaMallocPitch(T** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
    constexpr std::size_t alignment = 512;
    if (!pitch) return kbemu::host::outcome(cudaErrorInvalidValue);
    *pitch = (width + alignment - 1) / alignment * alignment;
    return kbemu::host::allocate(kbemu::host::untyped(pointer), *pitch * height, "cudaMallocPitch");
}

inline cudaError_t cudaFree(void* pointer, KBEMU_HERE) {
    return kbemu::host::release(pointer, site);
}

inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t, KBEMU_HERE) {
    return kbemu::host::release(pointer, site);
}

inline cudaError_t cudaFreeHost(void* pointer, KBEMU_HERE) {
    return kbemu::host::release(pointer, site);
}

inline cudaError_t cudaHostRegister(void* pointer, std::size_t, unsigned) {
    return pointer ? cudaSuccess : kbemu::host::outcome(cudaErrorInvalidValue);
}

inline cudaError_t cudaHostUnregister(void*) {
    return cudaSuccess;
}

template <class T>
inline cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) {
    *kbemu::host::untyped(device) = host;
    return cudaSuccess;
}

inline cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    const std::size_t page = sysconf(_SC_PAGESIZE);
    *free = page * sysconf(_SC_AVPHYS_PAGES);
    *total = page * sysconf(_SC_PHYS_PAGES);
    return cudaSuccess;
}
