// Assertions in kernels that torch would report from the host.
#pragma once
#include <cassert>

#include "c10/cuda/CUDAException.h"

#define CUDA_KERNEL_ASSERT2(condition) assert(condition)
