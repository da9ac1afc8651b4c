// What is ordered before what: the facts that decide whether two accesses race.
//
// Within a block, barriers count epochs. Within a warp, __syncwarp exchanges vector clocks. Across blocks, and between
// threads without a barrier, order comes from a fence, an atomic (or volatile) write, and an atomic or volatile read of
// the same address.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace kbemu {

// Accesses known to lie in the past: of whole blocks up to an epoch, of single threads up to a clock.
struct Knowledge {
    std::unordered_map<std::uint32_t, std::uint32_t> epochs;   // block -> accesses of earlier epochs are ordered
    std::unordered_map<std::uint64_t, std::uint32_t> clocks;   // block and thread -> accesses up to this clock are

    void merge(const Knowledge& other);
    bool empty() const { return epochs.empty() && clocks.empty(); }
    static std::uint64_t key(std::uint32_t block, std::uint32_t thread) {
        return static_cast<std::uint64_t>(block) << 16 | thread;
    }
};

// A thread's latest fence: its own accesses up to the clock came before it, and those of its warp's lanes that it knew
// of then. Epoch 0: none yet.
struct Fence {
    std::uint32_t clock = 0;
    std::uint32_t epoch = 0;
    std::uint32_t known[32] = {};
};

struct ThreadClock {
    std::uint32_t now = 1;
    Fence device_fence, block_fence;  // every fence for the device is one for the block, too
    bool synchronised = false;       // another lane has done this lane's part of the latest __syncwarp
    std::uint32_t known[32] = {};    // per lane of the own warp: accesses up to this clock are ordered
    std::unique_ptr<Knowledge> acquired;
};

struct BlockClock {
    std::uint32_t number = 0;  // of the block in the grid
    std::uint32_t epoch = 1;
    // The latest epoch in which a thread of the block executed a fence.
    std::uint32_t device_fenced_epoch = 0, block_fenced_epoch = 0;
    std::unique_ptr<Knowledge> acquired;
};

}  // namespace kbemu
