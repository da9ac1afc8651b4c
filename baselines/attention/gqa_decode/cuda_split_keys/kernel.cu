// Attention of one query each to a cache, with grouped queries (Ainslie et al. 2023), bound by reading the cache once.
// As in Flash-Decoding (Dao et al. 2023), blocks share the keys of a sequence, and a second kernel joins their results.
// All queries of a group meet 32 keys at a time; keys and values take turns in one piece of shared memory.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 128, WARPS = THREADS / 32, KEYS = 32, BLOCKS = 528, MAX_SPLITS = 64;

// V neighbouring elements, moved in one transaction.
template <typename E, int V>
struct alignas(V * sizeof(E)) Pack {
    E at[V];
};
using Quad = Pack<float, 4>;

// Of each split of each head: sums of weighted values, the sum of the weights, and the maximum both are relative to.
struct Parts {
    float *values, *totals, *tops;
};

// DIM and GROUPS are the number of dimensions and of queries of a group, rounded up.
template <int V, int DIM, int GROUPS>
__global__ void __launch_bounds__(THREADS)
    attend(const T* __restrict__ q, const T* __restrict__ k, const T* __restrict__ v,
           const int64_t* __restrict__ lengths, Parts parts, int kv_heads, int groups, int64_t capacity, int dims,
           float scale) {
    constexpr int COUNT = (KEYS * DIM / V + THREADS - 1) / THREADS, SHARES = THREADS / DIM;
    constexpr int PITCH = DIM + 4;  // threads that read a column in quads do not collide
    __shared__ Quad queries[GROUPS][DIM / 4], tile[KEYS > SHARES * GROUPS ? KEYS : SHARES * GROUPS][PITCH / 4];
    __shared__ Quad weights[KEYS][GROUPS / 4 + 1];
    __shared__ float shrinks[GROUPS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t pair = blockIdx.x, first_head = pair * groups, cache = pair * capacity * dims;
    const int length = int(lengths[pair / kv_heads]);
    const int share = ((length + gridDim.y - 1) / gridDim.y + KEYS - 1) / KEYS * KEYS;
    const int begin = blockIdx.y * share, end = min(begin + share, length);

    // A tile of keys or values is under way in registers while the one before it is used.
    Pack<T, V> held[COUNT];
    const auto fetch = [&](const T* from, int start) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int index = threadIdx.x + i * THREADS, key = start + index / (DIM / V), dim = index % (DIM / V) * V;
            const bool inside = index < KEYS * DIM / V && key < end && dim < dims;
            held[i] = inside ? *reinterpret_cast<const Pack<T, V>*>(from + cache + int64_t(key) * dims + dim)
                             : Pack<T, V>{};
        }
    };
    const auto put = [&] {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            const int index = threadIdx.x + i * THREADS, key = index / (DIM / V), dim = index % (DIM / V) * V;
            if (index >= KEYS * DIM / V) continue;
#pragma unroll
            for (int e = 0; e < V; ++e) tile[key][(dim + e) / 4].at[(dim + e) % 4] = float(held[i].at[e]);
        }
    };

    for (int index = threadIdx.x; index < GROUPS * DIM; index += THREADS) {
        const int group = index / DIM, dim = index % DIM;
        const bool inside = group < groups && dim < dims;
        queries[group][dim / 4].at[dim % 4] = inside ? float(q[(first_head + group) * dims + dim]) * scale : 0.0f;
    }
    // A warp has the scores of every WARPS-th query, a lane those of one key.
    float top[GROUPS / WARPS], total[GROUPS / WARPS] = {};
    for (float& value : top) value = -INFINITY;
    float result[GROUPS] = {};  // of dimension threadIdx.x % DIM and every SHARES-th key
    fetch(k, begin);
    for (int start = begin; start < end; start += KEYS) {
        put();
        __syncthreads();
        fetch(v, start);
        float score[GROUPS / WARPS] = {};
#pragma unroll 8
        for (int d = 0; d < DIM / 4; ++d) {
            const Quad key = tile[lane][d];
#pragma unroll
            for (int i = 0; i < GROUPS / WARPS; ++i)
#pragma unroll
                for (int e = 0; e < 4; ++e) score[i] += queries[i * WARPS + warp][d].at[e] * key.at[e];
        }
#pragma unroll
        for (int i = 0; i < GROUPS / WARPS; ++i) {
            if (start + lane >= end) score[i] = -INFINITY;
            float high = fmaxf(top[i], score[i]);
            for (int lanes = 16; lanes > 0; lanes /= 2) high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, lanes));
            const float shrink = exp2f(top[i] - high), weight = exp2f(score[i] - high);
            total[i] = total[i] * shrink + weight;
            top[i] = high;
            weights[lane][i].at[warp] = weight;
            if (lane == 0) shrinks[i * WARPS + warp] = shrink;
        }
        __syncthreads();  // the keys have been used
        put();
        __syncthreads();
        if (start + KEYS < end) fetch(k, start + KEYS);
#pragma unroll
        for (int group = 0; group < GROUPS; ++group) result[group] *= shrinks[group];
#pragma unroll 4
        for (int key = threadIdx.x / DIM; key < KEYS; key += SHARES) {
            const int dim = threadIdx.x % DIM;
            const float value = tile[key][dim / 4].at[dim % 4];
#pragma unroll
            for (int i = 0; i < GROUPS / 4; ++i) {
                const Quad weight = weights[key][i];
#pragma unroll
                for (int e = 0; e < 4; ++e) result[i * 4 + e] += weight.at[e] * value;
            }
        }
        __syncthreads();  // the values have been used
    }

    // What the threads of a dimension have of different keys is added up; an empty split counts for nothing.
    auto* sums = reinterpret_cast<float*>(tile);  // [SHARES][GROUPS][DIM]
#pragma unroll
    for (int group = 0; group < GROUPS; ++group)
        sums[(threadIdx.x / DIM * GROUPS + group) * DIM + threadIdx.x % DIM] = result[group];
    __syncthreads();
    for (int index = threadIdx.x; index < groups * DIM; index += THREADS) {
        const int64_t place = (first_head + index / DIM) * gridDim.y + blockIdx.y;
        float sum = 0.0f;
        for (int i = 0; i < SHARES; ++i) sum += sums[i * GROUPS * DIM + index];
        if (index % DIM < dims) parts.values[place * dims + index % DIM] = sum;
    }
#pragma unroll
    for (int i = 0; i < GROUPS / WARPS; ++i) {
        for (int lanes = 16; lanes > 0; lanes /= 2) total[i] += __shfl_xor_sync(0xffffffffu, total[i], lanes);
        const int64_t place = (first_head + i * WARPS + warp) * gridDim.y + blockIdx.y;
        if (lane > 0 || i * WARPS + warp >= groups) continue;
        parts.totals[place] = total[i];
        parts.tops[place] = top[i];
    }
}

// A block for each head, a thread for each dimension.
__global__ void join(Parts parts, T* __restrict__ y, int splits, int dims) {
    if (threadIdx.x >= dims) return;
    const int64_t first = int64_t(blockIdx.x) * splits;
    float top = -INFINITY, total = 0.0f, value = 0.0f;
    for (int split = 0; split < splits; ++split) top = fmaxf(top, parts.tops[first + split]);
    for (int split = 0; split < splits; ++split) {
        if (parts.totals[first + split] == 0.0f) continue;
        const float factor = exp2f(parts.tops[first + split] - top);
        total += factor * parts.totals[first + split];
        value += factor * parts.values[(first + split) * dims + threadIdx.x];
    }
    y[int64_t(blockIdx.x) * dims + threadIdx.x] = T(total == 0.0f ? 0.0f : value / total);
}

}  // namespace

extern "C" void gqa_decode(const T* q, const T* k, const T* v, const int64_t* lengths, T* y, int64_t batch,
                           int64_t kv_heads, int64_t groups, int64_t capacity, int64_t head_dim, cudaStream_t stream) {
    // As many splits as fill a GPU, but none with a few keys only.
    const int64_t pairs = batch * kv_heads, heads = pairs * groups;
    const int64_t splits = std::min({(BLOCKS + pairs - 1) / pairs, (capacity + 127) / 128, int64_t(MAX_SPLITS)});
    float* memory = nullptr;
    const int64_t size = heads * splits * (head_dim + 2) * int64_t(sizeof(float));
    if (cudaMallocAsync(reinterpret_cast<void**>(&memory), size, stream) != cudaSuccess) return;
    float* totals = memory + heads * splits * head_dim;
    const Parts parts{memory, totals, totals + heads * splits};

    constexpr int V = 16 / sizeof(T);
    const bool vectors =
        head_dim % V == 0 && (reinterpret_cast<uintptr_t>(k) | reinterpret_cast<uintptr_t>(v)) % 16 == 0;
    const auto run = [&](auto kernel) {
        const dim3 grid(static_cast<unsigned>(pairs), static_cast<unsigned>(splits));
        const float scale = 1.44269504f / sqrtf(float(head_dim));  // weights are powers of two
        kernel<<<grid, THREADS, 0, stream>>>(q, k, v, lengths, parts, int(kv_heads), int(groups), capacity,
                                             int(head_dim), scale);
    };
    const auto of_groups = [&](auto few, auto many) { groups <= 4 ? run(few) : run(many); };
    if (head_dim <= 16)
        vectors ? of_groups(attend<V, 16, 4>, attend<V, 16, 16>) : of_groups(attend<1, 16, 4>, attend<1, 16, 16>);
    else if (head_dim <= 32)
        vectors ? of_groups(attend<V, 32, 4>, attend<V, 32, 16>) : of_groups(attend<1, 32, 4>, attend<1, 32, 16>);
    else if (head_dim <= 64)
        vectors ? of_groups(attend<V, 64, 4>, attend<V, 64, 16>) : of_groups(attend<1, 64, 4>, attend<1, 64, 16>);
    else
        vectors ? of_groups(attend<V, 128, 4>, attend<V, 128, 16>) : of_groups(attend<1, 128, 4>, attend<1, 128, 16>);
    join<<<static_cast<unsigned>(heads), 128, 0, stream>>>(parts, y, int(splits), int(head_dim));
    cudaFreeAsync(memory, stream);
}
