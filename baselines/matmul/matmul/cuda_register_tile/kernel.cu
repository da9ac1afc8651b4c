// Matrix product with tiles in shared memory, double buffered, and up to 8 x 8 outputs a thread in registers: the
// scheme of Volkov and Demmel (2008). Sums in float32, without tensor cores: float is not rounded to TensorFloat-32.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, DEPTH = 8, GROUP = 8;

// V neighbouring elements, moved in one transaction.
template <typename E, int V>
struct alignas(V * sizeof(E)) Pack {
    E at[V];
};
using Quad = Pack<float, 4>;

// A piece of an operand, TILE lines by DEPTH terms of the sum, on its way through registers to shared memory, where it
// is piece[term][line] in float32. V is 4, or 1 where vectors would cross the end of a row or be misaligned.
template <int V, int TILE>
struct Piece {
    static constexpr int VECTORS = TILE * DEPTH / V, COUNT = (VECTORS + THREADS - 1) / THREADS;
    Pack<T, V> held[COUNT];

    // From matrix[line * terms + term].
    __device__ void load_lines(const T* matrix, int first, int lines, int depth, int terms) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int index = threadIdx.x + i * THREADS;
            const int line = first + index / (DEPTH / V), term = depth + index % (DEPTH / V) * V;
            const bool inside = index < VECTORS && line < lines && term < terms;
            const T* from = matrix + int64_t(line) * terms + term;
            held[i] = inside ? *reinterpret_cast<const Pack<T, V>*>(from) : Pack<T, V>{};
        }
    }
    __device__ void store_lines(Quad (*piece)[TILE / 4 + 1]) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int index = threadIdx.x + i * THREADS;
            const int line = index / (DEPTH / V), term = index % (DEPTH / V) * V;
            if (index >= VECTORS) continue;
#pragma unroll
            for (int e = 0; e < V; ++e) piece[term + e][line / 4].at[line % 4] = float(held[i].at[e]);
        }
    }

    // From matrix[term * lines + line].
    __device__ void load_terms(const T* matrix, int first, int lines, int depth, int terms) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int index = threadIdx.x + i * THREADS;
            const int term = depth + index / (TILE / V), line = first + index % (TILE / V) * V;
            const bool inside = index < VECTORS && line < lines && term < terms;
            const T* from = matrix + int64_t(term) * lines + line;
            held[i] = inside ? *reinterpret_cast<const Pack<T, V>*>(from) : Pack<T, V>{};
        }
    }
    __device__ void store_terms(Quad (*piece)[TILE / 4 + 1]) const {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int index = threadIdx.x + i * THREADS;
            const int term = index / (TILE / V), line = index % (TILE / V) * V;
            if (index >= VECTORS) continue;
            if (V == 4) {
                Quad quad;
#pragma unroll
                for (int e = 0; e < V; ++e) quad.at[e] = float(held[i].at[e]);
                piece[term][line / 4] = quad;
            } else {
                piece[term][line / 4].at[line % 4] = float(held[i].at[0]);
            }
        }
    }
};

template <int V, int TILE>
__global__ void __launch_bounds__(THREADS, V > 1 ? 2 : 1)
    multiply(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int n, int k) {
    // A thread owns BLOCKS x BLOCKS squares of 4 x 4 outputs, 64 apart, and so reads shared memory in quads.
    constexpr int BLOCKS = TILE / 64;
    __shared__ Quad left[2][DEPTH][TILE / 4 + 1], right[2][DEPTH][TILE / 4 + 1];
    // Tiles are numbered in groups of GROUP tile rows, so that blocks that run together share operands in the L2 cache.
    const int tiles_m = (m + TILE - 1) / TILE, tiles_n = (n + TILE - 1) / TILE, tile = blockIdx.x;
    const int first = tile / (GROUP * tiles_n) * GROUP, inner = tile % (GROUP * tiles_n);
    const int height = min(tiles_m - first, GROUP);
    const int row = (first + inner % height) * TILE, col = inner / height * TILE;
    const int down = threadIdx.x / 16, across = threadIdx.x % 16;

    Piece<V, TILE> next_left, next_right;
    next_left.load_lines(a, row, m, 0, k);
    next_right.load_terms(b, col, n, 0, k);
    next_left.store_lines(left[0]);
    next_right.store_terms(right[0]);
    __syncthreads();
    float total[BLOCKS][4][BLOCKS][4] = {};
    int now = 0;
    for (int depth = DEPTH; depth < k + DEPTH; depth += DEPTH, now ^= 1) {
        // The loads of the next pieces are under way while these are multiplied.
        if (depth < k) {
            next_left.load_lines(a, row, m, depth, k);
            next_right.load_terms(b, col, n, depth, k);
        }
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            Quad p[BLOCKS], q[BLOCKS];
#pragma unroll
            for (int i = 0; i < BLOCKS; ++i) {
                p[i] = left[now][d][i * 16 + down];
                q[i] = right[now][d][i * 16 + across];
            }
#pragma unroll
            for (int i = 0; i < 4 * BLOCKS; ++i)
#pragma unroll
                for (int j = 0; j < 4 * BLOCKS; ++j)
                    total[i / 4][i % 4][j / 4][j % 4] += p[i / 4].at[i % 4] * q[j / 4].at[j % 4];
        }
        if (depth < k) {
            next_left.store_lines(left[now ^ 1]);
            next_right.store_terms(right[now ^ 1]);
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < 4 * BLOCKS; ++i) {
        const int r = row + i / 4 * 64 + down * 4 + i % 4;
#pragma unroll
        for (int j = 0; j < BLOCKS; ++j) {
            const int first_col = col + j * 64 + across * 4;
            if (r >= m || first_col >= n) continue;
            Pack<T, 4> result;
#pragma unroll
            for (int e = 0; e < 4; ++e) result.at[e] = T(total[i / 4][i % 4][j][e]);
            T* to = c + int64_t(r) * n + first_col;
            if (V > 1) {
                *reinterpret_cast<Pack<T, 4>*>(to) = result;
            } else {
                for (int e = 0; e < 4 && first_col + e < n; ++e) to[e] = result.at[e];
            }
        }
    }
}

bool aligned(const T* pointer) { return reinterpret_cast<uintptr_t>(pointer) % (4 * sizeof(T)) == 0; }

template <int V, int TILE>
void launch(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t k, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(((m + TILE - 1) / TILE) * ((n + TILE - 1) / TILE));
    // An axis fits in 32 bits, a product of two need not.
    multiply<V, TILE><<<blocks, THREADS, 0, stream>>>(a, b, c, int(m), int(n), int(k));
}

}  // namespace

extern "C" void matmul(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t k, cudaStream_t stream) {
    const bool vectors = k % 4 == 0 && n % 4 == 0 && aligned(a) && aligned(b) && aligned(c);
    // Small tiles where large ones would be too few to keep a GPU busy.
    const bool large = ((m + 127) / 128) * ((n + 127) / 128) >= 128;
    const auto run = vectors ? (large ? launch<4, 128> : launch<4, 64>) : (large ? launch<1, 128> : launch<1, 64>);
    run(a, b, c, m, n, k, stream);
}
