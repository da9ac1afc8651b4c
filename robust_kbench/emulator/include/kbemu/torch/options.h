// What must be settled before the first header of torch is read.
#pragma once
#include "kbemu/cuda.h"

#ifndef KBEMU_TORCH_FULL
#define AT_PER_OPERATOR_HEADERS
#endif

// Conversions between at::Half and __half, and a few names, exist for a CUDA compiler alone. The other headers are read
// as by a compiler without CUDA: as for CUDA they would need thrust and more.
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <torch/headeronly/core/TensorAccessor.h>

#include "kbemu/torch/half_comparisons.h"
