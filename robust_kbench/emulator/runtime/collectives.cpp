// Collectives of a warp: they end when all lanes of the mask that still run have arrived with the same intrinsic and
// mask. The last lane to arrive completes the collective and goes on without a switch.
#include <cstdio>
#include <cstring>

#include "checker.h"
#include "engine.h"

namespace kbemu {
namespace {

constexpr std::size_t kMaxShuffleBytes = 64;

bool same_collective(const Arrival& a, const Arrival& b) {
    return a.mask == b.mask && (a.intrinsic == b.intrinsic || std::strcmp(a.intrinsic, b.intrinsic) == 0);
}

template <class Function>
void for_each_lane(unsigned lanes, Function&& function) {
    for (; lanes; lanes &= lanes - 1) function(static_cast<unsigned>(__builtin_ctz(lanes)));
}

std::string hexadecimal(unsigned mask) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", mask);
    return text;
}

// Lanes of the thread's warp that wait in the same collective as it does.
unsigned companions(Block& block, const ThreadState& thread) {
    unsigned lanes = 0;
    const unsigned warp = thread.facts.warp;
    for_each_lane(block.warp_lanes[warp].waiting, [&](unsigned lane) {
        if (same_collective(block.thread(warp, lane).arrival, thread.arrival)) lanes |= 1u << lane;
    });
    return lanes;
}

void deliver_gathered(Block& block, unsigned warp, unsigned lanes, const Arrival& arrival) {
    for_each_lane(lanes, [&](unsigned other) {
        const void* value = block.thread(warp, other).arrival.value;
        std::memcpy(static_cast<char*>(arrival.all) + other * arrival.size, value, arrival.size);
    });
}

// Shuffled values are all read before any of them is replaced.
void deliver_shuffled(Block& block, unsigned warp, unsigned lanes) {
    char values[kWarpSize][kMaxShuffleBytes];
    for_each_lane(lanes, [&](unsigned lane) {
        const Arrival& arrival = block.thread(warp, lane).arrival;
        std::memcpy(values[lane], arrival.value, arrival.size);
    });
    for_each_lane(lanes, [&](unsigned lane) {
        const Arrival& arrival = block.thread(warp, lane).arrival;
        const bool reads = arrival.from >= 0 && (lanes >> arrival.from & 1);
        if (reads) std::memcpy(arrival.value, values[arrival.from], arrival.size);
    });
}

void deliver(Block& block, unsigned warp, unsigned lanes) {
    unsigned ballot = 0;
    for_each_lane(lanes, [&](unsigned lane) {
        if (block.thread(warp, lane).arrival.predicate) ballot |= 1u << lane;
    });
    const Arrival& any = block.thread(warp, static_cast<unsigned>(__builtin_ctz(lanes))).arrival;
    if (any.value && !any.all) deliver_shuffled(block, warp, lanes);
    for_each_lane(lanes, [&](unsigned lane) {
        Arrival& arrival = block.thread(warp, lane).arrival;
        arrival.participants = lanes;
        arrival.ballot = ballot;
        if (arrival.all) deliver_gathered(block, warp, lanes, arrival);
    });
}

// Wakes all participants but `running`, which is not asleep.
void complete(Block& block, unsigned warp, unsigned lanes, const ThreadState* running) {
    deliver(block, warp, lanes);
    engine->note_progress();
    block.warp_lanes[warp].waiting &= ~lanes;
    for_each_lane(lanes, [&](unsigned lane) {
        ThreadState& thread = block.thread(warp, lane);
        if (&thread != running) engine->make_ready(thread);
    });
}

void wait_for_companions(const Arrival& arrival) {
    ThreadState& thread = engine->current();
    Block& block = *thread.block;
    WarpLanes& warp = block.warp_lanes[thread.facts.warp];
    const unsigned own = 1u << thread.facts.lane;
    engine->count_work();
    thread.arrival = arrival;
    thread.arrival.participants = own;
    if (!(arrival.mask & own)) {
        report("warp_mask", std::string(arrival.intrinsic) + " is called by lane " +
                                std::to_string(thread.facts.lane) + ", which its mask " + hexadecimal(arrival.mask) +
                                " does not name", arrival.place);
        thread.arrival.ballot = arrival.predicate ? own : 0;
        return;
    }
    warp.waiting |= own;
    const unsigned needed = arrival.mask & warp.alive;
    const unsigned here = (needed & ~warp.waiting) ? own : companions(block, thread);
    if ((needed & ~here) == 0) {
        complete(block, thread.facts.warp, here, &thread);
    } else {
        engine->suspend(State::kInWarpCollective);
    }
}

Arrival arrival_of(unsigned mask, const char* intrinsic, const Site* site) {
    Arrival arrival;
    arrival.place = Place::of(site);
    arrival.intrinsic = intrinsic;
    arrival.mask = mask;
    return arrival;
}

}  // namespace

// A lane that ended no longer counts among those that a collective waits for.
void complete_collectives_without(ThreadState& ended) {
    Block& block = *ended.block;
    const unsigned warp = ended.facts.warp;
    WarpLanes& lanes = block.warp_lanes[warp];
    lanes.alive &= ~(1u << ended.facts.lane);
    for_each_lane(lanes.waiting, [&](unsigned lane) {
        if (!(lanes.waiting >> lane & 1)) return;  // completed together with an earlier one
        const ThreadState& thread = block.thread(warp, lane);
        const unsigned here = companions(block, thread);
        if ((thread.arrival.mask & lanes.alive & ~here) == 0) complete(block, warp, here, nullptr);
    });
}

// __activemask() asks who is here: those who reached the same place before the warp could do nothing else.
bool resolve_active_masks(Block& block) {
    for (ThreadState& first : block.threads) {
        if (first.state != State::kAsksForActiveMask) continue;
        unsigned together = 0;
        for_each_lane(block.warp_lanes[first.facts.warp].alive, [&](unsigned lane) {
            const ThreadState& other = block.thread(first.facts.warp, lane);
            const Site &a = other.arrival.place.site, &b = first.arrival.place.site;
            const bool same = a.line() == b.line() && a.column() == b.column();
            if (other.state == State::kAsksForActiveMask && same) together |= 1u << lane;
        });
        complete(block, first.facts.warp, together, nullptr);
        return true;
    }
    return false;
}

bool force_warp_collective(Block& block) {
    for (ThreadState& thread : block.threads) {
        if (thread.state != State::kInWarpCollective) continue;
        const unsigned here = companions(block, thread);
        const unsigned missing = thread.arrival.mask & block.warp_lanes[thread.facts.warp].alive & ~here;
        self = &thread.facts;
        report("warp_divergence", std::string(thread.arrival.intrinsic) + " names lanes " + hexadecimal(missing) +
                                      " in its mask, which never arrive (arrived: " + hexadecimal(here) + ")",
               thread.arrival.place);
        self = nullptr;
        complete(block, thread.facts.warp, here, nullptr);
        return true;
    }
    return false;
}

}  // namespace kbemu

using namespace kbemu;

extern "C" {

unsigned kbemu_warp_sync(unsigned mask, const char* intrinsic, const Site* site) {
    wait_for_companions(arrival_of(mask, intrinsic, site));
    ThreadState& thread = engine->current();
    if (settings.checked) checker_synchronises_lanes(thread, thread.arrival.participants);
    return thread.arrival.participants;
}

unsigned kbemu_warp_shuffle(
    unsigned mask, void* value, std::size_t size, int from, const char* intrinsic, const Site* site) {
    Arrival arrival = arrival_of(mask, intrinsic, site);
    arrival.value = value;
    arrival.size = size;
    arrival.from = from < static_cast<int>(kWarpSize) ? from : -1;
    wait_for_companions(arrival);
    return engine->current().arrival.participants;
}

unsigned kbemu_warp_vote(unsigned mask, int predicate, const char* intrinsic, const Site* site) {
    Arrival arrival = arrival_of(mask, intrinsic, site);
    arrival.predicate = predicate;
    wait_for_companions(arrival);
    return engine->current().arrival.ballot;
}

unsigned kbemu_warp_gather(
    unsigned mask, const void* value, std::size_t size, void* all, const char* intrinsic, const Site* site) {
    Arrival arrival = arrival_of(mask, intrinsic, site);
    arrival.value = const_cast<void*>(value);
    arrival.size = size;
    arrival.all = all;
    wait_for_companions(arrival);
    return engine->current().arrival.participants;
}

unsigned kbemu_active_mask(const Site* site) {
    engine->current().arrival = arrival_of(0, "__activemask", site);
    engine->suspend(State::kAsksForActiveMask);
    return engine->current().arrival.participants;
}
}
