// Product of matrices of E4M3 numbers with scales by row and by column (Micikevicius et al. 2022). Every such number is
// one of float16, too: codes become halves on their way through registers into shared memory, and tensor cores multiply
// without an error. Their sums of 128 terms are added up in float32 (DeepSeek-V3, section 3.3).
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <mma.h>

#include <cstdint>

namespace {

namespace wmma = nvcuda::wmma;
using T = KBENCH_T;
constexpr int DEPTH = 32, SUMMED = 128;  // terms in a piece, and in a sum of tensor cores

struct alignas(16) Codes {
    uint16_t at[8];
};
struct alignas(16) Halves {
    __half2 at[4];
};

// DEPTH terms of TILE lines of a matrix; 16 bytes more a line than they need spread the lines over the banks.
template <int TILE>
struct alignas(32) Piece {
    static constexpr int PITCH = DEPTH + 8;
    __half at[TILE][PITCH];
};

// A piece on its way through registers: two threads share a line.
template <bool VECTORS, int TILE>
struct Held {
    Codes codes;

    // From matrix[lines][terms]; zeros past its ends.
    __device__ void load(const uint8_t* __restrict__ matrix, int first, int lines, int depth, int terms) {
        const int line = first + threadIdx.x / 2, term = depth + threadIdx.x % 2 * 16;
        const uint8_t* from = matrix + int64_t(line) * terms + term;
        codes = {};
        if (line >= lines || term >= terms) return;
        if (VECTORS) {
            codes = *reinterpret_cast<const Codes*>(from);
        } else {
#pragma unroll
            for (int e = 0; e < 16; ++e)
                if (term + e < terms) codes.at[e / 2] |= from[e] << (e % 2 * 8);
        }
    }
    __device__ void store(Piece<TILE>& piece) const {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            Halves halves;
#pragma unroll
            for (int e = 0; e < 4; ++e)
                halves.at[e] = __half2(__nv_cvt_fp8x2_to_halfraw2(codes.at[4 * i + e], __NV_E4M3));
            *reinterpret_cast<Halves*>(&piece.at[threadIdx.x / 2][threadIdx.x % 2 * 16 + 8 * i]) = halves;
        }
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
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> total[TILE / 32][2], part[TILE / 32][2];
    for (int i = 0; i < TILE / 16; ++i) {
        wmma::fill_fragment(total[i / 2][i % 2], 0.0f);
        wmma::fill_fragment(part[i / 2][i % 2], 0.0f);
    }
    const auto add_parts = [&] {
#pragma unroll
        for (int i = 0; i < TILE / 16; ++i) {
            auto &sum = total[i / 2][i % 2], &share = part[i / 2][i % 2];
#pragma unroll
            for (int e = 0; e < sum.num_elements; ++e) sum.x[e] += share.x[e];
            wmma::fill_fragment(share, 0.0f);
        }
    };

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
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> p;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> q[2];
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            for (int j = 0; j < 2; ++j)
                wmma::load_matrix_sync(q[j], &right[now].at[across + 16 * j][d], Piece<TILE>::PITCH);
#pragma unroll
            for (int i = 0; i < TILE / 32; ++i) {
                wmma::load_matrix_sync(p, &left[now].at[down + 16 * i][d], Piece<TILE>::PITCH);
                for (int j = 0; j < 2; ++j) wmma::mma_sync(part[i][j], p, q[j], part[i][j]);
            }
        }
        if ((depth + DEPTH) % SUMMED == 0) add_parts();
    }
    add_parts();
    __syncthreads();
    // Which lane holds which sum is not documented: they go through shared memory, a square of each warp at a time.
    float* square = reinterpret_cast<float*>(left) + threadIdx.x / 32 * 320;  // its lines are 20 apart
#pragma unroll
    for (int i = 0; i < TILE / 16; ++i) {
        wmma::store_matrix_sync(square, total[i / 2][i % 2], 20, wmma::mem_row_major);
        __syncwarp();
        for (int e = threadIdx.x % 32; e < 256; e += 32) {
            const int r = row + down + i / 2 * 16 + e / 16, c = col + across + i % 2 * 16 + e % 16;
            if (r < m && c < n)
                y[int64_t(r) * n + c] = T(square[e / 16 * 20 + e % 16] * x_scale[r] * weight_scale[c] + float(bias[c]));
        }
        __syncwarp();
    }
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void fp8_scaled_gemm(const uint8_t* x, const uint8_t* weight, const float* x_scale,
                                const float* weight_scale, const T* bias, T* y, int64_t batch, int64_t in_features,
                                int64_t out_features, cudaStream_t stream) {
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
