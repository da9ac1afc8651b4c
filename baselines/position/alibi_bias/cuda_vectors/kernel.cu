// Attention with linear biases (Press et al. 2021), bound by memory: threads lie along the keys of a query, in vectors
// of 16 bytes, several loads under way at a time. The bias is computed on the way, in float32.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, UNROLL = 4;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// Blocks (., h) have queries of head h.
template <int V>
__global__ void __launch_bounds__(THREADS) add_bias(const T* __restrict__ scores, const T* __restrict__ slope,
                                                    T* __restrict__ y, int queries, int keys) {
    const int query = blockIdx.x * blockDim.y + threadIdx.y;
    if (query >= queries) return;
    const float steep = float(slope[blockIdx.y]);
    const int place = keys - queries + query;  // queries stand at the last positions
    const int64_t row = (int64_t(blockIdx.y) * queries + query) * keys;
    const auto* from = reinterpret_cast<const Pack<V>*>(scores + row);
    auto* to = reinterpret_cast<Pack<V>*>(y + row);
    for (int first = threadIdx.x; first < keys / V; first += UNROLL * blockDim.x) {
        Pack<V> held[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i)
            if (first + int(i * blockDim.x) < keys / V) held[i] = from[first + i * blockDim.x];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            const int v = first + i * blockDim.x;
            if (v >= keys / V) continue;
#pragma unroll
            for (int e = 0; e < V; ++e)
                held[i].at[e] = T(float(held[i].at[e]) + steep * float(v * V + e - place));
            to[v] = held[i];
        }
    }
}

template <int V>
void launch(const T* scores, const T* slope, T* y, int64_t heads, int64_t queries, int64_t keys, cudaStream_t stream) {
    // Eight vectors are whole lines; beyond these a thread takes several.
    unsigned across = 1;
    while (across < THREADS && across < keys / V && (across < 8 || across * UNROLL < keys / V)) across *= 2;
    const dim3 threads(across, THREADS / across);
    const dim3 blocks(static_cast<unsigned>((queries + threads.y - 1) / threads.y), static_cast<unsigned>(heads));
    add_bias<V><<<blocks, threads, 0, stream>>>(scores, slope, y, int(queries), int(keys));
}

bool aligned(const T* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void alibi_bias(const T* scores, const T* slope, T* y, int64_t heads, int64_t queries, int64_t keys,
                           cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = keys % V == 0 && aligned(scores) && aligned(y);
    (vectors ? launch<V> : launch<1>)(scores, slope, y, heads, queries, keys, stream);
}
