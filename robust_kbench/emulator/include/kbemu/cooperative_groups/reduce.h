// cooperative_groups::reduce over the lanes of a tile or a coalesced group.
#pragma once
#include "kbemu/cooperative_groups/operators.h"
#include "kbemu/cooperative_groups/tile.h"
#include "kbemu/lane_tree.h"

namespace cooperative_groups {

template <class T, class Combine>
inline T reduce(const lane_group& group, T value, Combine&& combine, KBEMU_HERE) {
    kbemu::WarpValues<T> values(group.kbemu_lanes(), value, "cooperative_groups::reduce", site);
    return kbemu::tree_reduce(values, combine);
}

template <unsigned Size, class T, class Combine>
inline T reduce(const warps_tile<Size>&, T, Combine&&, KBEMU_HERE) {
    kbemu::kbemu_unsupported("cooperative_groups::reduce over several warps", &site);
}

}  // namespace cooperative_groups
