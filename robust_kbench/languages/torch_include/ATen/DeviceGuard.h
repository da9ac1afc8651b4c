// Every header of an operator includes this one. Without the lists of tensors that make torch's own take seconds.
#pragma once
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
