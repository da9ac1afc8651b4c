// Gated feed-forward block of Llama, (silu(x Wg^T) * (x Wu^T)) Wd^T (Shazeer 2020, eq. 6), in two kernels: the products
// of x with the gate between them, then the last product. Blocks multiply tiles as tile.cuh does: halves on tensor
// cores. In the first, 16 rows of Wg and 16 of Wu take turns, so that who has a sum of one has its partner too.
#include <cstdint>

#include "tile.cuh"

namespace {

// y[m][n] = x[m][k] first[n][k]^T, or if GATED, y[m][n] = silu(x first^T) * (x second^T).
template <int V, int TILE, bool GATED>
__global__ void __launch_bounds__(2 * TILE)
    multiply(const T* __restrict__ x, const T* __restrict__ first, const T* __restrict__ second, T* __restrict__ y,
             int m, int n, int k) {
    constexpr int STAGES = 256 / TILE;  // pieces in flight: as many bytes of small ones as of large ones
    __shared__ Piece<TILE> left[STAGES], right[STAGES];
    // Tiles of one column follow each other, so that blocks that run together share operands in the L2 cache.
    const int tiles_m = (m + TILE - 1) / TILE, row = blockIdx.x % tiles_m * TILE;
    const int col = blockIdx.x / tiles_m * (GATED ? TILE / 2 : TILE);
    const auto left_line = [&](int i) { return row + i < m ? x + int64_t(row + i) * k : nullptr; };
    const auto right_line = [&](int i) {
        const int feature = col + (GATED ? i / 32 * 16 + i % 16 : i);
        return feature < n ? (GATED && i / 16 % 2 ? second : first) + int64_t(feature) * k : nullptr;
    };
    const auto fetch = [&](int depth, int buffer) {
        left[buffer].template fetch<V>(left_line, x, depth, k);
        right[buffer].template fetch<V>(right_line, first, depth, k);
        __pipeline_commit();
    };

    Sums<TILE> sums;
    for (int ahead = 0; ahead < STAGES - 1; ++ahead) fetch(ahead * DEPTH, ahead);
    for (int depth = 0, now = 0; depth < k; depth += DEPTH, now = (now + 1) % STAGES) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();  // the oldest pieces are complete, and nobody reads the ones before them any more
        fetch(depth + (STAGES - 1) * DEPTH, (now + STAGES - 1) % STAGES);
        sums.multiply(left[now], right[now]);
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    sums.each(reinterpret_cast<float*>(left), [&](int i, int j, float one, float other) {
        const int column = col + (GATED ? j / 32 * 16 + j % 16 : j);
        if (row + i >= m || column >= n) return;
        T* to = y + int64_t(row + i) * n + column;
        if (GATED) one = one / (1.0f + expf(-one)) * other;
        *to = T(one);
        if (!GATED && column + 16 < n) to[16] = T(other);
    });
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

template <int V, int TILE>
void launch(const T* x, const T* gate_weight, const T* up_weight, const T* down_weight, T* gated, T* y, int tokens,
            int hidden, int inner, cudaStream_t stream) {
    const auto tiles = [](int size, int edge) { return unsigned((size + edge - 1) / edge); };
    multiply<V, TILE, true><<<tiles(tokens, TILE) * tiles(inner, TILE / 2), 2 * TILE, 0, stream>>>(
        x, gate_weight, up_weight, gated, tokens, inner, hidden);
    multiply<V, TILE, false><<<tiles(tokens, TILE) * tiles(hidden, TILE), 2 * TILE, 0, stream>>>(
        gated, down_weight, down_weight, y, tokens, hidden, inner);
}

}  // namespace

extern "C" void llama_ffw(const T* x, const T* gate_weight, const T* up_weight, const T* down_weight, T* y,
                          int64_t tokens, int64_t hidden, int64_t inner, cudaStream_t stream) {
    // The gated values have no place in the outputs.
    T* gated = nullptr;
    if (cudaMallocAsync(reinterpret_cast<void**>(&gated), tokens * inner * sizeof(T), stream) != cudaSuccess) return;
    constexpr int V = 16 / sizeof(T);
    const bool vectors = hidden % V == 0 && inner % V == 0 && aligned(x) && aligned(gate_weight) &&
                         aligned(up_weight) && aligned(down_weight);
    // Small tiles where large ones would be mostly empty, or too few to keep a GPU busy.
    const auto tiles = [&](int64_t size) { return ((tokens + size - 1) / size) * ((hidden + size - 1) / size); };
    const auto run = tokens > 64 && tiles(128) >= 128  ? (vectors ? launch<V, 128> : launch<1, 128>)
                     : tokens > 32 && tiles(64) >= 128 ? (vectors ? launch<V, 64> : launch<1, 64>)
                                                       : (vectors ? launch<V, 32> : launch<1, 32>);
    run(x, gate_weight, up_weight, down_weight, gated, y, int(tokens), int(hidden), int(inner), stream);
    cudaFreeAsync(gated, stream);
}
