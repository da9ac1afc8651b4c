// cudaMemcpy and cudaMemset. A range that starts in an allocation and leaves it is a finding, and the call fails.
#pragma once
#include <cstdio>
#include <cstring>

#include "kbemu/streams.h"

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4,
};

namespace kbemu::host {

// Memory that the runtime library does not know is the host's: nothing is known about its size.
inline bool inside_one_allocation(const void* pointer, std::size_t bytes, const char* verb, const Site& site) {
    if (!kbemu_is_device_memory(pointer, 1) || kbemu_is_device_memory(pointer, bytes)) return true;
    char message[120];
    std::snprintf(message, sizeof message, "the host %s %zu bytes, more than the allocation has left", verb, bytes);
    kbemu_finding("out_of_bounds_global", message, &site);
    return false;
}

inline void tell_of_write(const void* pointer, std::size_t bytes) {
    if (kbemu_is_device_memory(pointer, bytes)) kbemu_host_wrote(pointer, bytes);
}

inline cudaError_t copy(void* target, const void* source, std::size_t bytes, const Site& site) {
    if (!bytes) return cudaSuccess;
    if (!target || !source) return outcome(cudaErrorInvalidValue);
    const bool readable = inside_one_allocation(source, bytes, "copies from", site);
    const bool writable = inside_one_allocation(target, bytes, "copies to", site);
    if (!readable || !writable) return outcome(cudaErrorInvalidValue);
    std::memmove(target, source, bytes);
    tell_of_write(target, bytes);
    return wait();
}

inline cudaError_t fill(void* target, int value, std::size_t bytes, const Site& site) {
    if (!bytes) return cudaSuccess;
    if (!target || !inside_one_allocation(target, bytes, "sets", site)) return outcome(cudaErrorInvalidValue);
    std::memset(target, value, bytes);
    tell_of_write(target, bytes);
    return wait();
}

}  // namespace kbemu::host

inline cudaError_t cudaMemcpy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind, KBEMU_HERE) {
    return kbemu::host::copy(target, source, bytes, site);
}

inline cudaError_t cudaMemcpyAsync(
    void* target, const void* source, std::size_t bytes, cudaMemcpyKind, cudaStream_t = nullptr, KBEMU_HERE) {
    return kbemu::host::copy(target, source, bytes, site);
}

inline cudaError_t cudaMemcpyPeer(void* target, int, const void* source, int, std::size_t bytes, KBEMU_HERE) {
    return kbemu::host::copy(target, source, bytes, site);
}

inline cudaError_t cudaMemcpyPeerAsync(
    void* target, int, const void* source, int, std::size_t bytes, cudaStream_t = nullptr, KBEMU_HERE) {
    return kbemu::host::copy(target, source, bytes, site);
}

inline cudaError_t cudaMemcpy2D(
    void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch, std::size_t width,
    std::size_t height, cudaMemcpyKind, KBEMU_HERE) {
    if (width > target_pitch || width > source_pitch) return kbemu::host::outcome(cudaErrorInvalidPitchValue);
    for (std::size_t row = 0; row < height; ++row) {
        char* to = static_cast<char*>(target) + row * target_pitch;
        const char* from = static_cast<const char*>(source) + row * source_pitch;
        if (const cudaError_t error = kbemu::host::copy(to, from, width, site)) return error;
    }
    return cudaSuccess;
}

inline cudaError_t cudaMemcpy2DAsync(
    void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch, std::size_t width,
    std::size_t height, cudaMemcpyKind kind, cudaStream_t = nullptr, KBEMU_HERE) {
    return cudaMemcpy2D(target, target_pitch, source, source_pitch, width, height, kind, site);
}

inline cudaError_t cudaMemset(void* target, int value, std::size_t bytes, KBEMU_HERE) {
    return kbemu::host::fill(target, value, bytes, site);
}

inline cudaError_t cudaMemsetAsync(
    void* target, int value, std::size_t bytes, cudaStream_t = nullptr, KBEMU_HERE) {
    return kbemu::host::fill(target, value, bytes, site);
}

inline cudaError_t cudaMemset2D(
    void* target, std::size_t pitch, int value, std::size_t width, std::size_t height, KBEMU_HERE) {
    if (width > pitch) return kbemu::host::outcome(cudaErrorInvalidPitchValue);
    for (std::size_t row = 0; row < height; ++row) {
        if (const cudaError_t error = kbemu::host::fill(static_cast<char*>(target) + row * pitch, value, width, site)) {
            return error;
        }
    }
    return cudaSuccess;
}

inline cudaError_t cudaMemset2DAsync(
    void* target, std::size_t pitch, int value, std::size_t width, std::size_t height, cudaStream_t = nullptr,
    KBEMU_HERE) {
    return cudaMemset2D(target, pitch, value, width, height, site);
}
