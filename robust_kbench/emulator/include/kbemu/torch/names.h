// Names of namespace torch that are not those of namespace at.
#pragma once
#include <ATen/core/Tensor.h>

namespace torch {

using namespace at;
using std::nullopt;
using std::optional;

using Dtype = at::ScalarType;

constexpr auto kUInt8 = at::kByte;
constexpr auto kInt8 = at::kChar;
constexpr auto kInt16 = at::kShort;
constexpr auto kInt32 = at::kInt;
constexpr auto kInt64 = at::kLong;
constexpr auto kUInt16 = at::kUInt16;
constexpr auto kUInt32 = at::kUInt32;
constexpr auto kUInt64 = at::kUInt64;
constexpr auto kFloat16 = at::kHalf;
constexpr auto kFloat32 = at::kFloat;
constexpr auto kFloat64 = at::kDouble;
constexpr auto kU8 = kUInt8;
constexpr auto kI8 = kInt8;
constexpr auto kI16 = kInt16;
constexpr auto kI32 = kInt32;
constexpr auto kI64 = kInt64;
constexpr auto kF16 = kFloat16;
constexpr auto kF32 = kFloat32;
constexpr auto kF64 = kFloat64;

// pybind's way to bind a function that releases the interpreter's lock; the emulator keeps it.
template <class Function>
Function wrap_pybind_function(Function function) {
    return function;
}

}  // namespace torch

namespace torch::cuda {

inline bool is_available() {
    return true;
}

inline std::size_t device_count() {
    return 1;
}

inline void synchronize(std::int64_t = -1) {}

}  // namespace torch::cuda
