// Asynchronous copies from global to shared memory. A copy is carried out as late as the program allows: when its
// thread waits for it. So who reads before, reads what was there before, and the checker sees it.
//
// Not seen: another thread that still reads the old content when the copy is started.
#pragma once
#include <cstdlib>

#include "kbemu/runtime.h"

namespace kbemu {

// The checker shall see the copies as accesses at the user's line, and not see the bookkeeping.
#define KBEMU_UNSEEN __attribute__((noinline, no_sanitize("thread")))

struct AsyncCopy {
    void* destination;
    const void* source;
    unsigned size;   // 4, 8 or 16
    unsigned valid;  // bytes to read; zeros fill the rest
    unsigned group;
    Site site;
};

// The copies that one thread has started and not yet waited for, oldest first. No container of the standard library:
// the compiler would instrument its functions.
class AsyncCopies {
public:
    KBEMU_UNSEEN void start(void* destination, const void* source, unsigned size, unsigned valid, const Site& site) {
        if (size != 4 && size != 8 && size != 16) kbemu_unsupported("an asynchronous copy of this size", &site);
        if (end_ == capacity_) {
            capacity_ = 2 * capacity_ + 8;
            copies_ = static_cast<AsyncCopy*>(std::realloc(copies_, capacity_ * sizeof(AsyncCopy)));
        }
        copies_[end_++] = {destination, source, size, valid < size ? valid : size, group_, site};
    }

    KBEMU_UNSEEN void commit() { ++group_; }

    // Waits until at most `pending` of the committed groups are not done.
    KBEMU_UNSEEN void wait(unsigned pending) {
        while (first_ < end_ && group_ - copies_[first_].group > pending) finish_first();
        if (first_ == end_) first_ = end_ = 0;
    }

    KBEMU_UNSEEN void wait_all() {
        while (first_ < end_) finish_first();
        first_ = end_ = 0;
    }

    // The queue of the running thread.
    KBEMU_UNSEEN static AsyncCopies& own() {
        static thread_local AsyncCopies* queues[kThreads];
        AsyncCopies*& bucket = queues[self->linear % kThreads];
        AsyncCopies* queue = bucket;
        while (queue && queue->owner_ != self) queue = queue->next_;
        if (!queue) bucket = queue = new AsyncCopies(self, bucket);
        queue->forget_earlier_runs();
        return *queue;
    }

private:
    static constexpr unsigned kThreads = 1024;

    KBEMU_UNSEEN AsyncCopies(const Thread* owner, AsyncCopies* next) : owner_(owner), next_(next), run_(owner->run) {}

    // What an earlier block in this place did not wait for, nobody can see any more.
    KBEMU_UNSEEN void forget_earlier_runs() {
        if (run_ != owner_->run) first_ = end_ = 0;
        run_ = owner_->run;
    }

    KBEMU_UNSEEN void finish_first() {
        const AsyncCopy& copy = copies_[first_++];
        char bytes[16] = {};
        if (copy.valid != 0) kbemu_access(copy.source, copy.valid, false, &copy.site);
        __builtin_memcpy(bytes, copy.source, copy.valid);
        kbemu_access(copy.destination, copy.size, true, &copy.site);
        __builtin_memcpy(copy.destination, bytes, copy.size);
    }

    const Thread* owner_;
    AsyncCopies* next_;
    std::uint64_t run_;
    AsyncCopy* copies_ = nullptr;
    unsigned first_ = 0, end_ = 0, capacity_ = 0;
    unsigned group_ = 0;
};

inline AsyncCopies& async_copies() {
    return AsyncCopies::own();
}

}  // namespace kbemu
