// Fragments from and to memory. Each lane touches the elements that it holds; lanes meet before, but that orders no
// memory: who reads what another lane stored needs a barrier, as on a device.
#pragma once
#include "kbemu/barriers.h"
#include "kbemu/memory_access.h"
#include "kbemu/wmma/fragment.h"

namespace nvcuda::wmma {

inline void meet(const char* intrinsic, const kbemu::Site& site) {
    kbemu::kbemu_warp_vote(kbemu::kFullMask, 0, intrinsic, &site);
}

// CUDA asks for 32 bytes and for rows of whole 16 bytes; devices do with the size of a row up to 16 bytes, and
// NVIDIA's own samples count on that, so no more is asked here.
inline void check_alignment(
    const void* address, std::size_t stride_bytes, std::size_t line_bytes, const kbemu::Site& site) {
    const std::size_t needed = line_bytes < 16 ? line_bytes : 16;
    if ((reinterpret_cast<std::size_t>(address) | stride_bytes) % needed == 0) return;
    kbemu::kbemu_finding(
        "misaligned_access", "uses a matrix whose address or stride is no multiple of 16 bytes", &site);
}

template <class Fragment>
inline std::size_t offset_of(const Fragment& target, int element, unsigned stride, bool by_row) {
    const Position at = position(target, kbemu::self->lane, element);
    return by_row ? std::size_t(at.row) * stride + at.column : std::size_t(at.column) * stride + at.row;
}

template <int Rows, int Columns, class Fragment>
inline void load_elements(Fragment& target, const typename Fragment::storage_element_type* source, unsigned stride,
                          bool by_row, const kbemu::Site& site) {
    meet("wmma::load_matrix_sync", site);
    check_alignment(source, stride * sizeof *source, (by_row ? Columns : Rows) * sizeof *source, site);
    for (int i = 0; i < target.num_elements; ++i) {
        target.x[i] = kbemu::load(source + offset_of(target, i, stride, by_row), site);
    }
}

template <class Use, int M, int N, int K, class T, class Layout>
inline void load_matrix_sync(
    fragment<Use, M, N, K, T, Layout>& target, const StorageType<T>* source, unsigned stride, KBEMU_HERE) {
    constexpr bool by_row = std::is_same_v<Layout, row_major>;
    load_elements<kRows<Use, M, N, K>, kColumns<Use, M, N, K>>(target, source, stride, by_row, site);
}

template <int M, int N, int K, class T>
inline void load_matrix_sync(
    fragment<accumulator, M, N, K, T>& target, const T* source, unsigned stride, layout_t layout, KBEMU_HERE) {
    load_elements<M, N>(target, source, stride, layout == mem_row_major, site);
}

template <int M, int N, int K, class T>
inline void store_matrix_sync(
    T* target, const fragment<accumulator, M, N, K, T>& source, unsigned stride, layout_t layout, KBEMU_HERE) {
    const bool by_row = layout == mem_row_major;
    meet("wmma::store_matrix_sync", site);
    check_alignment(target, stride * sizeof *target, (by_row ? N : M) * sizeof *target, site);
    for (int i = 0; i < source.num_elements; ++i) {
        kbemu::store(target + offset_of(source, i, stride, by_row), source.x[i], site);
    }
}

}  // namespace nvcuda::wmma
