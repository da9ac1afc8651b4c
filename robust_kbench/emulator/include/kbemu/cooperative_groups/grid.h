// The grid of a cooperative launch. Clusters belong to compute capability 9.0.
#pragma once
#include "kbemu/cooperative_groups/thread_group.h"

namespace cooperative_groups {

class grid_group : public thread_group {
public:
    struct arrival_token {};

    void sync(KBEMU_HERE) const { kbemu::kbemu_grid_sync(&site); }
    // As for thread_block, the barrier meets at wait().
    arrival_token barrier_arrive() const { return {}; }
    void barrier_wait(arrival_token&&, KBEMU_HERE) const { kbemu::kbemu_grid_sync(&site); }

    static unsigned long long size() { return grid_threads(); }
    static unsigned long long num_threads() { return grid_threads(); }
    static unsigned long long thread_rank() { return grid_rank(); }
    static unsigned long long block_rank() { return grid_block_rank(); }
    static unsigned long long num_blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
    static dim3 group_dim() { return gridDim; }
    static dim3 dim_blocks() { return gridDim; }
    static dim3 block_index() { return blockIdx; }

private:
    grid_group() : thread_group(thread_scope_kind::grid, 0) {}
    friend grid_group this_grid();
};

inline grid_group this_grid() {
    return {};
}

class cluster_group : public thread_group {
public:
    unsigned block_rank() const { return 0; }
    unsigned num_blocks() const { return 1; }
    dim3 block_index() const { return {0, 0, 0}; }
    dim3 dim_blocks() const { return {}; }
    template <class T>
    T* map_shared_rank(T* address, int) const {
        return address;
    }

private:
    cluster_group() : thread_group(thread_scope_kind::block, 0) {}
    friend cluster_group this_cluster(kbemu::Site);
};

inline cluster_group this_cluster(KBEMU_HERE) {
    kbemu::kbemu_unsupported("cooperative_groups::this_cluster (thread block clusters)", &site);
}

}  // namespace cooperative_groups
