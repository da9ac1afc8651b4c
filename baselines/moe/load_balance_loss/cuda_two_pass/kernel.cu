// Load-balancing loss (Fedus et al. 2021, eq. 4). A warp has a token at a time, whose logits it keeps in registers, and
// adds their softmax to sums of its own, which its lanes keep in registers too; blocks count the choices in shared
// memory. Each block leaves a share of both for every expert; further kernels add these up in order: deterministic.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int WARPS = 8, THREADS = 32 * WARPS, MAX_BLOCKS = 528, MAX_EXPERTS = 512, GROUP = 32;
// The C ABI has no workspace; being the module's own, these allow calls on one stream at a time.
__device__ float probability_shares[MAX_BLOCKS * MAX_EXPERTS];
__device__ int load_shares[MAX_BLOCKS * MAX_EXPERTS];
__device__ float group_losses[MAX_EXPERTS / GROUP];

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

__device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

// HELD logits a lane, in vectors of V.
template <int HELD, int V>
__global__ void __launch_bounds__(THREADS)
    share(const T* __restrict__ logits, const int64_t* __restrict__ expert, int64_t tokens, int experts,
          int64_t choices) {
    __shared__ float sums[WARPS][32 * HELD];
    __shared__ int counts[32 * HELD];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int e = threadIdx.x; e < experts; e += THREADS) counts[e] = 0;
    __syncthreads();
    for (int64_t i = int64_t(blockIdx.x) * THREADS + threadIdx.x; i < choices; i += int64_t(gridDim.x) * THREADS)
        atomicAdd(&counts[expert[i]], 1);

    float total[HELD] = {};
    for (int64_t token = int64_t(blockIdx.x) * WARPS + warp; token < tokens; token += int64_t(gridDim.x) * WARPS) {
        const auto* from = reinterpret_cast<const Pack<V>*>(logits + token * experts);
        float value[HELD], top = -INFINITY, sum = 0.0f;
#pragma unroll
        for (int i = 0; i < HELD / V; ++i) {
            const bool inside = (i * 32 + lane) * V < experts;
            Pack<V> pack;
            if (inside) pack = from[i * 32 + lane];
#pragma unroll
            for (int e = 0; e < V; ++e) value[i * V + e] = inside ? float(pack.at[e]) : -INFINITY;
        }
#pragma unroll
        for (int i = 0; i < HELD; ++i) top = fmaxf(top, value[i]);
        top = warp_max(top);
#pragma unroll
        for (int i = 0; i < HELD; ++i) {
            value[i] = expf(value[i] - top);
            sum += value[i];
        }
        const float scale = 1.0f / warp_sum(sum);
#pragma unroll
        for (int i = 0; i < HELD; ++i) total[i] += value[i] * scale;
    }
#pragma unroll
    for (int i = 0; i < HELD; ++i) sums[warp][(i / V * 32 + lane) * V + i % V] = total[i];
    __syncthreads();
    for (int e = threadIdx.x; e < experts; e += THREADS) {
        float all = 0.0f;
        for (int w = 0; w < WARPS; ++w) all += sums[w][e];
        probability_shares[int(blockIdx.x) * experts + e] = all;
        load_shares[int(blockIdx.x) * experts + e] = counts[e];
    }
}

// GROUP experts a block; its warps share the blocks of the first kernel.
__global__ void __launch_bounds__(32 * GROUP)
    add_shares(T* __restrict__ probability, int64_t* __restrict__ load, int64_t tokens, int experts, int blocks) {
    __shared__ float sums[32][GROUP];
    __shared__ int counts[32][GROUP];
    const int lane = threadIdx.x % GROUP, warp = threadIdx.x / GROUP, own = int(blockIdx.x) * GROUP + lane;
    float sum = 0.0f;
    int count = 0;
    if (own < experts) {
#pragma unroll 4
        for (int block = warp; block < blocks; block += 32) {
            sum += probability_shares[block * experts + own];
            count += load_shares[block * experts + own];
        }
    }
    sums[warp][lane] = sum;
    counts[warp][lane] = count;
    __syncthreads();
    if (warp > 0) return;
    for (int w = 1; w < 32; ++w) {
        sum += sums[w][lane];
        count += counts[w][lane];
    }
    const float mean = sum / float(tokens);
    if (own < experts) {
        probability[own] = T(mean);
        load[own] = count;
    }
    const float loss = warp_sum(own < experts ? mean * float(count) : 0.0f);
    if (lane == 0) group_losses[blockIdx.x] = loss;
}

__global__ void add_groups(T* loss, int groups, int experts, int64_t choices) {
    const float total = warp_sum(threadIdx.x < groups ? group_losses[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) *loss = T(total * (float(experts) / float(choices)));
}

template <int HELD>
void launch(const T* logits, const int64_t* expert, int64_t tokens, int experts, int64_t choices, int blocks,
            cudaStream_t stream) {
    constexpr int V = HELD < int(16 / sizeof(T)) ? HELD : int(16 / sizeof(T));
    const bool vectors = experts % V == 0 && reinterpret_cast<uintptr_t>(logits) % (V * sizeof(T)) == 0;
    const auto kernel = vectors ? share<HELD, V> : share<HELD, 1>;
    kernel<<<blocks, THREADS, 0, stream>>>(logits, expert, tokens, experts, choices);
}

}  // namespace

extern "C" void load_balance_loss(const T* logits, const int64_t* expert, T* loss, T* probability, int64_t* load,
                                  int64_t tokens, int64_t experts, int64_t chosen, cudaStream_t stream) {
    const auto blocks = static_cast<int>(std::min<int64_t>((tokens + WARPS - 1) / WARPS, MAX_BLOCKS));
    const auto run = experts <= 32    ? launch<1>
                     : experts <= 64  ? launch<2>
                     : experts <= 128 ? launch<4>
                     : experts <= 256 ? launch<8>
                                      : launch<16>;
    run(logits, expert, tokens, int(experts), tokens * chosen, blocks, stream);
    const auto groups = static_cast<int>((experts + GROUP - 1) / GROUP);
    add_shares<<<groups, 32 * GROUP, 0, stream>>>(probability, load, tokens, int(experts), blocks);
    add_groups<<<1, 32, 0, stream>>>(loss, groups, int(experts), tokens * chosen);
}
