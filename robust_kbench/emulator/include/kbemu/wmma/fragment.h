// nvcuda::wmma::fragment: which shapes and types exist, and which element of the matrix each lane holds where.
#pragma once
#include <type_traits>

#include "kbemu/bf16.h"
#include "kbemu/fp16.h"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
struct tf32 {};
}  // namespace precision

template <int M, int N, int K, int m, int n, int k>
constexpr bool kIsShape = M == m && N == n && K == k;

template <int M, int N, int K>
constexpr bool kIsHalfShape =
    kIsShape<M, N, K, 16, 16, 16> || kIsShape<M, N, K, 32, 8, 16> || kIsShape<M, N, K, 8, 32, 16>;

template <class T, class... List>
constexpr bool kIsAmong = (std::is_same_v<T, List> || ...);

template <class Use, int M, int N, int K, class T>
constexpr bool fragment_exists() {
    constexpr bool accumulates = std::is_same_v<Use, accumulator>;
    if (kIsHalfShape<M, N, K>) {
        return accumulates ? kIsAmong<T, float, __half, int>
                           : kIsAmong<T, __half, __nv_bfloat16, signed char, unsigned char>;
    }
    if (kIsShape<M, N, K, 16, 16, 8>) return std::is_same_v<T, std::conditional_t<accumulates, float, precision::tf32>>;
    return kIsShape<M, N, K, 8, 8, 4> && std::is_same_v<T, double>;
}

template <class Use, int M, int N, int K>
constexpr int kRows = std::is_same_v<Use, matrix_b> ? K : M;
template <class Use, int M, int N, int K>
constexpr int kColumns = std::is_same_v<Use, matrix_a> ? K : N;

// As on a device, half operands always fill 16 registers' worth of elements: smaller matrices are held twice or more.
template <class Use, int M, int N, int K, class T>
constexpr int elements_of_lane() {
    if (std::is_same_v<T, __half> && !std::is_same_v<Use, accumulator>) return 16;
    return kRows<Use, M, N, K> * kColumns<Use, M, N, K> / 32;
}

template <class T>
using StorageType = std::conditional_t<std::is_same_v<T, precision::tf32>, float, T>;

template <class Use, int M, int N, int K, class T, class Layout = void>
class fragment {
    static_assert(fragment_exists<Use, M, N, K, T>(), "no fragment of this shape and type exists");
    static_assert(std::is_void_v<Layout> == std::is_same_v<Use, accumulator>,
                  "matrix_a and matrix_b have a layout, accumulators have none");

public:
    using element_type = T;
    using storage_element_type = StorageType<T>;
    static constexpr int num_elements = elements_of_lane<Use, M, N, K, T>();
    static constexpr int num_storage_elements = num_elements;
    storage_element_type x[num_elements];
};

struct Position {
    int row, column;
};

// Operands: row after row, lane after lane.
template <int M, int N, int K, class T, class Use, class Layout>
inline Position position(const fragment<Use, M, N, K, T, Layout>& operand, unsigned lane, int element) {
    constexpr int columns = kColumns<Use, M, N, K>;
    const int index = (lane * operand.num_elements + element) % (kRows<Use, M, N, K> * columns);
    return {index / columns, index % columns};
}

// Accumulators: as devices of compute capability 8.0 and 9.0 do it, since kernels are known to count on that. They
// consist of 8x8 tiles laid out as by mma.sync, of which those below each other come first; 8x32 is a 32x8 turned over.
template <int M, int N, int K, class T>
inline Position position(const fragment<accumulator, M, N, K, T>&, unsigned lane, int element) {
    const int tile = element / 2;
    const int by_four = lane / 4;
    const int by_pair = lane % 4 * 2 + element % 2;
    if (M == 8 && N == 32) return {by_pair, tile * 8 + by_four};
    return {tile % (M / 8) * 8 + by_four, tile / (M / 8) * 8 + by_pair};
}

template <class Use, int M, int N, int K, class T, class Layout>
inline void fill_fragment(
    fragment<Use, M, N, K, T, Layout>& target, const std::type_identity_t<StorageType<T>>& value) {
    for (auto& element : target.x) element = value;
}

}  // namespace nvcuda::wmma
