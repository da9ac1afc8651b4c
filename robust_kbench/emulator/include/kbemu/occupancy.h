// Occupancy, as far as threads, blocks and dynamic shared memory limit it: registers and static shared memory of a
// kernel are unknown before it runs.
#pragma once
#include "kbemu/kernel_attributes.h"

namespace kbemu::host {

template <class T>
constexpr T smaller(T a, T b) {
    return b < a ? b : a;
}

inline int resident_blocks(int threads, std::size_t shared) {
    if (threads < 1 || threads > device::kThreadsPerBlock || shared > device::kSharedPerBlockOptIn) return 0;
    const int warps = (threads + 31) / 32;
    const int by_threads = device::kThreadsPerMultiprocessor / (warps * 32);
    const int by_shared = device::kSharedPerMultiprocessor / (shared + device::kSharedReservedPerBlock);
    return smaller(smaller(by_threads, by_shared), device::kBlocksPerMultiprocessor);
}

// The largest block with which a multiprocessor holds most threads. `shared_for` tells the bytes for a block size.
template <class SharedForSize>
inline cudaError_t best_block(int* grid, int* block, SharedForSize shared_for, int limit) {
    const int largest = limit > 0 ? smaller(limit, device::kThreadsPerBlock) : device::kThreadsPerBlock;
    int most = 0;
    for (int size = largest; size > 0; size -= size % 32 ? size % 32 : 32) {
        const int blocks = resident_blocks(size, shared_for(size));
        if (blocks * size <= most) continue;
        most = blocks * size;
        *block = size;
        *grid = blocks * device::kMultiprocessors;
    }
    return most ? cudaSuccess : outcome(cudaErrorInvalidConfiguration);
}

}  // namespace kbemu::host

enum { cudaOccupancyDefault = 0, cudaOccupancyDisableCachingOverride = 1 };

template <class Kernel>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int* blocks, const Kernel&, int block, std::size_t shared) {
    *blocks = kbemu::host::resident_blocks(block, shared);
    return cudaSuccess;
}

template <class Kernel>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const Kernel& kernel, int block, std::size_t shared, unsigned) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block, shared);
}

template <class Kernel>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(
    int* grid, int* block, const Kernel&, std::size_t shared = 0, int limit = 0) {
    return kbemu::host::best_block(grid, block, [shared](int) { return shared; }, limit);
}

template <class Kernel>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(
    int* grid, int* block, const Kernel& kernel, std::size_t shared = 0, int limit = 0, unsigned = 0) {
    return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, shared, limit);
}

template <class SharedForSize, class Kernel>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(
    int* grid, int* block, const Kernel&, SharedForSize shared_for, int limit = 0) {
    return kbemu::host::best_block(grid, block, shared_for, limit);
}

template <class Kernel>
inline cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const Kernel&, int blocks, int) {
    if (blocks < 1) return kbemu::host::outcome(cudaErrorInvalidValue);
    const std::size_t share = kbemu::device::kSharedPerMultiprocessor / blocks;
    *bytes = kbemu::host::smaller(share - kbemu::device::kSharedReservedPerBlock, kbemu::device::kSharedPerBlockOptIn);
    return cudaSuccess;
}
