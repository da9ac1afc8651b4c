#include "clocks.h"

#include <algorithm>

namespace kbemu {

void Knowledge::merge(const Knowledge& other) {
    for (const auto& [block, epoch] : other.epochs) {
        auto& mine = epochs[block];
        mine = std::max(mine, epoch);
    }
    for (const auto& [thread, clock] : other.clocks) {
        auto& mine = clocks[thread];
        mine = std::max(mine, clock);
    }
}

}  // namespace kbemu
