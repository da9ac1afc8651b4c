// Tiles whose size is known at compile time.
#pragma once
#include "kbemu/cooperative_groups/lane_group.h"

namespace cooperative_groups {

constexpr bool is_tile_size(unsigned size) {
    return size >= 1 && size <= 1024 && (size & (size - 1)) == 0;
}

// At most a warp.
template <unsigned Size>
class warp_tile : public lane_group {
public:
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    static unsigned thread_rank() { return kbemu::self->lane % Size; }

    template <class T>
    T shfl(T value, int source_rank, KBEMU_HERE) const {
        return lane_group::exchange(value, source_rank & (Size - 1), "shfl", site);
    }

    template <class T>
    T shfl_xor(T value, unsigned lane_mask, KBEMU_HERE) const {
        const unsigned other = thread_rank() ^ lane_mask;
        return lane_group::exchange(value, other < Size ? other : thread_rank(), "shfl_xor", site);
    }

protected:
    warp_tile(unsigned meta_rank, unsigned meta_size)
        : lane_group(kbemu::aligned_lanes(Size), meta_rank, meta_size) {}
};

// Several warps: they can meet, and that is all that is emulated.
template <unsigned Size>
class warps_tile : public thread_group {
public:
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    static unsigned thread_rank() { return kbemu::self->linear % Size; }
    unsigned meta_group_rank() const { return meta_group_rank_; }
    unsigned meta_group_size() const { return meta_group_size_; }

    template <class T>
    T shfl(T, int, KBEMU_HERE) const {
        kbemu::kbemu_unsupported("shfl of a tile of several warps", &site);
    }
    int any(int, KBEMU_HERE) const { kbemu::kbemu_unsupported("any() of a tile of several warps", &site); }
    int all(int, KBEMU_HERE) const { kbemu::kbemu_unsupported("all() of a tile of several warps", &site); }

protected:
    warps_tile(unsigned meta_rank, unsigned meta_size)
        : thread_group(thread_scope_kind::warps, 0, Size, kbemu::self->linear / Size),
          meta_group_rank_(meta_rank),
          meta_group_size_(meta_size) {}

private:
    unsigned meta_group_rank_;
    unsigned meta_group_size_;
};

template <unsigned Size>
using tile_of_size = std::conditional_t<Size <= kbemu::kWarpSize, warp_tile<Size>, warps_tile<Size>>;

template <unsigned Size, class Parent = void>
class thread_block_tile : public tile_of_size<Size> {
    static_assert(is_tile_size(Size), "the size of a tile is a power of two up to 1024");

public:
    template <class Other>
    thread_block_tile(const thread_block_tile<Size, Other>& other)
        : tile_of_size<Size>(other.meta_group_rank(), other.meta_group_size()) {}

private:
    thread_block_tile(unsigned meta_rank, unsigned meta_size) : tile_of_size<Size>(meta_rank, meta_size) {}

    template <unsigned TileSize, class Group>
    friend thread_block_tile<TileSize, Group> tiled_partition(const Group& parent);
};

template <unsigned Size, class Parent>
inline thread_block_tile<Size, Parent> tiled_partition(const Parent& parent) {
    const unsigned threads = parent.num_threads();
    return {static_cast<unsigned>(parent.thread_rank()) / Size, (threads + Size - 1) / Size};
}

}  // namespace cooperative_groups
