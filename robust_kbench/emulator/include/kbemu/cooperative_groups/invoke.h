// One member of a group calls a function for all.
#pragma once
#include <utility>

#include "kbemu/cooperative_groups/lane_group.h"

namespace cooperative_groups {

template <class Group, class Function, class... Arguments>
inline void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
    if (group.thread_rank() == 0) std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
}

template <class Function, class... Arguments>
inline auto invoke_one_broadcast(const lane_group& group, Function&& function, Arguments&&... arguments) {
    std::decay_t<decltype(function(arguments...))> result{};
    if (group.thread_rank() == 0) result = std::forward<Function>(function)(std::forward<Arguments>(arguments)...);
    return group.shfl(result, 0);
}

}  // namespace cooperative_groups
