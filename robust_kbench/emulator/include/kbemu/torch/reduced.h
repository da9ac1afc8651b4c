// Tensors, their methods and operators, AT_DISPATCH and module definitions. Free functions such as at::conv2d come one
// by one from ATen/ops: torch_headers.py includes those that the source names.
#pragma once
#include "kbemu/torch/options.h"

#include "kbemu/torch/without_cuda_begin.h"

#include <ATen/DeviceGuard.h>
#include <ATen/Dispatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Formatting.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <cfloat>
#include <climits>
#include <cmath>
#include <iostream>

#include <c10/core/ScalarType.h>
#include <c10/util/Optional.h>
#include <c10/util/irange.h>

#include "kbemu/torch/without_cuda_end.h"

#include "kbemu/python/module.h"
#include "kbemu/torch/devices.h"
#include "kbemu/torch/names.h"
