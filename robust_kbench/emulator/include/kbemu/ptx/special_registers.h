// %laneid and the like.
#pragma once
#include "kbemu/control.h"
#include "kbemu/ptx/types.h"
#include "kbemu/qualifiers.h"

namespace kbemu::ptx {

// An A100's number of multiprocessors; blocks go round them.
constexpr u32 kMultiprocessors = 108;
constexpr u32 kResidentWarps = 64;

inline uint3 thread() { return self->thread; }
inline uint3 block() { return self->block; }
inline dim3 block_size() { return ::blockDim; }
inline dim3 grid_size() { return ::gridDim; }

inline u32 lane() { return self->lane; }
inline u32 warp() { return self->warp; }
inline u32 multiprocessor() {
    const uint3 block = self->block;
    return ((block.z * ::gridDim.y + block.y) * ::gridDim.x + block.x) % kMultiprocessors;
}

inline u32 lanes_equal() { return 1u << self->lane; }
inline u32 lanes_below() { return lanes_equal() - 1; }
inline u32 lanes_below_or_equal() { return lanes_equal() | lanes_below(); }
inline u32 lanes_above() { return ~lanes_below_or_equal(); }
inline u32 lanes_above_or_equal() { return ~lanes_below(); }

inline u64 nanoseconds() { return static_cast<u64>(clock64()); }
inline u32 dynamic_shared_size() { return static_cast<u32>(kbemu_dynamic_shared_bytes()); }

}  // namespace kbemu::ptx
