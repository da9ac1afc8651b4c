// A tile of a matrix product, by one block, from pieces in shared memory. Tensor cores multiply halves into float32
// sums; float32, which they would round to TensorFloat-32, is left to threads with up to 8 x 8 sums each in registers
// (Volkov and Demmel 2008).
#pragma once
#include <mma.h>

#include <cstdint>
#include <type_traits>

namespace {

namespace wmma = nvcuda::wmma;
using T = KBENCH_T;
constexpr int DEPTH = 64 / sizeof(T);  // terms of the sums in a piece

// V neighbouring elements, moved in transactions of up to 16 bytes.
template <typename E, int V>
struct alignas(V * sizeof(E) < 16 ? V * sizeof(E) : 16) Pack {
    E at[V];
};
using Quad = Pack<float, 4>;

// DEPTH terms of TILE lines of a matrix; 16 bytes more a line than they need spread the lines over the banks.
template <int TILE>
struct alignas(32) Piece {
    static constexpr int PITCH = DEPTH + 16 / sizeof(T);
    T at[TILE][PITCH];
};

// Sums of a TILE x TILE tile in 2 * TILE threads: each keeps 8 x TILE / 16, neighbours have neighbouring columns.
template <int TILE>
struct Registers {
    const int down = threadIdx.x / 16, across = threadIdx.x % 16;
    float total[8][TILE / 16] = {};

    __device__ Registers() {}
    __device__ void multiply(const Piece<TILE>& left, const Piece<TILE>& right) {
#pragma unroll
        for (int d = 0; d < DEPTH; d += 4) {
            Quad p[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) p[i] = *reinterpret_cast<const Quad*>(&left.at[down + i * (TILE / 8)][d]);
#pragma unroll
            for (int j = 0; j < TILE / 16; ++j) {
                const Quad q = *reinterpret_cast<const Quad*>(&right.at[across + 16 * j][d]);
#pragma unroll
                for (int i = 0; i < 32; ++i) total[i % 8][j] += p[i % 8].at[i / 8] * q.at[i / 8];
            }
        }
    }
    // emit(row, column, sum)
    template <typename Emit>
    __device__ void each(float*, Emit emit) const {
#pragma unroll
        for (int i = 0; i < TILE / 2; ++i) emit(down + i % 8 * (TILE / 8), across + i / 8 * 16, total[i % 8][i / 8]);
    }
};

// The same on tensor cores: each warp keeps TILE / 2 x 32, in squares of 16 x 16.
template <typename Half, int TILE>
struct TensorCores {
    const int row = threadIdx.x / 32 % 2 * (TILE / 2), col = threadIdx.x / 64 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> total[TILE / 32][2];

    __device__ TensorCores() {
        for (auto& pair : total)
            for (auto& square : pair) wmma::fill_fragment(square, 0.0f);
    }
    __device__ void multiply(const Piece<TILE>& left, const Piece<TILE>& right) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, Half, wmma::row_major> p;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, Half, wmma::col_major> q[2];
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(q[j], &right.at[col + 16 * j][d], right.PITCH);
#pragma unroll
            for (int i = 0; i < TILE / 32; ++i) {
                wmma::load_matrix_sync(p, &left.at[row + 16 * i][d], left.PITCH);
                for (int j = 0; j < 2; ++j) wmma::mma_sync(total[i][j], p, q[j], total[i][j]);
            }
        }
    }
    // Which lane holds which sum is not documented: they go through shared memory, a square of each warp at a time.
    template <typename Emit>
    __device__ void each(float* scratch, Emit emit) const {
        float* square = scratch + threadIdx.x / 32 * 320;  // its lines are 20 apart
#pragma unroll
        for (int i = 0; i < TILE / 16; ++i) {
            wmma::store_matrix_sync(square, total[i / 2][i % 2], 20, wmma::mem_row_major);
            __syncwarp();
            for (int e = threadIdx.x % 32; e < 256; e += 32)
                emit(row + i / 2 * 16 + e / 16, col + i % 2 * 16 + e % 16, square[e / 16 * 20 + e % 16]);
            __syncwarp();
        }
    }
};

template <int TILE>
using Sums = std::conditional_t<sizeof(T) == 2, TensorCores<T, TILE>, Registers<TILE>>;

}  // namespace
