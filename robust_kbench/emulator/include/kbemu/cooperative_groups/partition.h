// Groups that are cut out of others at run time.
#pragma once
#include "kbemu/cooperative_groups/tile.h"

namespace cooperative_groups {

// A tile of a block whose size is a run-time value.
class dynamic_tile : public thread_group {
public:
    explicit dynamic_tile(unsigned size) : thread_group(thread_scope_kind::lanes, existing_lanes(size)) {}

private:
    static unsigned existing_lanes(unsigned size) {
        const unsigned warp_start = kbemu::self->linear - kbemu::self->lane;
        const unsigned lanes = kbemu::threads_in_block() - warp_start;
        return kbemu::aligned_lanes(size) & (lanes >= kbemu::kWarpSize ? ~0u : (1u << lanes) - 1);
    }
};

inline thread_group tiled_partition(const thread_group&, unsigned size, KBEMU_HERE) {
    if (size > kbemu::kWarpSize || !is_tile_size(size)) {
        kbemu::kbemu_trap("tiled_partition: the size of a tile is a power of two up to 32", &site);
    }
    return dynamic_tile(size);
}

// Consecutive ranks of the parent; the last group may be smaller.
inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) {
    const unsigned mine = parent.thread_rank() / size;
    unsigned lanes = 0;
    for (unsigned rank = mine * size; rank < (mine + 1) * size && rank < parent.size(); ++rank) {
        lanes |= 1u << kbemu::lane_of_rank(parent.kbemu_lanes(), rank);
    }
    return coalesced_group({lanes, mine, (parent.size() + size - 1) / size});
}

// The members with the caller's predicate.
template <class Group>
inline coalesced_group binary_partition(const Group& parent, bool predicate, KBEMU_HERE) {
    const unsigned all = parent.kbemu_lanes();
    const unsigned yes = kbemu::kbemu_warp_vote(all, predicate, "binary_partition", &site);
    const unsigned no = kbemu::kbemu_warp_vote(all, !predicate, "binary_partition", &site);
    return coalesced_group({predicate ? yes : no, predicate, 2});
}

// The members with the caller's label.
template <class Group, class Label>
inline coalesced_group labeled_partition(const Group& parent, Label label, KBEMU_HERE) {
    const kbemu::WarpValues<Label> labels(parent.kbemu_lanes(), label, "labeled_partition", site);
    unsigned rank = 0, groups = 0;
    for (unsigned lane = 0; lane < kbemu::kWarpSize; ++lane) {
        if (!labels.has(lane)) continue;
        const unsigned same = kbemu::matching_lanes(labels, labels[lane]);
        if (lane != static_cast<unsigned>(__builtin_ctz(same))) continue;
        if (labels[lane] < label) ++rank;
        ++groups;
    }
    return coalesced_group({kbemu::matching_lanes(labels, label), rank, groups});
}

}  // namespace cooperative_groups
