// cooperative_groups::inclusive_scan and exclusive_scan over the lanes of a tile or a coalesced group.
#pragma once
#include "kbemu/cooperative_groups/operators.h"
#include "kbemu/cooperative_groups/tile.h"
#include "kbemu/lane_tree.h"

namespace cooperative_groups {

template <class T, class Combine = plus<T>>
inline T inclusive_scan(const lane_group& group, T value, Combine&& combine = {}, KBEMU_HERE) {
    kbemu::WarpValues<T> values(group.kbemu_lanes(), value, "cooperative_groups::inclusive_scan", site);
    return kbemu::scan_lanes(values, kbemu::self->lane, true, value, combine);
}

// Rank 0 gets T(), which is the identity of sums.
template <class T, class Combine = plus<T>>
inline T exclusive_scan(const lane_group& group, T value, Combine&& combine = {}, KBEMU_HERE) {
    kbemu::WarpValues<T> values(group.kbemu_lanes(), value, "cooperative_groups::exclusive_scan", site);
    return kbemu::scan_lanes(values, kbemu::self->lane, false, T(), combine);
}

}  // namespace cooperative_groups
