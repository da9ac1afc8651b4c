// cub::BlockDiscontinuity: which items differ from their neighbour before (heads) or after (tails).
#pragma once
#include "kbemu/cub/storage.h"

namespace cub {

template <class T, int BlockDimX, int BlockDimY = 1, int BlockDimZ = 1, int LegacyPtxArch = 0>
class BlockDiscontinuity {
    static constexpr int kThreads = BlockDimX * BlockDimY * BlockDimZ;

public:
    struct TempStorage {
        kbemu::SharedItems<T, kThreads> first_items;
        kbemu::SharedItems<T, kThreads> last_items;
    };
    explicit BlockDiscontinuity(KBEMU_HERE) : storage_(kbemu::private_storage<BlockDiscontinuity>(site)) {}
    explicit BlockDiscontinuity(TempStorage& storage) : storage_(storage) {}

    // The first item of the block is always a head.
    template <int Items, class Flag, class Differ>
    void FlagHeads(Flag (&heads)[Items], T (&items)[Items], Differ differ, KBEMU_HERE) {
        share_last(items, site);
        heads[0] = kbemu::self->linear == 0 || differ(before(site), items[0]);
        flag_inner_heads(heads, items, differ);
    }
    template <int Items, class Flag, class Differ>
    void FlagHeads(Flag (&heads)[Items], T (&items)[Items], Differ differ, T item_before_block, KBEMU_HERE) {
        share_last(items, site);
        heads[0] = differ(kbemu::self->linear == 0 ? item_before_block : before(site), items[0]);
        flag_inner_heads(heads, items, differ);
    }
    // The last item of the block is always a tail.
    template <int Items, class Flag, class Differ>
    void FlagTails(Flag (&tails)[Items], T (&items)[Items], Differ differ, KBEMU_HERE) {
        share_first(items, site);
        tails[Items - 1] = kbemu::self->linear == kThreads - 1 || differ(items[Items - 1], after(site));
        flag_inner_tails(tails, items, differ);
    }
    template <int Items, class Flag, class Differ>
    void FlagTails(Flag (&tails)[Items], T (&items)[Items], Differ differ, T item_after_block, KBEMU_HERE) {
        share_first(items, site);
        const T next = kbemu::self->linear == kThreads - 1 ? item_after_block : after(site);
        tails[Items - 1] = differ(items[Items - 1], next);
        flag_inner_tails(tails, items, differ);
    }
    template <int Items, class Flag, class Differ>
    void FlagHeadsAndTails(
        Flag (&heads)[Items], Flag (&tails)[Items], T (&items)[Items], Differ differ, KBEMU_HERE) {
        FlagHeads(heads, items, differ, site);
        FlagTails(tails, items, differ, site);
    }

private:
    template <int Items>
    void share_last(T (&items)[Items], const kbemu::Site& site) {
        kbemu::check_block_size(kThreads, site);
        storage_.last_items.put(kbemu::self->linear, items[Items - 1], site);
        __syncthreads(site);
    }
    template <int Items>
    void share_first(T (&items)[Items], const kbemu::Site& site) {
        kbemu::check_block_size(kThreads, site);
        storage_.first_items.put(kbemu::self->linear, items[0], site);
        __syncthreads(site);
    }
    T before(const kbemu::Site& site) { return storage_.last_items.get(kbemu::self->linear - 1, site); }
    T after(const kbemu::Site& site) { return storage_.first_items.get(kbemu::self->linear + 1, site); }

    template <int Items, class Flag, class Differ>
    static void flag_inner_heads(Flag (&heads)[Items], T (&items)[Items], Differ differ) {
        for (int i = 1; i < Items; ++i) heads[i] = differ(items[i - 1], items[i]);
    }
    template <int Items, class Flag, class Differ>
    static void flag_inner_tails(Flag (&tails)[Items], T (&items)[Items], Differ differ) {
        for (int i = 0; i + 1 < Items; ++i) tails[i] = differ(items[i], items[i + 1]);
    }

    TempStorage& storage_;
};

}  // namespace cub
