// First half of experts with a gated unit, silu(x Wg^T) * (x Wu^T) (Shazeer 2020, eq. 5), on groups of rows (Gale et
// al. 2022) in one kernel: each block finds out whose rows its tile has. Tiles are multiplied as tile.cuh does: halves
// on tensor cores. 16 rows of Wg and 16 of Wu take turns, so that who has a sum of one has its partner too.
#include <algorithm>
#include <cstdint>

#include "tile.cuh"

namespace {

constexpr int MAX_EXPERTS = 128;

template <int V, int TILE>
__global__ void __launch_bounds__(2 * TILE)
    multiply(const T* __restrict__ x, const int64_t* __restrict__ offsets, const T* __restrict__ gate_weight,
             const T* __restrict__ up_weight, T* __restrict__ y, int experts, int hidden, int inner, int most_tiles) {
    constexpr int STAGES = 256 / TILE;  // pieces in flight: as many bytes of small ones as of large ones
    __shared__ Piece<TILE> left[STAGES], right[STAGES];
    __shared__ int ends[MAX_EXPERTS + 1];
    for (int i = threadIdx.x; i <= experts; i += 2 * TILE) ends[i] = int(offsets[i]);
    __syncthreads();
    // Tiles of one column follow each other, so that blocks that run together share weights in the L2 cache. An
    // expert's tiles begin with its rows; no more than `most_tiles` hold all rows, and fewer may do.
    int tile = blockIdx.x % most_tiles, expert = 0;
    const int col = blockIdx.x / most_tiles * (TILE / 2);
    for (; expert < experts; ++expert) {
        const int own = (ends[expert + 1] - ends[expert] + TILE - 1) / TILE;
        if (tile < own) break;
        tile -= own;
    }
    if (expert == experts) return;
    const int row = ends[expert] + tile * TILE, end = ends[expert + 1];
    const int64_t first = int64_t(expert) * inner * hidden;
    const auto left_line = [&](int i) { return row + i < end ? x + int64_t(row + i) * hidden : nullptr; };
    const auto right_line = [&](int i) {
        const int feature = col + i / 32 * 16 + i % 16;
        return feature < inner ? (i / 16 % 2 ? up_weight : gate_weight) + first + int64_t(feature) * hidden : nullptr;
    };
    const auto fetch = [&](int depth, int buffer) {
        left[buffer].template fetch<V>(left_line, x, depth, hidden);
        right[buffer].template fetch<V>(right_line, gate_weight, depth, hidden);
        __pipeline_commit();
    };

    Sums<TILE> sums;
    for (int ahead = 0; ahead < STAGES - 1; ++ahead) fetch(ahead * DEPTH, ahead);
    for (int depth = 0, now = 0; depth < hidden; depth += DEPTH, now = (now + 1) % STAGES) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();  // the oldest pieces are complete, and nobody reads the ones before them any more
        fetch(depth + (STAGES - 1) * DEPTH, (now + STAGES - 1) % STAGES);
        sums.multiply(left[now], right[now]);
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    sums.each(reinterpret_cast<float*>(left), [&](int i, int j, float gate, float up) {
        const int column = col + j / 32 * 16 + j % 16;
        if (row + i < end && column < inner)
            y[int64_t(row + i) * inner + column] = T(gate / (1.0f + expf(-gate)) * up);
    });
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

template <int V, int TILE>
void launch(const T* x, const int64_t* offsets, const T* gate_weight, const T* up_weight, T* y, int64_t rows,
            int64_t experts, int64_t hidden, int64_t inner, cudaStream_t stream) {
    // Every expert with rows has at most one tile that is not full.
    const int64_t most_tiles = rows / TILE + std::min(rows, experts), columns = (inner + TILE / 2 - 1) / (TILE / 2);
    multiply<V, TILE><<<static_cast<unsigned>(most_tiles * columns), 2 * TILE, 0, stream>>>(
        x, offsets, gate_weight, up_weight, y, int(experts), int(hidden), int(inner), int(most_tiles));
}

}  // namespace

extern "C" void grouped_swiglu(const T* x, const int64_t* offsets, const T* gate_weight, const T* up_weight, T* y,
                               int64_t rows, int64_t experts, int64_t hidden, int64_t inner, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = hidden % V == 0 && aligned(x) && aligned(gate_weight) && aligned(up_weight);
    // Small tiles where large ones would be mostly empty, or too few to keep a GPU busy.
    const int64_t each = rows / experts;
    const auto tiles = [&](int64_t size) { return (rows / size + 1) * ((2 * inner + size - 1) / size); };
    const auto run = each > 64 && tiles(128) >= 128  ? (vectors ? launch<V, 128> : launch<1, 128>)
                     : each > 32 && tiles(64) >= 128 ? (vectors ? launch<V, 64> : launch<1, 64>)
                                                     : (vectors ? launch<V, 32> : launch<1, 32>);
    run(x, offsets, gate_weight, up_weight, y, rows, experts, hidden, inner, stream);
}
