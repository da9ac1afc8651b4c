// Shared memory of CUB's block-wide primitives. It is touched exactly where CUB says that it may be, so that a caller
// who uses one TempStorage twice without a barrier between has the race here that he has on a device.
#pragma once
#include "kbemu/barriers.h"
#include "kbemu/cooperative_groups/lanes.h"
#include "kbemu/memory_access.h"
#include "kbemu/shuffle.h"

namespace kbemu {

// An array that needs no constructor, as `__shared__` variables and unions of them demand.
template <class T, int count>
class SharedItems {
public:
    T get(int index, const Site& site) const { return load(reinterpret_cast<const T*>(bytes_) + index, site); }
    void put(int index, const T& value, const Site& site) { store(reinterpret_cast<T*>(bytes_) + index, value, site); }
    // All items, to be read without further checks.
    const T* all(const Site& site) const {
        kbemu_access(bytes_, sizeof bytes_, false, &site);
        return reinterpret_cast<const T*>(bytes_);
    }

private:
    alignas(T) unsigned char bytes_[count * sizeof(T)];
};

// For primitives whose threads may end by touching only what they touch first the next time: says that a thread still
// uses the storage of the block.
class UseMark {
public:
    void begin(const Site& site) {
        if (self->linear == 0) mark_.put(0, 0, site);
    }
    void end(const Site& site) { mark_.get(0, site); }

private:
    SharedItems<int, 1> mark_;
};

// Of primitives that need no shared memory.
struct NoStorage {
    char unused;
};

// The storage of a primitive that was constructed without one.
template <class Primitive>
inline typename Primitive::TempStorage& private_storage(const Site& site) {
    return shared<typename Primitive::TempStorage, Primitive>("the private storage of a cub primitive", site);
}

inline void check_block_size(unsigned threads, const Site& site) {
    if (threads_in_block() == threads) return;
    kbemu_finding("launch_limit", "the block has not the size that the cub primitive was made for", &site);
}

inline unsigned lanes_of_warp() {
    const unsigned remaining = threads_in_block() - (self->linear - self->lane);
    return remaining >= kWarpSize ? kFullMask : (1u << remaining) - 1;
}

// Only some threads get a result; what the others see is undefined.
template <class T>
inline T result_for(bool defined, T value) {
    if (!defined) poison(value);
    return value;
}

}  // namespace kbemu
