// Top-k gate of a mixture of experts (Jiang et al. 2024): a warp has a token, whose logits it reads once and keeps in
// registers, as unsigned keys in the order of their values. Each round finds the largest key of the warp, takes it out
// of the lane that has it, and gives it to the lane of that rank; then the warp has the softmax over all of them.
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int WARPS = 8;
constexpr unsigned ALL = 0xffffffffu, NOTHING = 0;  // below the key of minus infinity

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// Positive numbers get the upper half, and negative ones, whose bits are in reverse order, are turned over.
__device__ unsigned key_of(float value) {
    const unsigned bits = __float_as_uint(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ float value_of(unsigned key) { return __uint_as_float(key & 0x80000000u ? key ^ 0x80000000u : ~key); }

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(ALL, value, offset);
    return value;
}

// HELD logits a lane, in vectors of V.
template <int HELD, int V>
__global__ void __launch_bounds__(32 * WARPS)
    choose(const T* __restrict__ logits, T* __restrict__ weights, int64_t* __restrict__ indices, int64_t tokens,
           int experts, int count) {
    const int lane = threadIdx.x % 32;
    const int64_t token = int64_t(blockIdx.x) * WARPS + threadIdx.x / 32;
    if (token >= tokens) return;  // a whole warp
    const auto* from = reinterpret_cast<const Pack<V>*>(logits + token * experts);
    unsigned keys[HELD];
#pragma unroll
    for (int i = 0; i < HELD / V; ++i) {
        const bool inside = (i * 32 + lane) * V < experts;
        Pack<V> pack;
        if (inside) pack = from[i * 32 + lane];
#pragma unroll
        for (int e = 0; e < V; ++e) keys[i * V + e] = inside ? key_of(float(pack.at[e])) : NOTHING;
    }

    // The lane's largest key, and which of its own that is.
    unsigned best = NOTHING;
    int slot = 0;
    const auto find_best = [&] {
        best = NOTHING;
#pragma unroll
        for (int i = 0; i < HELD; ++i)
            if (keys[i] > best) {
                best = keys[i];
                slot = i;
            }
    };
    find_best();
    unsigned own = NOTHING, highest = NOTHING;
    int expert = 0;
    for (int rank = 0; rank < count; ++rank) {
        const unsigned top = __reduce_max_sync(ALL, best);
        const int winner = __ffs(__ballot_sync(ALL, best == top)) - 1;
        const int place = __shfl_sync(ALL, slot, winner);
        if (rank == 0) highest = top;
        if (lane == rank) {
            own = top;
            expert = (place / V * 32 + winner) * V + place % V;
        }
        if (lane == winner) {
#pragma unroll
            for (int i = 0; i < HELD; ++i)
                if (i == slot) keys[i] = NOTHING;
            find_best();
        }
    }
    const float power = lane < count ? expf(value_of(own) - value_of(highest)) : 0.0f, total = warp_sum(power);
    if (lane >= count) return;
    weights[token * count + lane] = T(power / total);
    indices[token * count + lane] = expert;
}

template <int HELD>
void launch(const T* logits, T* weights, int64_t* indices, int64_t tokens, int64_t experts, int64_t count,
            cudaStream_t stream) {
    // Not more than 16 bytes, and not more than it takes to give every lane its share.
    constexpr int V = HELD < int(16 / sizeof(T)) ? HELD : int(16 / sizeof(T));
    const bool vectors = experts % V == 0 && reinterpret_cast<uintptr_t>(logits) % (V * sizeof(T)) == 0;
    const auto kernel = vectors ? choose<HELD, V> : choose<HELD, 1>;
    const auto blocks = static_cast<unsigned>((tokens + WARPS - 1) / WARPS);
    kernel<<<blocks, 32 * WARPS, 0, stream>>>(logits, weights, indices, tokens, int(experts), int(count));
}

}  // namespace

extern "C" void topk_gating(const T* logits, int64_t, T* weights, int64_t* indices, int64_t tokens, int64_t experts,
                            int64_t count, cudaStream_t stream) {
    const auto run = experts <= 32    ? launch<1>
                     : experts <= 64  ? launch<2>
                     : experts <= 128 ? launch<4>
                     : experts <= 256 ? launch<8>
                                      : launch<16>;
    run(logits, weights, indices, tokens, experts, count, stream);
}
