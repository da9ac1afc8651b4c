// Linear layer with a residual, x weight^T + bias + residual (He et al. 2016), by tiles that asynchronous copies bring
// into shared memory. Tensor cores multiply halves into float32 sums; float32, which they would round to
// TensorFloat-32, is left to threads with up to 8 x 8 outputs each in registers. Only the final sum is rounded.
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

// ROWS x COLS elements of a matrix; 16 bytes more a row than they need spread the rows over the banks.
template <int ROWS, int COLS>
struct alignas(32) Piece {
    static constexpr int PITCH = COLS + 16 / sizeof(T);
    T at[ROWS][PITCH];

    // From matrix[rows][cols], V elements at a time; zeros past its ends. An asynchronous copy takes at least 4 bytes.
    template <int V, int THREADS>
    __device__ void fetch(const T* matrix, int top, int rows, int side, int cols) {
#pragma unroll
        for (int index = threadIdx.x; index < ROWS * COLS / V; index += THREADS) {
            const int row = index / (COLS / V), col = index % (COLS / V) * V;
            const bool inside = top + row < rows && side + col < cols;
            const T* from = inside ? matrix + int64_t(top + row) * cols + side + col : matrix;
            if (sizeof(T) * V >= 4)
                __pipeline_memcpy_async(&at[row][col], from, sizeof(T) * V, inside ? 0 : sizeof(T) * V);
            else
                at[row][col] = inside ? *from : T(0.0f);
        }
    }
};

// Sums of a TILE x TILE tile in 2 * TILE threads: each keeps 8 x TILE / 16, neighbours have neighbouring columns.
template <int TILE>
struct Registers {
    const int down = threadIdx.x / 16, across = threadIdx.x % 16;
    float total[8][TILE / 16] = {};

    __device__ Registers() {}
    __device__ void multiply(const Piece<TILE, DEPTH>& left, const Piece<TILE, DEPTH>& right) {
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
    __device__ void multiply(const Piece<TILE, DEPTH>& left, const Piece<TILE, DEPTH>& right) {
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

template <int V, int TILE>
__global__ void __launch_bounds__(2 * TILE)
    multiply(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias,
             const T* __restrict__ residual, T* __restrict__ y, int m, int n, int k) {
    constexpr int STAGES = 256 / TILE;  // pieces in flight: as many bytes of small ones as of large ones
    __shared__ Piece<TILE, DEPTH> left[STAGES], right[STAGES];
    // Tiles of one column follow each other, so that blocks that run together share operands in the L2 cache.
    const int tiles_m = (m + TILE - 1) / TILE, row = blockIdx.x % tiles_m * TILE, col = blockIdx.x / tiles_m * TILE;
    const auto fetch = [&](int depth, int buffer) {
        left[buffer].template fetch<V, 2 * TILE>(x, row, m, depth, k);
        right[buffer].template fetch<V, 2 * TILE>(weight, col, n, depth, k);
        __pipeline_commit();
    };

    std::conditional_t<sizeof(T) == 2, TensorCores<T, TILE>, Registers<TILE>> sums;
    for (int ahead = 0; ahead < STAGES - 1; ++ahead) fetch(ahead * DEPTH, ahead);
    for (int depth = 0, now = 0; depth < k; depth += DEPTH, now = (now + 1) % STAGES) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();  // the oldest pieces are complete, and nobody reads the ones before them any more
        fetch(depth + (STAGES - 1) * DEPTH, (now + STAGES - 1) % STAGES);
        sums.multiply(left[now], right[now]);
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    sums.each(reinterpret_cast<float*>(left), [&](int i, int j, float sum) {
        if (row + i >= m || col + j >= n) return;
        const int64_t place = int64_t(row + i) * n + col + j;
        y[place] = T(sum + float(bias[col + j]) + float(residual[place]));
    });
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void linear_bias_residual(const T* x, const T* weight, const T* bias, const T* residual, T* y, int64_t batch,
                                     int64_t in_features, int64_t out_features, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = in_features % V == 0 && aligned(x) && aligned(weight);
    const int64_t smaller = batch < out_features ? batch : out_features;
    const auto tiles = [&](int size) { return ((batch + size - 1) / size) * ((out_features + size - 1) / size); };
    const auto run = [&](auto kernel, int size) {
        // An axis fits in 32 bits, a product of two need not.
        kernel<<<unsigned(tiles(size)), 2 * size, 0, stream>>>(x, weight, bias, residual, y, int(batch),
                                                               int(out_features), int(in_features));
    };
    // Small tiles where large ones would be mostly empty, or too few to keep a GPU busy.
    if (smaller > 64 && tiles(128) >= 128)
        run(vectors ? multiply<V, 128> : multiply<1, 128>, 128);
    else if (smaller > 32 && tiles(64) >= 128)
        run(vectors ? multiply<V, 64> : multiply<1, 64>, 64);
    else
        run(vectors ? multiply<V, 32> : multiply<1, 32>, 32);
}
