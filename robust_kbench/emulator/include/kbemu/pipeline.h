// cuda::pipeline: copies in stages, of one thread or of a block.
#pragma once
#include "kbemu/async_copy.h"
#include "kbemu/block_barrier.h"

namespace kbemu {

// Copies units of which an asynchronous copy exists late, others at once.
template <unsigned unit, class Group>
inline void start_units(const Group& group, char* to, const char* from, std::size_t bytes, const Site& site) {
    for (std::size_t at = unit * group.thread_rank(); at < bytes; at += unit * group.size()) {
        async_copies().start(to + at, from + at, unit, unit, site);
    }
}

template <class Group>
inline void start_group_copy(const Group& group, void* to, const void* from, std::size_t bytes, const Site& site) {
    const std::size_t offsets = reinterpret_cast<std::size_t>(to) | reinterpret_cast<std::size_t>(from) | bytes;
    auto* target = static_cast<char*>(to);
    const auto* source = static_cast<const char*>(from);
    if (offsets % 16 == 0) {
        start_units<16>(group, target, source, bytes, site);
    } else if (offsets % 8 == 0) {
        start_units<8>(group, target, source, bytes, site);
    } else if (offsets % 4 == 0) {
        start_units<4>(group, target, source, bytes, site);
    } else {
        group_copy(group, to, from, bytes, site);
    }
}

}  // namespace kbemu

namespace cuda {

enum class pipeline_role { producer, consumer };

// For each stage, who has filled it and who has emptied it.
template <thread_scope Scope, unsigned char Stages>
struct pipeline_shared_state {
    barrier<Scope> filled[Stages], emptied[Stages];
};

template <thread_scope Scope>
class pipeline;

// The pipeline of one thread is the sequence of its commits.
template <>
class pipeline<thread_scope_thread> {
public:
    pipeline() = default;
    pipeline(const pipeline&) = delete;
    pipeline(pipeline&&) = default;

    void producer_acquire() {}
    void producer_commit() {
        kbemu::async_copies().commit();
        ++committed_;
    }
    void consumer_wait() {
        ++consumed_;
        kbemu::async_copies().wait(committed_ - consumed_);
    }
    void consumer_release() {}
    bool quit() { return true; }

private:
    unsigned committed_ = 0, consumed_ = 0;
};

template <thread_scope Scope>
class pipeline {
public:
    using Barrier = barrier<Scope>;

    pipeline(Barrier* filled, Barrier* emptied, unsigned stages)
        : filled_(filled), emptied_(emptied), stages_(stages) {}
    pipeline(const pipeline&) = delete;
    pipeline(pipeline&&) = default;

    void producer_acquire(KBEMU_HERE) { emptied_[head_ % stages_].wait_parity(!parity(head_), site); }

    // The copies of this thread end here: other threads wait for them, and only it can carry them out.
    void producer_commit(KBEMU_HERE) {
        kbemu::async_copies().wait_all();
        (void)filled_[head_ % stages_].arrive(1, site);
        ++head_;
    }

    void consumer_wait(KBEMU_HERE) { filled_[tail_ % stages_].wait_parity(parity(tail_), site); }

    void consumer_release(KBEMU_HERE) {
        (void)emptied_[tail_ % stages_].arrive(1, site);
        ++tail_;
    }

    bool quit() { return true; }

private:
    bool parity(unsigned step) const { return step / stages_ % 2; }

    Barrier *filled_, *emptied_;
    unsigned stages_;
    unsigned head_ = 0, tail_ = 0;
};

inline pipeline<thread_scope_thread> make_pipeline() {
    return {};
}

template <class Group, thread_scope Scope, unsigned char Stages>
inline pipeline<Scope> make_pipeline(
    const Group& group, pipeline_shared_state<Scope, Stages>* state, unsigned producers, unsigned consumers) {
    if (group.thread_rank() == 0) {
        for (unsigned stage = 0; stage < Stages; ++stage) {
            init(&state->filled[stage], producers);
            init(&state->emptied[stage], consumers);
        }
    }
    group.sync();
    return {state->filled, state->emptied, Stages};
}

// Every thread is producer and consumer.
template <class Group, thread_scope Scope, unsigned char Stages>
inline pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state) {
    return make_pipeline(group, state, group.size(), group.size());
}

template <class Group, thread_scope Scope, unsigned char Stages>
inline pipeline<Scope> make_pipeline(
    const Group& group, pipeline_shared_state<Scope, Stages>* state, ::std::size_t producers) {
    return make_pipeline(group, state, producers, group.size() - producers);
}

template <class Group, thread_scope Scope, unsigned char Stages>
inline pipeline<Scope> make_pipeline(
    const Group& group, pipeline_shared_state<Scope, Stages>* state, pipeline_role role, KBEMU_HERE) {
    const int producers =
        kbemu::kbemu_block_sync(kbemu::kBarrierCount, role == pipeline_role::producer, &site);
    return make_pipeline(group, state, static_cast<::std::size_t>(producers));
}

// Waits for all commits but the last `pending`.
template <unsigned pending>
inline void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>&) {
    kbemu::async_copies().wait(pending);
}

template <class T, class Size, thread_scope Scope>
inline void memcpy_async(T* to, const T* from, Size bytes, pipeline<Scope>&, KBEMU_HERE) {
    kbemu::start_group_copy(kbemu::OneThread(), to, from, bytes, site);
}

template <class Group, class T, class Size, thread_scope Scope>
inline void memcpy_async(const Group& group, T* to, const T* from, Size bytes, pipeline<Scope>&, KBEMU_HERE) {
    kbemu::start_group_copy(group, to, from, bytes, site);
}

}  // namespace cuda
