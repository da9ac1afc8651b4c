#include "order.h"

#include <algorithm>
#include <map>
#include <utility>

#include "checker.h"

namespace kbemu {
namespace {

// What was published at each address that is used for synchronisation, in this launch.
std::map<std::uintptr_t, Knowledge> published;
// The same for those that are fenced for their own block only.
std::map<std::pair<std::uintptr_t, std::uint32_t>, Knowledge> published_in_block;

bool knows(const Knowledge* knowledge, const Stamp& stamp) {
    if (!knowledge) return false;
    const auto epoch = knowledge->epochs.find(stamp.block);
    if (epoch != knowledge->epochs.end() && stamp.epoch < epoch->second) return true;
    const auto clock = knowledge->clocks.find(Knowledge::key(stamp.block, stamp.thread));
    return clock != knowledge->clocks.end() && stamp.clock <= clock->second;
}

}  // namespace

bool is_before(const Stamp& stamp, const ThreadState& thread) {
    const BlockClock& block = thread.block->clock;
    if (stamp.block == block.number) {
        if (stamp.thread == thread.facts.linear || stamp.epoch < block.epoch) return true;
        const bool same_warp = stamp.thread / kWarpSize == thread.facts.warp;
        if (same_warp && stamp.clock <= thread.clock.known[stamp.thread % kWarpSize]) return true;
    }
    return knows(thread.clock.acquired.get(), stamp) || knows(block.acquired.get(), stamp);
}

void forget_what_was_published() {
    published.clear();
    published_in_block.clear();
}

void checker_passes_block_barrier(Block& block) {
    ++block.clock.epoch;
    for (ThreadState& thread : block.threads) {
        checker_tells_doubtful_reads(thread);
        ++thread.clock.now;
        if (!thread.clock.acquired) continue;
        if (!block.clock.acquired) block.clock.acquired = std::make_unique<Knowledge>();
        block.clock.acquired->merge(*thread.clock.acquired);
        thread.clock.acquired.reset();
    }
}

void checker_passes_grid_barrier() { checker_starts_launch(); }

void checker_synchronises_lanes(ThreadState& thread, unsigned participants) {
    // Every participant runs this before any of them touches memory again; the first one does it for all.
    Block& block = *thread.block;
    const unsigned warp = thread.facts.warp;
    if (thread.clock.synchronised) {
        thread.clock.synchronised = false;
        return;
    }
    std::uint32_t known[kWarpSize] = {};
    Knowledge acquired;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if (!(participants >> lane & 1)) continue;
        ThreadState& other = block.thread(warp, lane);
        for (unsigned i = 0; i < kWarpSize; ++i) known[i] = std::max(known[i], other.clock.known[i]);
        known[lane] = std::max(known[lane], other.clock.now);
        if (other.clock.acquired) acquired.merge(*other.clock.acquired);
    }
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if (!(participants >> lane & 1)) continue;
        ThreadState& other = block.thread(warp, lane);
        std::copy(known, known + kWarpSize, other.clock.known);
        ++other.clock.now;
        other.clock.synchronised = &other != &thread;
        if (!acquired.empty()) other.clock.acquired = std::make_unique<Knowledge>(acquired);
    }
}

void checker_fences(ThreadState& thread, FenceScope scope) {
    BlockClock& block = thread.block->clock;
    Fence fence{thread.clock.now++, block.epoch};
    std::copy(thread.clock.known, thread.clock.known + kWarpSize, fence.known);
    thread.clock.block_fence = fence;
    block.block_fenced_epoch = block.epoch;
    if (scope == kFenceBlock) return;
    thread.clock.device_fence = fence;
    block.device_fenced_epoch = block.epoch;
}

namespace {

void publish(Knowledge& knowledge, const ThreadState& thread, const Fence& fence, std::uint32_t fenced_epoch) {
    const BlockClock& block = thread.block->clock;
    if (fence.epoch == 0 && fenced_epoch == 0) return;
    if (thread.clock.acquired) knowledge.merge(*thread.clock.acquired);
    if (block.acquired) knowledge.merge(*block.acquired);
    // A fence of this thread also covers what a barrier showed it before.
    auto& epoch = knowledge.epochs[block.number];
    epoch = std::max(epoch, fence.epoch == block.epoch ? block.epoch : std::min(fenced_epoch + 1, block.epoch));
    const auto tell = [&](std::uint32_t linear, std::uint32_t until) {
        auto& clock = knowledge.clocks[Knowledge::key(block.number, linear)];
        clock = std::max(clock, until);
    };
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if (fence.known[lane]) tell(thread.facts.warp * kWarpSize + lane, fence.known[lane]);
    }
    tell(thread.facts.linear, fence.clock);
}

}  // namespace

void checker_publishes(ThreadState& thread, const volatile void* address) {
    const auto key = reinterpret_cast<std::uintptr_t>(address);
    const BlockClock& block = thread.block->clock;
    publish(published[key], thread, thread.clock.device_fence, block.device_fenced_epoch);
    publish(published_in_block[{key, block.number}], thread, thread.clock.block_fence, block.block_fenced_epoch);
}

void checker_acquires(ThreadState& thread, const volatile void* address) {
    const auto key = reinterpret_cast<std::uintptr_t>(address);
    const auto acquire = [&](const Knowledge& knowledge) {
        if (knowledge.empty()) return;
        if (!thread.clock.acquired) thread.clock.acquired = std::make_unique<Knowledge>();
        thread.clock.acquired->merge(knowledge);
    };
    if (const auto found = published.find(key); found != published.end()) acquire(found->second);
    const auto found = published_in_block.find({key, thread.block->clock.number});
    if (found != published_in_block.end()) acquire(found->second);
}

void checker_arrives(ThreadState& thread, Knowledge& barrier) {
    const BlockClock& block = thread.block->clock;
    if (thread.clock.acquired) barrier.merge(*thread.clock.acquired);
    barrier.epochs[block.number] = std::max(barrier.epochs[block.number], block.epoch);
    barrier.clocks[Knowledge::key(block.number, thread.facts.linear)] = thread.clock.now++;
}

void checker_leaves(ThreadState& thread, const Knowledge& barrier) {
    if (!thread.clock.acquired) thread.clock.acquired = std::make_unique<Knowledge>();
    thread.clock.acquired->merge(barrier);
}

}  // namespace kbemu
