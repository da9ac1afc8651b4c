// What most extensions use of torch/extension.h, in a quarter of the time that nvcc takes for the whole: tensors, their
// methods and operators, AT_DISPATCH, and torch's own pybind11. Free functions such as at::softmax come one by one:
// languages/extensions.py writes kbench_operators.h with those that the source names, and compiles once more with
// torch's own headers where these are not enough. What is here must mean the same as there.
#pragma once
#include <ATen/AccumulateType.h>
#include <ATen/DeviceGuard.h>
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Formatting.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/TensorAccessor.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Logging.h>
#include <c10/util/irange.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include <iostream>

#include <kbench_operators.h>

// The same as in torch/types.h.
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
constexpr auto kU16 = kUInt16;
constexpr auto kU32 = kUInt32;
constexpr auto kU64 = kUInt64;
constexpr auto kI8 = kInt8;
constexpr auto kI16 = kInt16;
constexpr auto kI32 = kInt32;
constexpr auto kI64 = kInt64;
constexpr auto kF16 = kFloat16;
constexpr auto kF32 = kFloat32;
constexpr auto kF64 = kFloat64;

}  // namespace torch
