// Every memory access of a checked build, and what orders it.
#pragma once
#include "engine.h"

namespace kbemu {

struct Access {
    const volatile void* address;
    std::size_t size;
    bool writes;
    bool atomic;
    Place place;
};

void check_access(const Access& access);

// No atomic will follow any more: the thread ends, or has reached a barrier.
void checker_tells_doubtful_reads(ThreadState& thread);

// Threads of the block start without a past, and its shared memory is uninitialised.
void checker_forgets(Block& block);
// A launch starts after all earlier ones.
void checker_starts_launch();

void checker_passes_block_barrier(Block& block);
void checker_passes_grid_barrier();
// Called by every participant once the collective is complete.
void checker_synchronises_lanes(ThreadState& thread, unsigned participants);
void checker_fences(ThreadState& thread, FenceScope scope);
// An atomic or volatile access: a write publishes what was fenced, a read acquires what others published.
void checker_publishes(ThreadState& thread, const volatile void* address);
void checker_acquires(ThreadState& thread, const volatile void* address);
// Barriers of some threads of a block order everything before the arrival with everything after the barrier.
void checker_arrives(ThreadState& thread, Knowledge& barrier);
void checker_leaves(ThreadState& thread, const Knowledge& barrier);

}  // namespace kbemu
