// Product of two upper triangular matrices (Golub and Van Loan 2013, section 1.2.8), by tiles that asynchronous copies
// bring into shared memory. A tile's sums run from its first row to its last column; below the diagonals all is zero.
// Tensor cores multiply halves into float32 sums; float32, which they would round to TensorFloat-32, is left to threads
// with up to 8 x 8 outputs each in registers (Volkov and Demmel 2008).
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

// ROWS x COLS elements of a triangular matrix; 16 bytes more a row than they need spread the rows over the banks.
template <int ROWS, int COLS>
struct alignas(32) Piece {
    static constexpr int PITCH = COLS + 16 / sizeof(T);
    T at[ROWS][PITCH];

    // From matrix[n][n], V elements at a time; zeros below the diagonal and from `bottom` and `end` on.
    template <int V, int THREADS>
    __device__ void fetch(const T* matrix, int n, int top, int bottom, int side, int end) {
#pragma unroll
        for (int index = threadIdx.x; index < ROWS * COLS / V; index += THREADS) {
            const int row = top + index / (COLS / V), col = side + index % (COLS / V) * V;
            const bool inside = row < bottom && col < end;
            const T* from = inside ? matrix + int64_t(row) * n + col : matrix;
            T* to = &at[row - top][col - side];
            if (sizeof(T) * V >= 4 && (row <= col || !inside)) {
                __pipeline_memcpy_async(to, from, sizeof(T) * V, inside ? 0 : sizeof(T) * V);
                continue;
            }
#pragma unroll
            for (int e = 0; e < V; ++e)  // a vector may begin below the diagonal and end above it
                to[e] = inside && row <= col + e ? from[e] : T(0.0f);
        }
    }
};

// Sums of a TILE x TILE tile in 2 * TILE threads: each keeps 8 x TILE / 16, neighbours have neighbouring columns.
template <int TILE>
struct Registers {
    const int down = threadIdx.x / 16, across = threadIdx.x % 16;
    float total[8][TILE / 16] = {};

    __device__ Registers() {}
    __device__ void multiply(const Piece<TILE, DEPTH>& left, const Piece<DEPTH, TILE>& right) {
#pragma unroll
        for (int d = 0; d < DEPTH; d += 4) {
            Quad p[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) p[i] = *reinterpret_cast<const Quad*>(&left.at[down + i * (TILE / 8)][d]);
#pragma unroll
            for (int j = 0; j < TILE / 16; ++j) {
                Quad q;
#pragma unroll
                for (int e = 0; e < 4; ++e) q.at[e] = right.at[d + e][across + 16 * j];
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
    __device__ void multiply(const Piece<TILE, DEPTH>& left, const Piece<DEPTH, TILE>& right) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, Half, wmma::row_major> p;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, Half, wmma::row_major> q, r;
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            wmma::load_matrix_sync(q, &right.at[d][col], right.PITCH);
            wmma::load_matrix_sync(r, &right.at[d][col + 16], right.PITCH);
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
    multiply(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int n) {
    constexpr int STAGES = 256 / TILE;  // pieces in flight: as many bytes of small ones as of large ones
    __shared__ Piece<TILE, DEPTH> left[STAGES];
    __shared__ Piece<DEPTH, TILE> right[STAGES];
    // The last columns have the longest sums; their blocks start first, so that none of them is left over at the end.
    const int tiles = (n + TILE - 1) / TILE, row = blockIdx.x % tiles * TILE;
    const int col = (tiles - 1 - int(blockIdx.x) / tiles) * TILE, end = min(n, col + TILE);
    const auto fetch = [&](int depth, int buffer) {
        left[buffer].template fetch<V, 2 * TILE>(a, n, row, n, depth, end);
        right[buffer].template fetch<V, 2 * TILE>(b, n, depth, end, col, n);
        __pipeline_commit();
    };

    std::conditional_t<sizeof(T) == 2, TensorCores<T, TILE>, Registers<TILE>> sums;
    for (int ahead = 0; ahead < STAGES - 1; ++ahead) fetch(row + ahead * DEPTH, ahead);
    for (int depth = row, now = 0; depth < end; depth += DEPTH, now = (now + 1) % STAGES) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();  // the oldest pieces are complete, and nobody reads the ones before them any more
        fetch(depth + (STAGES - 1) * DEPTH, (now + STAGES - 1) % STAGES);
        sums.multiply(left[now], right[now]);
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    sums.each(reinterpret_cast<float*>(left), [&](int i, int j, float sum) {
        if (row + i < n && col + j < n) c[int64_t(row + i) * n + col + j] = T(sum);
    });
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void upper_triangular(const T* a, const T* b, T* c, int64_t n, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = n % V == 0 && aligned(a) && aligned(b);
    const auto run = [&](auto kernel, int size) {
        const auto tiles = static_cast<unsigned>((n + size - 1) / size);
        kernel<<<tiles * tiles, 2 * size, 0, stream>>>(a, b, c, int(n));
    };
    // Small tiles where large ones would be too few to keep a GPU busy.
    if (n >= 2048)
        run(vectors ? multiply<V, 128> : multiply<1, 128>, 128);
    else if (n >= 512)
        run(vectors ? multiply<V, 64> : multiply<1, 64>, 64);
    else
        run(vectors ? multiply<V, 32> : multiply<1, 32>, 32);
}
