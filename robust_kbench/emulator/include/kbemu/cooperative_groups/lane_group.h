// What tiles of at most a warp and coalesced groups have in common: collectives over the lanes of a mask, with members
// named by rank.
#pragma once
#include "kbemu/cooperative_groups/thread_group.h"
#include "kbemu/shuffle.h"
#include "kbemu/votes.h"

namespace cooperative_groups {

class lane_group : public thread_group {
public:
    unsigned thread_rank() const { return kbemu::rank_in(mask()); }
    unsigned size() const { return __builtin_popcount(mask()); }
    unsigned num_threads() const { return size(); }
    unsigned meta_group_rank() const { return meta_group_rank_; }
    unsigned meta_group_size() const { return meta_group_size_; }

    void sync(KBEMU_HERE) const { kbemu::kbemu_warp_sync(mask(), "cooperative_groups::sync", &site); }

    template <class T>
    T shfl(T value, int source_rank, KBEMU_HERE) const {
        return exchange(value, source_rank, "shfl", site);
    }

    // A rank outside the group leaves the caller its own value.
    template <class T>
    T shfl_up(T value, unsigned delta, KBEMU_HERE) const {
        const unsigned rank = thread_rank();
        return exchange(value, delta <= rank ? rank - delta : rank, "shfl_up", site);
    }

    template <class T>
    T shfl_down(T value, unsigned delta, KBEMU_HERE) const {
        const unsigned rank = thread_rank();
        return exchange(value, delta < size() - rank ? rank + delta : rank, "shfl_down", site);
    }

    int any(int predicate, KBEMU_HERE) const { return kbemu_vote(predicate, "any", site) != 0; }
    int all(int predicate, KBEMU_HERE) const { return kbemu_vote(!predicate, "all", site) == 0; }

    unsigned ballot(int predicate, KBEMU_HERE) const {
        return kbemu::lanes_to_ranks(kbemu_vote(predicate, "ballot", site), mask());
    }

    template <class T>
    unsigned match_any(T value, KBEMU_HERE) const {
        return kbemu::lanes_to_ranks(kbemu::match_any(mask(), value, "match_any", site), mask());
    }

    template <class T>
    unsigned match_all(T value, int& predicate, KBEMU_HERE) const {
        return kbemu::lanes_to_ranks(kbemu::match_all(mask(), value, &predicate, "match_all", site), mask());
    }

    // Not part of CUDA: for the collectives outside this class.
    unsigned kbemu_lanes() const { return mask(); }

protected:
    lane_group(unsigned lanes, unsigned meta_rank, unsigned meta_size)
        : thread_group(thread_scope_kind::lanes, lanes), meta_group_rank_(meta_rank), meta_group_size_(meta_size) {}

    template <class T>
    T exchange(T value, unsigned source_rank, const char* name, const kbemu::Site& site) const {
        const int lane = kbemu::lane_of_rank(mask(), source_rank);
        if (lane >= 0) return kbemu::shuffle_from(mask(), value, lane, name, site);
        kbemu::shuffle_from(mask(), value, kbemu::self->lane, name, site);
        kbemu::kbemu_finding("inactive_lane", "reads the value of a rank that the group does not have", &site);
        kbemu::poison(value);
        return value;
    }

private:
    unsigned kbemu_vote(int predicate, const char* name, const kbemu::Site& site) const {
        return kbemu::kbemu_warp_vote(mask(), predicate, name, &site);
    }

    unsigned meta_group_rank_;
    unsigned meta_group_size_;
};

class coalesced_group : public lane_group {
public:
    // Not part of CUDA: groups come from coalesced_threads() and from partitions.
    struct kbemu_members {
        unsigned lanes, meta_rank = 0, meta_size = 1;
    };
    explicit coalesced_group(kbemu_members members)
        : lane_group(members.lanes, members.meta_rank, members.meta_size) {}
};

inline coalesced_group coalesced_threads(KBEMU_HERE) {
    return coalesced_group({kbemu::kbemu_active_mask(&site)});
}

}  // namespace cooperative_groups
