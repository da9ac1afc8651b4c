// Product of eight-bit integers with scales by row and by column (Jacob et al. 2017; Xiao et al. 2022) on tensor cores,
// whose sums of integers are exact. Codes lose their zero point of 128 on the way through registers into shared memory.
#include <mma.h>

#include <cstdint>

namespace {

namespace wmma = nvcuda::wmma;
using T = KBENCH_T;
constexpr int DEPTH = 64;  // terms of the sums in a piece

struct alignas(16) Vector {
    uint32_t at[4];
};

// DEPTH terms of TILE lines of a matrix in slices of 16 terms, which are what tensor cores take at a time. 32 bytes
// between slices spread what is stored at a time over the banks.
template <int TILE>
struct alignas(32) Piece {
    int8_t at[DEPTH / 16][TILE * 16 + 32];
};

// A piece on its way through registers: of two threads that share a line, one has every other slice.
template <bool VECTORS, int TILE>
struct Held {
    Vector slice[2];

    // From matrix[lines][terms]; zeros past its ends. An integer loses 128 where its highest bit is turned over.
    __device__ void load(const uint8_t* __restrict__ matrix, int first, int lines, int depth, int terms) {
        const int line = first + threadIdx.x / 2;
        const uint8_t* from = matrix + int64_t(line) * terms;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int term = depth + (threadIdx.x % 2 + 2 * i) * 16;
            slice[i] = {};
            if (line >= lines || term >= terms) continue;
            if (VECTORS) {
                slice[i] = *reinterpret_cast<const Vector*>(from + term);
                for (uint32_t& word : slice[i].at) word ^= 0x80808080u;
            } else {
#pragma unroll
                for (int e = 0; e < 16; ++e)
                    if (term + e < terms) slice[i].at[e / 4] |= (from[term + e] ^ 0x80u) << (e % 4 * 8);
            }
        }
    }
    __device__ void store(Piece<TILE>& piece) const {
#pragma unroll
        for (int i = 0; i < 2; ++i)
            *reinterpret_cast<Vector*>(&piece.at[threadIdx.x % 2 + 2 * i][threadIdx.x / 2 * 16]) = slice[i];
    }
};

// A warp keeps TILE / 2 x 32 sums, in squares of 16 x 16.
template <bool VECTORS, int TILE>
__global__ void __launch_bounds__(2 * TILE)
    multiply(const uint8_t* __restrict__ x, const uint8_t* __restrict__ weight, const float* __restrict__ x_scale,
             const float* __restrict__ weight_scale, const T* __restrict__ bias, T* __restrict__ y, int m, int n,
             int k) {
    __shared__ Piece<TILE> left[2], right[2];
    // Tiles of one column follow each other, so that blocks that run together share operands in the L2 cache.
    const int tiles_m = (m + TILE - 1) / TILE, row = blockIdx.x % tiles_m * TILE, col = blockIdx.x / tiles_m * TILE;
    const int down = threadIdx.x / 32 % 2 * (TILE / 2), across = threadIdx.x / 64 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> total[TILE / 32][2];
    for (auto& pair : total)
        for (auto& square : pair) wmma::fill_fragment(square, 0);

    Held<VECTORS, TILE> next_left, next_right;
    next_left.load(x, row, m, 0, k);
    next_right.load(weight, col, n, 0, k);
    for (int depth = 0, now = 0; depth < k; depth += DEPTH, now ^= 1) {
        next_left.store(left[now]);
        next_right.store(right[now]);
        __syncthreads();  // the pieces are complete, and nobody reads the ones before them any more
        if (depth + DEPTH < k) {  // under way while these are multiplied
            next_left.load(x, row, m, depth + DEPTH, k);
            next_right.load(weight, col, n, depth + DEPTH, k);
        }
        wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> p;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> q[2];
#pragma unroll
        for (int d = 0; d < DEPTH / 16; ++d) {
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(q[j], &right[now].at[d][(across + 16 * j) * 16], 16);
#pragma unroll
            for (int i = 0; i < TILE / 32; ++i) {
                wmma::load_matrix_sync(p, &left[now].at[d][(down + 16 * i) * 16], 16);
                for (int j = 0; j < 2; ++j) wmma::mma_sync(total[i][j], p, q[j], total[i][j]);
            }
        }
    }
    __syncthreads();
    // Which lane holds which sum is not documented: they go through shared memory, a square of each warp at a time.
    int* square = reinterpret_cast<int*>(left) + threadIdx.x / 32 * 256;
#pragma unroll
    for (int i = 0; i < TILE / 16; ++i) {
        wmma::store_matrix_sync(square, total[i / 2][i % 2], 16, wmma::mem_row_major);
        __syncwarp();
        for (int e = threadIdx.x % 32; e < 256; e += 32) {
            const int r = row + down + i / 2 * 16 + e / 16, c = col + across + i % 2 * 16 + e % 16;
            if (r < m && c < n)
                y[int64_t(r) * n + c] = T(float(square[e]) * x_scale[r] * weight_scale[c] + float(bias[c]));
        }
        __syncwarp();
    }
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void int8_gemm(const uint8_t* x, const uint8_t* weight, const float* x_scale, const float* weight_scale,
                          const T* bias, T* y, int64_t batch, int64_t in_features, int64_t out_features,
                          cudaStream_t stream) {
    const bool vectors = in_features % 16 == 0 && aligned(x) && aligned(weight);
    const auto tiles = [&](int size) { return ((batch + size - 1) / size) * ((out_features + size - 1) / size); };
    const auto run = [&](auto kernel, int size) {
        // An axis fits in 32 bits, a product of two need not.
        kernel<<<unsigned(tiles(size)), 2 * size, 0, stream>>>(x, weight, x_scale, weight_scale, bias, y, int(batch),
                                                               int(out_features), int(in_features));
    };
    // Small tiles where large ones would be mostly empty, or too few to keep a GPU busy.
    if (batch > 64 && tiles(128) >= 128)
        run(vectors ? multiply<true, 128> : multiply<false, 128>, 128);
    else if (batch > 32 && tiles(64) >= 128)
        run(vectors ? multiply<true, 64> : multiply<false, 64>, 64);
    else
        run(vectors ? multiply<true, 32> : multiply<false, 32>, 32);
}
