// The emulated device's tensors are the processor's tensors: what sources say about the CUDA device holds for them.
// To be included after torch's own headers, which use the same names.
#pragma once
#include "kbemu/torch/without_cuda_begin.h"

#include <ATen/AccumulateType.h>
#include <ATen/OpMathType.h>
#include <ATen/core/DeprecatedTypeProperties.h>
#include <ATen/core/TensorAccessor.h>

#include "kbemu/torch/without_cuda_end.h"

#define is_cuda() is_cpu()
#define kCUDA kCPU
#define CUDA CPU
#define cuda() cpu()

// AT_DISPATCH_*(x.type(), ...), which torch accepted for years.
namespace detail {

inline at::ScalarType scalar_type(const at::DeprecatedTypeProperties& type) {
    return type.scalarType();
}

}  // namespace detail

namespace at {

using torch::headeronly::RestrictPtrTraits;

}  // namespace at

// The rewriter knows __launch_bounds__ alone.
#undef C10_LAUNCH_BOUNDS_0
#undef C10_LAUNCH_BOUNDS_1
#undef C10_LAUNCH_BOUNDS_2
#define C10_LAUNCH_BOUNDS_0
#define C10_LAUNCH_BOUNDS_1(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks)
#undef CUDA_KERNEL_ASSERT
#define CUDA_KERNEL_ASSERT(condition) assert(condition)
