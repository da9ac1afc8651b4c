#pragma once
#include <ATen/core/Tensor.h>

#include "ATen/cuda/CUDAContextLight.h"
#include "ATen/cuda/Exceptions.h"
#include "c10/cuda/CUDAStream.h"
