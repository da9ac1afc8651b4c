// The group types that need no template: any group, and the block.
#pragma once
#include "kbemu/barriers.h"
#include "kbemu/cooperative_groups/lanes.h"

namespace cooperative_groups {

enum class thread_scope_kind { lanes, warps, block, grid };

// Any group, with its type forgotten.
class thread_group {
public:
    unsigned long long size() const {
        switch (kind_) {
            case thread_scope_kind::lanes: return __builtin_popcount(mask_);
            case thread_scope_kind::warps: return threads_;
            case thread_scope_kind::block: return kbemu::threads_in_block();
            default: return grid_threads();
        }
    }
    unsigned long long num_threads() const { return size(); }

    unsigned long long thread_rank() const {
        switch (kind_) {
            case thread_scope_kind::lanes: return kbemu::rank_in(mask_);
            case thread_scope_kind::warps: return kbemu::self->linear % threads_;
            case thread_scope_kind::block: return kbemu::self->linear;
            default: return grid_rank();
        }
    }

    void sync(KBEMU_HERE) const {
        switch (kind_) {
            case thread_scope_kind::lanes: kbemu::kbemu_warp_sync(mask_, "cooperative_groups::sync", &site); return;
            case thread_scope_kind::warps: sync_warps(site); return;
            case thread_scope_kind::block: kbemu::kbemu_block_sync(kbemu::kBarrierSync, 0, &site); return;
            default: kbemu::kbemu_grid_sync(&site);
        }
    }

    bool is_valid() const { return true; }

protected:
    thread_group(thread_scope_kind kind, unsigned mask, unsigned threads = 0, unsigned meta_rank = 0)
        : kind_(kind), mask_(mask), threads_(threads), meta_rank_(meta_rank) {}

    unsigned mask() const { return mask_; }

    static unsigned long long grid_threads() {
        return 1ull * gridDim.x * gridDim.y * gridDim.z * kbemu::threads_in_block();
    }
    static unsigned long long grid_block_rank() {
        return blockIdx.x + 1ull * gridDim.x * (blockIdx.y + 1ull * gridDim.y * blockIdx.z);
    }
    static unsigned long long grid_rank() {
        return grid_block_rank() * kbemu::threads_in_block() + kbemu::self->linear;
    }

private:
    // A tile of several warps needs a barrier of its own; barrier 0 is the block's.
    void sync_warps(const kbemu::Site& site) const {
        if (meta_rank_ >= 15) kbemu::kbemu_unsupported("more than 15 tiles of several warps", &site);
        const unsigned first = meta_rank_ * threads_;
        const unsigned remaining = kbemu::threads_in_block() - first;
        kbemu::kbemu_named_barrier(1 + meta_rank_, remaining < threads_ ? remaining : threads_, false, &site);
    }

    thread_scope_kind kind_;
    unsigned mask_;
    unsigned threads_;
    unsigned meta_rank_;
};

class thread_block : public thread_group {
public:
    // A split barrier meets at wait(): what a thread does between arrive() and wait() is then not overlapped.
    struct arrival_token {};

    static void sync(KBEMU_HERE) { __syncthreads(site); }
    arrival_token barrier_arrive() const { return {}; }
    void barrier_wait(arrival_token&&, KBEMU_HERE) const { __syncthreads(site); }

    static unsigned thread_rank() { return kbemu::self->linear; }
    static unsigned size() { return kbemu::threads_in_block(); }
    static unsigned num_threads() { return size(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }

private:
    thread_block() : thread_group(thread_scope_kind::block, 0) {}
    friend thread_block this_thread_block();
};

inline thread_block this_thread_block() {
    return {};
}

// Scratch that CUDA needs for tiles of several warps, and that an emulated device does not.
template <unsigned MaximumBlockSize = 1024>
struct block_tile_memory {};

template <unsigned MaximumBlockSize>
inline thread_block this_thread_block(block_tile_memory<MaximumBlockSize>&) {
    return this_thread_block();
}

template <class Group>
inline void sync(const Group& group, KBEMU_HERE) {
    group.sync(site);
}

template <class Group>
inline auto thread_rank(const Group& group) {
    return group.thread_rank();
}

template <class Group>
inline auto group_size(const Group& group) {
    return group.size();
}

}  // namespace cooperative_groups
