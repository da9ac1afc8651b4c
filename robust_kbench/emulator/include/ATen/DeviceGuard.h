// device_of and DeviceGuard without the lists of tensors that make torch's own header slow to read.
#pragma once
#if defined(KBEMU_TORCH_FULL) || defined(KBEMU_TORCH_CONTEXT)
#include_next <ATen/DeviceGuard.h>
#else
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

namespace at {

inline std::optional<Device> device_of(const Tensor& tensor) {
    return tensor.defined() ? std::optional<Device>(tensor.device()) : std::nullopt;
}

inline std::optional<Device> device_of(const std::optional<Tensor>& tensor) {
    return tensor ? device_of(*tensor) : std::nullopt;
}

}  // namespace at
#endif
