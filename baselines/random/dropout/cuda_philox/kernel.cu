// Dropout (Srivastava et al. 2014) with the counter-based generator Philox 4x32-10 (Salmon et al. 2011). The counter is
// the place of four elements, the key is the seed: a result depends on nothing else, least of all on who computes it.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256;
constexpr int V = 16 / sizeof(T);  // elements of a thread: one draw of four numbers, or two

// V neighbouring elements, moved in one transaction.
struct alignas(16) Pack {
    T at[V];
};

struct Draw {
    uint32_t at[4];
};

__device__ Draw philox(uint64_t counter, uint64_t seed) {
    Draw draw{{uint32_t(counter), uint32_t(counter >> 32), 0, 0}};
    uint32_t first_key = uint32_t(seed), second_key = uint32_t(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const uint64_t left = uint64_t(0xD2511F53u) * draw.at[0], right = uint64_t(0xCD9E8D57u) * draw.at[2];
        draw = {{uint32_t(right >> 32) ^ draw.at[1] ^ first_key, uint32_t(right),
                 uint32_t(left >> 32) ^ draw.at[3] ^ second_key, uint32_t(left)}};
        first_key += 0x9E3779B9u;
        second_key += 0xBB67AE85u;
    }
    return draw;
}

// VECTORS: whole packs are moved at once. Those that are not whole, or not aligned, go element by element.
template <bool VECTORS>
__global__ void __launch_bounds__(THREADS) drop(const T* __restrict__ x, T* __restrict__ y, int64_t size,
                                                uint64_t seed, uint64_t threshold, float scale) {
    const int64_t first = (int64_t(blockIdx.x) * THREADS + threadIdx.x) * V;
    if (first >= size) return;
    const bool whole = VECTORS && first + V <= size;
    Pack pack{};
    if (whole)
        pack = *reinterpret_cast<const Pack*>(x + first);
    else
        for (int e = 0; e < V; ++e)
            if (first + e < size) pack.at[e] = x[first + e];
#pragma unroll
    for (int i = 0; i < V; i += 4) {
        const Draw draw = philox((first + i) / 4, seed);
#pragma unroll
        for (int e = 0; e < 4; ++e)
            pack.at[i + e] = T(draw.at[e] >= threshold ? float(pack.at[i + e]) * scale : 0.0f);
    }
    if (whole)
        *reinterpret_cast<Pack*>(y + first) = pack;
    else
        for (int e = 0; e < V; ++e)
            if (first + e < size) y[first + e] = pack.at[e];
}

}  // namespace

extern "C" void dropout(const T* x, double p, int64_t seed, T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    const int64_t size = rows * cols;
    if (size == 0) return;  // a grid must not be empty
    const bool vectors = (reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y)) % 16 == 0;
    const auto blocks = static_cast<unsigned>((size + THREADS * V - 1) / (THREADS * V));
    const auto kernel = vectors ? drop<true> : drop<false>;
    const auto threshold = static_cast<uint64_t>(p * 4294967296.0);  // that many of 2^32 draws are zeros, be it all
    kernel<<<blocks, THREADS, 0, stream>>>(x, y, size, uint64_t(seed), threshold, float(1.0 / (1.0 - p)));
}
