// Attention of one query to a cache of eight-bit keys and values (Hooper et al. 2024), bound by reading the cache once.
// As in Flash-Decoding (Dao et al. 2023), blocks share the keys of a head, and a second kernel joins their results. In
// a block, a few lanes share a key, 16 codes each, and go through their keys with an online softmax of their own.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int WARPS = 4, THREADS = 32 * WARPS, UNROLL = 4, MAX_DIMS = 128, BLOCKS = 1056, MAX_SPLITS = 128;
constexpr float LOWEST = -3e38f;  // unlike -inf, it can be subtracted from itself

// V neighbouring codes, moved in one transaction.
template <int V>
struct alignas(V) Codes {
    uint8_t at[V];
};

// Of each split of each head: sums of weighted values, the sum of the weights, and the maximum both are relative to.
struct Parts {
    float *values, *totals, *tops;
};

// A code without its zero point of 128, both exact. Put into the fraction of 2^23, it costs no conversion, of which
// there are few a cycle.
__device__ float number(uint8_t code) { return __uint_as_float(0x4b000000u | code) - 8388736.0f; }

// LANES lanes share a key, each with COUNT dimensions: neighbours in vectors, or else every LANES-th.
template <bool VECTORS, int LANES, int COUNT>
__global__ void __launch_bounds__(THREADS)
    attend(const T* __restrict__ q, const uint8_t* __restrict__ k, const uint8_t* __restrict__ v,
           const float* __restrict__ k_scale, const float* __restrict__ v_scale, Parts parts, int length, int dims,
           float scale) {
    __shared__ float values[WARPS][MAX_DIMS], totals[WARPS], tops[WARPS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, own = lane % LANES;
    const int64_t head = blockIdx.x, first = head * length;
    const int share = (length + gridDim.y - 1) / gridDim.y, begin = blockIdx.y * share;
    const int end = min(begin + share, length);
    const auto dim_of = [&](int e) { return VECTORS ? own * COUNT + e : own + e * LANES; };
    const auto load = [&](const uint8_t* from, int key, Codes<COUNT>& codes) {
        from += (first + key) * dims;
        if (VECTORS) {
            codes = *reinterpret_cast<const Codes<COUNT>*>(from + own * COUNT);
        } else {
#pragma unroll
            for (int e = 0; e < COUNT; ++e) codes.at[e] = dim_of(e) < dims ? from[dim_of(e)] : 128;
        }
    };

    float query[COUNT], result[COUNT] = {}, top = LOWEST, total = 0.0f;
#pragma unroll
    for (int e = 0; e < COUNT; ++e) query[e] = dim_of(e) < dims ? float(q[head * dims + dim_of(e)]) * scale : 0.0f;
    constexpr int KEYS = THREADS / LANES;  // of the block at a time
    for (int start = begin; start < end; start += UNROLL * KEYS) {
        Codes<COUNT> keys[UNROLL], held[UNROLL];
        float score[UNROLL], factor[UNROLL];
        // All loads are under way before the first is needed. Past the end the last key is read again.
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            const int key = min(start + i * KEYS + int(threadIdx.x) / LANES, end - 1);
            load(k, key, keys[i]);
            load(v, key, held[i]);
            score[i] = k_scale[first + key];
            factor[i] = v_scale[first + key];
        }
        float high = top;
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            float sum = 0.0f;
#pragma unroll
            for (int e = 0; e < COUNT; ++e) sum += query[e] * number(keys[i].at[e]);
#pragma unroll
            for (int offset = LANES / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
            const bool inside = start + i * KEYS + int(threadIdx.x) / LANES < end;
            score[i] = inside ? sum * score[i] : LOWEST;
            high = fmaxf(high, score[i]);
        }
        const float shrink = exp2f(top - high);
        top = high, total *= shrink;
#pragma unroll
        for (int e = 0; e < COUNT; ++e) result[e] *= shrink;
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            const float weight = score[i] == LOWEST ? 0.0f : exp2f(score[i] - high);
            total += weight;
#pragma unroll
            for (int e = 0; e < COUNT; ++e) result[e] += weight * factor[i] * number(held[i].at[e]);
        }
    }

    // The lanes of a dimension join, then the warps.
    float base = top;
    for (int offset = LANES; offset < 32; offset *= 2) base = fmaxf(base, __shfl_xor_sync(0xffffffffu, base, offset));
    const float shrink = exp2f(top - base);
    total *= shrink;
    for (int offset = LANES; offset < 32; offset *= 2) total += __shfl_xor_sync(0xffffffffu, total, offset);
#pragma unroll
    for (int e = 0; e < COUNT; ++e) {
        result[e] *= shrink;
        for (int offset = LANES; offset < 32; offset *= 2) result[e] += __shfl_xor_sync(0xffffffffu, result[e], offset);
        if (lane < LANES) values[warp][dim_of(e)] = result[e];
    }
    if (lane == 0) totals[warp] = total, tops[warp] = base;
    __syncthreads();
    float highest = LOWEST, weights = 0.0f, value = 0.0f;
    for (int i = 0; i < WARPS; ++i) highest = fmaxf(highest, tops[i]);
    for (int i = 0; i < WARPS; ++i) {
        const float one = exp2f(tops[i] - highest);
        weights += one * totals[i];
        if (threadIdx.x < dims) value += one * values[i][threadIdx.x];
    }
    const int64_t place = head * gridDim.y + blockIdx.y;
    if (threadIdx.x < dims) parts.values[place * dims + threadIdx.x] = value;
    if (threadIdx.x == 0) parts.totals[place] = weights, parts.tops[place] = highest;
}

// A block for each head, a thread for each dimension.
__global__ void __launch_bounds__(MAX_DIMS) join(Parts parts, T* __restrict__ y, int splits, int dims) {
    if (threadIdx.x >= dims) return;
    const int64_t first = int64_t(blockIdx.x) * splits;
    float top = LOWEST, total = 0.0f, value = 0.0f;
    for (int split = 0; split < splits; ++split) top = fmaxf(top, parts.tops[first + split]);
    for (int split = 0; split < splits; ++split) {
        const float factor = exp2f(parts.tops[first + split] - top);
        total += factor * parts.totals[first + split];
        value += factor * parts.values[(first + split) * dims + threadIdx.x];
    }
    y[int64_t(blockIdx.x) * dims + threadIdx.x] = T(value / total);
}

}  // namespace

extern "C" void kv_cache_int8(const T* q, const uint8_t* k, const uint8_t* v, const float* k_scale,
                              const float* v_scale, T* y, int64_t batch, int64_t heads, int64_t length,
                              int64_t head_dim, cudaStream_t stream) {
    // As many splits as fill a GPU, but none with a few keys only.
    const int64_t all = batch * heads;
    const int64_t splits = std::min({(BLOCKS + all - 1) / all, (length + 127) / 128, int64_t(MAX_SPLITS)});
    float* memory = nullptr;
    const int64_t size = all * splits * (head_dim + 2) * int64_t(sizeof(float));
    if (cudaMallocAsync(reinterpret_cast<void**>(&memory), size, stream) != cudaSuccess) return;
    float* totals = memory + all * splits * head_dim;
    const Parts parts{memory, totals, totals + all * splits};

    const bool vectors =
        head_dim % 16 == 0 && (reinterpret_cast<uintptr_t>(k) | reinterpret_cast<uintptr_t>(v)) % 16 == 0;
    const auto run = [&](auto kernel) {
        const dim3 grid(static_cast<unsigned>(all), static_cast<unsigned>(splits));
        const float scale = 1.44269504f / sqrtf(float(head_dim));  // weights are powers of two
        kernel<<<grid, THREADS, 0, stream>>>(q, k, v, k_scale, v_scale, parts, int(length), int(head_dim), scale);
    };
    if (!vectors)
        head_dim <= 32 ? run(attend<false, 32, 1>) : run(attend<false, 32, 4>);
    else if (head_dim == 16)
        run(attend<true, 1, 16>);
    else if (head_dim == 32)
        run(attend<true, 2, 16>);
    else if (head_dim == 64)
        run(attend<true, 4, 16>);
    else
        run(attend<true, 8, 16>);
    join<<<static_cast<unsigned>(all), MAX_DIMS, 0, stream>>>(parts, y, int(splits), int(head_dim));
    cudaFreeAsync(memory, stream);
}
