// cooperative_groups::memcpy_async. The copy happens at once, shared among the members, and wait() is the group's
// barrier, so that reading before wait() is a race as on a device.
#pragma once
#include "kbemu/aligned_size.h"
#include "kbemu/cooperative_groups/thread_group.h"
#include "kbemu/memory_access.h"

namespace kbemu {

template <class Unit, class Group>
inline void copy_units(const Group& group, void* to, const void* from, std::size_t bytes, const Site& site) {
    Unit* target = static_cast<Unit*>(to);
    const Unit* source = static_cast<const Unit*>(from);
    for (std::size_t i = group.thread_rank(); i < bytes / sizeof(Unit); i += group.size()) {
        store(target + i, load(source + i, site), site);
    }
}

template <class Group>
inline void group_copy(const Group& group, void* to, const void* from, std::size_t bytes, const Site& site) {
    const std::size_t offsets = reinterpret_cast<std::size_t>(to) | reinterpret_cast<std::size_t>(from) | bytes;
    if (offsets % sizeof(unsigned) == 0) {
        copy_units<unsigned>(group, to, from, bytes, site);
    } else {
        copy_units<unsigned char>(group, to, from, bytes, site);
    }
}

}  // namespace kbemu

namespace cooperative_groups {

template <class Group, class T>
inline void memcpy_async(const Group& group, T* to, const T* from, std::size_t bytes, KBEMU_HERE) {
    kbemu::group_copy(group, to, from, bytes, site);
}

template <class Group, class T, std::size_t Alignment>
inline void memcpy_async(
    const Group& group, T* to, const T* from, const cuda::aligned_size_t<Alignment>& bytes, KBEMU_HERE) {
    if ((reinterpret_cast<std::size_t>(to) | reinterpret_cast<std::size_t>(from)) % Alignment) {
        kbemu::kbemu_finding("misaligned_access", "copies from or to an address without the declared alignment", &site);
    }
    kbemu::group_copy(group, to, from, bytes, site);
}

// Layouts are counts of elements; the shorter one decides.
template <class Group, class T>
inline void memcpy_async(
    const Group& group, T* to, std::size_t to_count, const T* from, std::size_t from_count, KBEMU_HERE) {
    const std::size_t count = to_count < from_count ? to_count : from_count;
    kbemu::group_copy(group, to, from, count * sizeof(T), site);
}

template <class Group>
inline void wait(const Group& group, KBEMU_HERE) {
    group.sync(site);
}

template <unsigned Stages, class Group>
inline void wait_prior(const Group& group, KBEMU_HERE) {
    group.sync(site);
}

}  // namespace cooperative_groups
