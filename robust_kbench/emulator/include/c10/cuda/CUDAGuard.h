// Guards choose a device or a stream for a scope; here there is nothing to choose.
#pragma once
#include <c10/util/ArrayRef.h>

#include <optional>

#include "c10/cuda/CUDAStream.h"

namespace c10::cuda {

struct CUDAGuard {
    explicit CUDAGuard(DeviceIndex) {}
    explicit CUDAGuard(Device) {}
    CUDAGuard(const CUDAGuard&) = delete;
    CUDAGuard& operator=(const CUDAGuard&) = delete;
    ~CUDAGuard() {}

    void set_device(Device) {}
    void reset_device(Device) {}
    void set_index(DeviceIndex) {}
    Device original_device() const { return Device(c10::kCPU); }
    Device current_device() const { return Device(c10::kCPU); }
};

struct OptionalCUDAGuard {
    explicit OptionalCUDAGuard() {}
    explicit OptionalCUDAGuard(std::optional<Device>) {}
    explicit OptionalCUDAGuard(std::optional<DeviceIndex>) {}
    OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
    OptionalCUDAGuard& operator=(const OptionalCUDAGuard&) = delete;
    ~OptionalCUDAGuard() {}

    void set_device(Device) {}
    void reset_device(Device) {}
    void set_index(DeviceIndex) {}
    void reset() {}
    std::optional<Device> original_device() const { return Device(c10::kCPU); }
    std::optional<Device> current_device() const { return Device(c10::kCPU); }
};

struct CUDAStreamGuard {
    explicit CUDAStreamGuard(CUDAStream) {}
    explicit CUDAStreamGuard(Stream) {}
    CUDAStreamGuard(const CUDAStreamGuard&) = delete;
    CUDAStreamGuard& operator=(const CUDAStreamGuard&) = delete;
    ~CUDAStreamGuard() {}

    void reset_stream(Stream) {}
    CUDAStream original_stream() const { return {}; }
    CUDAStream current_stream() const { return {}; }
    Device original_device() const { return Device(c10::kCPU); }
    Device current_device() const { return Device(c10::kCPU); }
};

struct OptionalCUDAStreamGuard {
    explicit OptionalCUDAStreamGuard() {}
    explicit OptionalCUDAStreamGuard(CUDAStream) {}
    explicit OptionalCUDAStreamGuard(std::optional<Stream>) {}
    ~OptionalCUDAStreamGuard() {}

    void reset_stream(Stream) {}
    void reset() {}
};

struct CUDAMultiStreamGuard {
    explicit CUDAMultiStreamGuard(ArrayRef<CUDAStream>) {}
    ~CUDAMultiStreamGuard() {}
};

}  // namespace c10::cuda
