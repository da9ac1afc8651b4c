// Matrices whose elements are spread over the lanes of a warp: ldmatrix, stmatrix, movmatrix.
//
// Of an 8 × 8 matrix of 16-bit elements a lane holds two neighbours in row lane / 4, at columns 2 (lane % 4) and the
// next one.
#pragma once
#include "kbemu/memory_access.h"
#include "kbemu/ptx/registers.h"
#include "kbemu/votes.h"

namespace kbemu::ptx {

constexpr unsigned kWholeWarp = ~0u;
using MatrixRow = Vector<b16, 8>;

inline b32 joined(b16 low, b16 high) { return static_cast<b32>(high) << 16 | low; }

// Lane 8 m + r brings the address of row r of matrix m and reads that row; then lanes exchange what they read.
template <int count, bool trans>
inline Vector<b32, count> load_matrices(const void* address, KBEMU_HERE) {
    MatrixRow own{};
    const unsigned lane = self->lane;
    if (lane < 8 * count) own = kbemu::load(static_cast<const MatrixRow*>(address), site);
    const WarpValues<MatrixRow> rows(kWholeWarp, own, "ldmatrix", site);
    const unsigned row = lane / 4, column = lane % 4 * 2;
    Vector<b32, count> result;
    for (unsigned m = 0; m < count; ++m) {
        result[m] = trans ? joined(rows[8 * m + column][row], rows[8 * m + column + 1][row])
                          : joined(rows[8 * m + row][column], rows[8 * m + row][column + 1]);
    }
    return result;
}

// Element (row, column) of matrix m, as lanes hold it.
template <int count>
inline b16 element_of(const WarpValues<Vector<b32, count>>& fragments, unsigned m, unsigned row, unsigned column) {
    return static_cast<b16>(fragments[4 * row + column / 2][m] >> (column % 2 * 16));
}

template <int count, bool trans>
inline void store_matrices(void* address, Vector<b32, count> fragment, KBEMU_HERE) {
    const WarpValues<Vector<b32, count>> fragments(kWholeWarp, fragment, "stmatrix", site);
    const unsigned m = self->lane / 8, row = self->lane % 8;
    if (m >= count) return;
    MatrixRow own;
    for (int column = 0; column < 8; ++column) {
        own[column] = trans ? element_of(fragments, m, column, row) : element_of(fragments, m, row, column);
    }
    kbemu::store(static_cast<MatrixRow*>(address), own, site);
}

inline b32 transpose_matrix(b32 fragment, KBEMU_HERE) {
    const WarpValues<Vector<b32, 1>> fragments(kWholeWarp, {fragment}, "movmatrix", site);
    const unsigned row = self->lane / 4, column = self->lane % 4 * 2;
    return joined(element_of(fragments, 0, column, row), element_of(fragments, 0, column + 1, row));
}

}  // namespace kbemu::ptx
