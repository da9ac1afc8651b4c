// Barriers of a block and of a warp, and memory fences.
#pragma once
#include "kbemu/runtime.h"

namespace kbemu {
constexpr unsigned kFullMask = 0xffffffffu;
}

inline void __syncthreads(KBEMU_HERE) {
    kbemu::kbemu_block_sync(kbemu::kBarrierSync, 0, &site);
}

// The number of threads whose predicate is not zero.
inline int __syncthreads_count(int predicate, KBEMU_HERE) {
    return kbemu::kbemu_block_sync(kbemu::kBarrierCount, predicate, &site);
}

inline int __syncthreads_and(int predicate, KBEMU_HERE) {
    return kbemu::kbemu_block_sync(kbemu::kBarrierAnd, predicate, &site);
}

inline int __syncthreads_or(int predicate, KBEMU_HERE) {
    return kbemu::kbemu_block_sync(kbemu::kBarrierOr, predicate, &site);
}

inline void __syncwarp(unsigned mask = kbemu::kFullMask, KBEMU_HERE) {
    kbemu::kbemu_warp_sync(mask, "__syncwarp", &site);
}

inline void __threadfence_block() {
    kbemu::kbemu_fence(kbemu::kFenceBlock);
}

inline void __threadfence() {
    kbemu::kbemu_fence(kbemu::kFenceDevice);
}

inline void __threadfence_system() {
    kbemu::kbemu_fence(kbemu::kFenceSystem);
}
