// cuda::barrier: threads arrive, and later wait for the phase in which they arrived to end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>

#include "kbemu/aligned_size.h"
#include "kbemu/atomic_update.h"
#include "kbemu/cooperative_groups/memcpy_async.h"
#include "kbemu/thread_scope.h"

namespace kbemu {

// What happens when a phase ends, unless the user says otherwise.
struct NoCompletion {
    void operator()() const {}
};

// A group for copies that one thread makes alone.
struct OneThread {
    unsigned thread_rank() const { return 0; }
    unsigned size() const { return 1; }
};

}  // namespace kbemu

namespace cuda {

template <thread_scope Scope, class Completion = kbemu::NoCompletion>
class barrier {
public:
    using arrival_token = ::std::uint64_t;

    barrier() = default;
    explicit barrier(::std::ptrdiff_t expected, Completion completion = {}) : completion_(completion) {
        state_.expected = state_.pending = static_cast<::std::uint64_t>(expected);
        state_.phase = 0;
    }
    barrier(const barrier&) = delete;

    friend void init(barrier* object, ::std::ptrdiff_t expected, Completion completion = {}) {
        new (object) barrier(expected, completion);
    }

    static constexpr ::std::ptrdiff_t max() { return (1 << 20) - 1; }

    [[nodiscard]] arrival_token arrive(::std::ptrdiff_t count = 1, KBEMU_HERE) { return arrive_with(count, 0, site); }

    void wait(arrival_token&& phase, KBEMU_HERE) const {
        while (!ended(phase, site)) kbemu::kbemu_yield();
    }
    bool try_wait(arrival_token&& phase, KBEMU_HERE) const { return ended(phase, site); }

    // Phases are counted from 0; waits for the end of the last one of this parity.
    void wait_parity(bool parity, KBEMU_HERE) const {
        while (!try_wait_parity(parity, site)) kbemu::kbemu_yield();
    }
    bool try_wait_parity(bool parity, KBEMU_HERE) const { return (load(site).phase & 1) != parity; }

    void arrive_and_wait(KBEMU_HERE) { wait(arrive(1, site), site); }
    void arrive_and_drop(KBEMU_HERE) { arrive_with(1, 1, site); }

private:
    // One word, so that an arrival is one atomic operation.
    struct State {
        ::std::uint64_t expected : 20, pending : 20, phase : 24;
    };

    // The last one to arrive completes the phase. Threads of a block take turns, so nobody comes between.
    arrival_token arrive_with(::std::ptrdiff_t count, unsigned dropped, const kbemu::Site& site) {
        const auto arrived = [&](State state) {
            state.expected -= dropped;
            state.pending -= count;
            if (state.pending == 0) {
                completion_();
                state.pending = state.expected;
                ++state.phase;
            }
            return state;
        };
        kbemu::kbemu_fence(kbemu::kFenceBlock);
        return kbemu::atomic_update(&state_, arrived, site).phase;
    }

    bool ended(arrival_token phase, const kbemu::Site& site) const { return load(site).phase != phase; }

    State load(const kbemu::Site& site) const {
        kbemu::kbemu_atomic(&state_, sizeof(State), false, &site);
        State state;
        __atomic_load(&state_, &state, __ATOMIC_SEQ_CST);
        return state;
    }

    State state_;
    [[no_unique_address]] Completion completion_;
};

// A copy that belongs to a barrier's phase. It happens at once, so it has ended when the phase ends.
template <class T, class Size, thread_scope Scope, class Completion>
inline void memcpy_async(T* to, const T* from, Size bytes, barrier<Scope, Completion>&, KBEMU_HERE) {
    kbemu::group_copy(kbemu::OneThread(), to, from, bytes, site);
}

template <class Group, class T, class Size, thread_scope Scope, class Completion>
inline void memcpy_async(
    const Group& group, T* to, const T* from, Size bytes, barrier<Scope, Completion>&, KBEMU_HERE) {
    kbemu::group_copy(group, to, from, bytes, site);
}

}  // namespace cuda
