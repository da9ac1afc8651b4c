// Maximum over the middle axis (torch.amax), bound by reading x once. Without an inner axis, groups of threads share a
// row of neighbouring elements; with one, neighbouring threads have neighbouring columns, and blocks share the rows.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, UNROLL = 4;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

constexpr float START = -INFINITY;
// NaN is greater than every number.
__device__ float joined(float a, float b) { return a > b || a != a ? a : b; }

// What `lanes` neighbouring threads have, joined; a power of two up to the size of the block.
__device__ float join_lanes(float value, int lanes) {
    __shared__ float partial[THREADS / 32];
    for (int offset = min(lanes, 32) / 2; offset > 0; offset /= 2)
        value = joined(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (lanes <= 32) return value;
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    const int first = threadIdx.x / lanes * (lanes / 32);
    value = partial[first];
    for (int warp = 1; warp < lanes / 32; ++warp) value = joined(value, partial[first + warp]);
    return value;
}

// Rows of consecutive elements (inner is 1), `lanes` threads each: vectors of 16 bytes from the first multiple of 16
// on, single elements before and behind them.
__global__ void __launch_bounds__(THREADS)
    reduce_rows(const T* __restrict__ x, T* __restrict__ y, int64_t rows, int64_t length, int lanes) {
    constexpr int V = 16 / sizeof(T);
    const int64_t row = (int64_t(blockIdx.x) * THREADS + threadIdx.x) / lanes;
    const int lane = threadIdx.x % lanes;
    float best[V];
    for (float& value : best) value = START;
    if (row < rows) {
        const T* from = x + row * length;
        const int64_t before = (16 - reinterpret_cast<uintptr_t>(from) % 16) % 16 / sizeof(T);
        const int64_t head = before < length ? before : length, vectors = (length - head) / V;
        const auto* packs = reinterpret_cast<const Pack<V>*>(from + head);
        for (int64_t i = lane; i < head; i += lanes) best[0] = joined(best[0], float(from[i]));
#pragma unroll 4
        for (int64_t v = lane; v < vectors; v += lanes) {
            const Pack<V> pack = packs[v];
#pragma unroll
            for (int e = 0; e < V; ++e) best[e] = joined(best[e], float(pack.at[e]));
        }
        for (int64_t i = head + vectors * V + lane; i < length; i += lanes) best[0] = joined(best[0], float(from[i]));
    }
#pragma unroll
    for (int e = 1; e < V; ++e) best[0] = joined(best[0], best[e]);
    const float result = join_lanes(best[0], lanes);  // groups past the end stay for it
    if (row < rows && lane == 0) y[row] = T(result);
}

// Columns of a slice: threads along x have V neighbouring columns each, those along y share the rows.
template <int V>
__global__ void __launch_bounds__(4 * THREADS)
    reduce_columns(const T* __restrict__ x, T* __restrict__ y, int64_t length, int64_t inner, int64_t tiles) {
    __shared__ float partial[4 * THREADS][V + 1];
    const int64_t slice = blockIdx.x / tiles, col = (blockIdx.x % tiles * blockDim.x + threadIdx.x) * V;
    float best[UNROLL][V];
    for (auto& part : best)
        for (float& value : part) value = START;
    if (col < inner) {
        const T* from = x + slice * length * inner + col;
        const auto join = [&](int64_t row, float (&with)[V]) {
            const auto pack = *reinterpret_cast<const Pack<V>*>(from + row * inner);
#pragma unroll
            for (int e = 0; e < V; ++e) with[e] = joined(with[e], float(pack.at[e]));
        };
        int64_t row = threadIdx.y;
        for (; row + (UNROLL - 1) * blockDim.y < length; row += UNROLL * blockDim.y) {
#pragma unroll
            for (int i = 0; i < UNROLL; ++i) join(row + i * blockDim.y, best[i]);
        }
        for (; row < length; row += blockDim.y) join(row, best[0]);
    }
    float* own = partial[threadIdx.y * blockDim.x + threadIdx.x];
#pragma unroll
    for (int e = 0; e < V; ++e) own[e] = joined(joined(best[0][e], best[1][e]), joined(best[2][e], best[3][e]));
    for (int half = blockDim.y / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.y >= half) continue;
        const float* other = partial[(threadIdx.y + half) * blockDim.x + threadIdx.x];
        for (int e = 0; e < V; ++e) own[e] = joined(own[e], other[e]);
    }
    if (threadIdx.y > 0 || col >= inner) return;
    Pack<V> pack;
#pragma unroll
    for (int e = 0; e < V; ++e) {
        const float result = own[e];
        pack.at[e] = T(result);
    }
    *reinterpret_cast<Pack<V>*>(y + slice * inner + col) = pack;
}

template <int V>
void launch_columns(const T* x, T* y, int64_t outer, int64_t length, int64_t inner, cudaStream_t stream) {
    // 128 bytes of a row are enough for whole lines; narrow slices leave more threads to the rows.
    unsigned across = 1;
    while (across < 128 / (V * sizeof(T)) && across * V < inner) across *= 2;
    const int64_t tiles = (inner + across * V - 1) / (across * V), blocks = outer * tiles;
    unsigned down = 1;  // large blocks where few must keep a GPU busy
    while (across * down < (blocks < 512 ? 4 * THREADS : THREADS) && down < length) down *= 2;
    reduce_columns<V><<<static_cast<unsigned>(blocks), dim3(across, down), 0, stream>>>(x, y, length, inner, tiles);
}

bool aligned(const T* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void row_max(const T* x, T* y, int64_t outer, int64_t length, int64_t inner, cudaStream_t stream) {
    if (outer == 0) return;  // a grid must not be empty
    constexpr int V = 16 / sizeof(T);
    if (inner == 1) {
        int lanes = 1;
        while (lanes < THREADS && lanes * V * UNROLL < length) lanes *= 2;
        const auto blocks = static_cast<unsigned>((outer * lanes + THREADS - 1) / THREADS);
        reduce_rows<<<blocks, THREADS, 0, stream>>>(x, y, outer, length, lanes);
    } else {
        const bool vectors = inner % V == 0 && aligned(x) && aligned(y);
        (vectors ? launch_columns<V> : launch_columns<1>)(x, y, outer, length, inner, stream);
    }
}
