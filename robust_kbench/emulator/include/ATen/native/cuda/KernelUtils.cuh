// The addition that torch prefers to plain atomics where it is faster; here it is the same.
#pragma once
#include "ATen/cuda/Atomic.cuh"

namespace at::native {

template <class T, class Index>
inline void fastAtomicAdd(T* tensor, Index index, Index, T value, bool = true) {
    gpuAtomicAddNoReturn(tensor + index, value);
}

}  // namespace at::native
