// A tile of a matrix product, by one block. Asynchronous copies bring pieces of both factors into shared memory.
// Tensor cores multiply halves into float32 sums; float32, which they would round to TensorFloat-32, is left to threads
// with up to 8 x 8 sums each in registers (Volkov and Demmel 2008).
#pragma once
#include <cuda_pipeline.h>
#include <mma.h>

#include <cstdint>
#include <type_traits>

namespace {

namespace wmma = nvcuda::wmma;
using T = KBENCH_T;
constexpr int DEPTH = 64 / sizeof(T);  // terms of the sums in a piece

struct alignas(16) Quad {
    float at[4];
};

// DEPTH terms of TILE lines of a matrix; 16 bytes more a line than they need spread the lines over the banks.
template <int TILE>
struct alignas(32) Piece {
    static constexpr int PITCH = DEPTH + 16 / sizeof(T);
    T at[TILE][PITCH];

    // V elements at a time; zeros past the ends. line_of(i) is where the i-th line begins, or null past the last one.
    // An asynchronous copy takes at least 4 bytes, and an address even if nothing is read there.
    template <int V, typename LineOf>
    __device__ void fetch(LineOf line_of, const T* any, int depth, int terms) {
#pragma unroll
        for (int index = threadIdx.x; index < TILE * DEPTH / V; index += 2 * TILE) {
            const int line = index / (DEPTH / V), term = index % (DEPTH / V) * V;
            const T* from = depth + term < terms ? line_of(line) : nullptr;
            if (sizeof(T) * V >= 4)
                __pipeline_memcpy_async(&at[line][term], from ? from + depth + term : any, sizeof(T) * V,
                                        from ? 0 : sizeof(T) * V);
            else
                at[line][term] = from ? from[depth + term] : T(0.0f);
        }
    }
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
    // emit(row, column, sum, sum 16 columns further)
    template <typename Emit>
    __device__ void each(float*, Emit emit) const {
#pragma unroll
        for (int i = 0; i < TILE / 4; ++i)
            emit(down + i % 8 * (TILE / 8), across + i / 8 * 32, total[i % 8][i / 8 * 2], total[i % 8][i / 8 * 2 + 1]);
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
        wmma::fragment<wmma::matrix_b, 16, 16, 16, Half, wmma::col_major> q, r;
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            wmma::load_matrix_sync(q, &right.at[col][d], right.PITCH);
            wmma::load_matrix_sync(r, &right.at[col + 16][d], right.PITCH);
#pragma unroll
            for (int i = 0; i < TILE / 32; ++i) {
                wmma::load_matrix_sync(p, &left.at[row + 16 * i][d], left.PITCH);
                wmma::mma_sync(total[i][0], p, q, total[i][0]);
                wmma::mma_sync(total[i][1], p, r, total[i][1]);
            }
        }
    }
    // Which lane holds which sum is not documented: they go through shared memory, two squares of each warp at a time.
    template <typename Emit>
    __device__ void each(float* scratch, Emit emit) const {
        float* squares = scratch + threadIdx.x / 32 * 640;  // their lines are 20 apart
#pragma unroll
        for (int i = 0; i < TILE / 32; ++i) {
            wmma::store_matrix_sync(squares, total[i][0], 20, wmma::mem_row_major);
            wmma::store_matrix_sync(squares + 320, total[i][1], 20, wmma::mem_row_major);
            __syncwarp();
            for (int e = threadIdx.x % 32; e < 256; e += 32) {
                const float* sum = squares + e / 16 * 20 + e % 16;
                emit(row + i * 16 + e / 16, col + e % 16, sum[0], sum[320]);
            }
            __syncwarp();
        }
    }
};

template <int TILE>
using Sums = std::conditional_t<sizeof(T) == 2, TensorCores<T, TILE>, Registers<TILE>>;

}  // namespace
