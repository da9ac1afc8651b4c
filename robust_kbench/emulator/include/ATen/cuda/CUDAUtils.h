#pragma once
#include "ATen/cuda/CUDAContext.h"

namespace at::cuda {

inline bool check_device(c10::ArrayRef<at::Tensor>) {
    return true;
}

}  // namespace at::cuda
