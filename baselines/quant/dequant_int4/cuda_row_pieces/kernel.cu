// Dequantisation of four-bit weights in groups of 128 (Frantar et al. 2022; Lin et al. 2023): a block has a piece of a
// row, a thread turns 4 bytes at a time into 8 weights, where the addresses allow it. A group is 64 bytes.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int HELD = 4, GROUP_BYTES = 64, MAX_THREADS = 128;

// V neighbouring elements, moved in transactions of BYTES.
template <typename E, int V, int BYTES>
struct alignas(BYTES) Pack {
    E at[V];
};

template <int V>
__global__ void __launch_bounds__(MAX_THREADS)
    dequantise(const uint8_t* __restrict__ packed, const T* __restrict__ scale, const uint8_t* __restrict__ zero,
               T* __restrict__ y, int64_t pairs, int pieces, int groups) {
    const int64_t row = blockIdx.x / pieces;
    const int vectors = int(pairs / V), first = blockIdx.x % pieces * blockDim.x * HELD + threadIdx.x;
    using Codes = Pack<uint8_t, V, V>;
    using Weights = Pack<T, 2 * V, V == 1 ? sizeof(T) : 16>;
    const auto* from = reinterpret_cast<const Codes*>(packed + row * pairs);
    auto* to = reinterpret_cast<Weights*>(y + row * 2 * pairs);
    Codes held[HELD];
    float factor[HELD];
    int offset[HELD];
    // All loads are under way before the first is needed; those of a group's scale and zero point hit the L1 cache.
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        const int place = first + i * blockDim.x;
        if (place >= vectors) continue;
        held[i] = from[place];
        factor[i] = float(scale[row * groups + place * V / GROUP_BYTES]);
        offset[i] = zero[row * groups + place * V / GROUP_BYTES];
    }
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        const int place = first + i * blockDim.x;
        if (place >= vectors) continue;
        Weights weights;
#pragma unroll
        for (int e = 0; e < V; ++e) {
            // Differences are exact, and so are products with a half: all is rounded once.
            weights.at[2 * e] = T(float((held[i].at[e] & 15) - offset[i]) * factor[i]);
            weights.at[2 * e + 1] = T(float((held[i].at[e] >> 4) - offset[i]) * factor[i]);
        }
        to[place] = weights;
    }
}

template <int V>
void launch(const uint8_t* packed, const T* scale, const uint8_t* zero, T* y, int64_t rows, int64_t pairs,
            cudaStream_t stream) {
    const int64_t vectors = pairs / V, warps = (vectors + 32 * HELD - 1) / (32 * HELD);
    const int64_t threads = 32 * std::min<int64_t>(warps, MAX_THREADS / 32);
    const int64_t pieces = (vectors + threads * HELD - 1) / (threads * HELD);
    dequantise<V><<<static_cast<unsigned>(rows * pieces), static_cast<unsigned>(threads), 0, stream>>>(
        packed, scale, zero, y, pairs, int(pieces), int((2 * pairs + 127) / 128));
}

}  // namespace

extern "C" void dequant_int4(const uint8_t* packed, const T* scale, const uint8_t* zero, T* y, int64_t rows,
                             int64_t pairs, cudaStream_t stream) {
    if (rows == 0) return;  // a grid without blocks is an error
    const bool vectors = pairs % 4 == 0 && reinterpret_cast<uintptr_t>(packed) % 4 == 0 &&
                         reinterpret_cast<uintptr_t>(y) % 16 == 0;
    (vectors ? launch<4> : launch<1>)(packed, scale, zero, y, rows, pairs, stream);
}
