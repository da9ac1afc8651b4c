// torch's allocator for temporary device memory.
#pragma once
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include "c10/cuda/CUDAStream.h"

namespace c10::cuda::CUDACachingAllocator {

// The torch library has made it an allocator of emulated device memory.
inline Allocator* get() {
    return GetCPUAllocator();
}

inline void* raw_alloc(std::size_t bytes) {
    return bytes ? kbemu::kbemu_allocate(bytes, "CUDACachingAllocator") : nullptr;
}

inline void* raw_alloc_with_stream(std::size_t bytes, cudaStream_t) {
    return raw_alloc(bytes);
}

inline void raw_delete(void* pointer) {
    C10_CUDA_CHECK(cudaFree(pointer));
}

inline void emptyCache() {}

inline void recordStream(const DataPtr&, CUDAStream) {}

}  // namespace c10::cuda::CUDACachingAllocator
