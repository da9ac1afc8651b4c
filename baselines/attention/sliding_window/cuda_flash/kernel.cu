// Sliding window attention (Beltagy et al. 2020, section 3.1) without the score matrix: FlashAttention-2 (Dao 2023)
// along the diagonal. Halves go to tensor cores, which would round float32 to TensorFloat-32: that is left to threads,
// of which 16 share 4 of a block's 32 queries. Keys and values take turns in one piece of shared memory.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tensor_cores.cuh"

namespace {

using T = KBENCH_T;
constexpr int THREADS = 128, QUERIES = 32, KEYS = 32;

// V neighbouring elements, moved in one transaction.
template <typename E, int V>
struct alignas(V * sizeof(E)) Pack {
    E at[V];
};
using Quad = Pack<float, 4>;

// put(row, dimension, value) for 32 rows of a head from `first` on; zero past its end and beyond its dimensions.
template <int V, int DIM, typename Put>
__device__ void load_rows(const float* head, int first, int rows, int dims, Put put) {
#pragma unroll
    for (int index = threadIdx.x; index < 32 * DIM / V; index += THREADS) {
        const int row = index / (DIM / V), dim = index % (DIM / V) * V;
        const bool inside = first + row < rows && dim < dims;
        const float* from = head + int64_t(first + row) * dims + dim;
        const auto pack = inside ? *reinterpret_cast<const Pack<float, V>*>(from) : Pack<float, V>{};
#pragma unroll
        for (int e = 0; e < V; ++e) put(row, dim + e, pack.at[e]);
    }
}

// DIM is the number of dimensions rounded up; a thread owns 4 queries and DIM / 16 dimensions of the result.
template <int V, int DIM>
__global__ void __launch_bounds__(THREADS)
    attend_floats(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                  float* __restrict__ y, int length, int window, int dims, float scale) {
    constexpr int WIDTH = DIM / 16 < 4 ? DIM / 16 : 4, PARTS = DIM / 16 / WIDTH;
    constexpr int PITCH = KEYS + 1;  // odd: neither the threads that write a column nor those that read it collide
    __shared__ Quad queries_tile[DIM][QUERIES / 4 + 1], weights[KEYS][QUERIES / 4 + 1], pool[DIM * PITCH / 4];
    float* keys_tile = reinterpret_cast<float*>(pool);                // [DIM][PITCH]
    auto* values_tile = reinterpret_cast<Pack<float, WIDTH>*>(pool);  // [KEYS][DIM / WIDTH]
    const int down = threadIdx.x / 16, across = threadIdx.x % 16;
    const int tiles = (length + QUERIES - 1) / QUERIES, first = blockIdx.x % tiles * QUERIES, row = first + down * 4;
    const int64_t head = int64_t(blockIdx.x / tiles) * length * dims;
    // From the first key that the first query sees to the last query itself.
    const int begin = max(first - window + 1, 0), end = min(first + QUERIES, length);

    load_rows<V, DIM>(q + head, first, length, dims,
                      [&](int i, int d, float value) { queries_tile[d][i / 4].at[i % 4] = value; });
    float top[4], total[4] = {}, result[4][PARTS][WIDTH] = {};
    for (float& value : top) value = -INFINITY;
    for (int start = begin; start < end; start += KEYS) {
        __syncthreads();  // the values before these keys have been used
        load_rows<V, DIM>(k + head, start, end, dims,
                          [&](int i, int d, float value) { keys_tile[d * PITCH + i] = value; });
        __syncthreads();
        float score[4][2] = {};
#pragma unroll 8
        for (int d = 0; d < dims; ++d) {
            const Quad query = queries_tile[d][down];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const float key = keys_tile[d * PITCH + across + 16 * j];
#pragma unroll
                for (int i = 0; i < 4; ++i) score[i][j] += query.at[i] * key;
            }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            float high = top[i];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const int back = row + i - (start + across + 16 * j);
                score[i][j] = back >= 0 && back < window ? score[i][j] * scale : -INFINITY;
                high = fmaxf(high, score[i][j]);
            }
#pragma unroll
            for (int lanes = 8; lanes > 0; lanes /= 2) high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, lanes));
            // Until a query sees its first key, it has no maximum to compare with.
            const float base = high == -INFINITY ? 0.0f : high, shrink = exp2f(top[i] - base);
            top[i] = high;
            total[i] *= shrink;
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const float weight = exp2f(score[i][j] - base);
                total[i] += weight;
                weights[across + 16 * j][down].at[i] = weight;
            }
#pragma unroll
            for (int d = 0; d < PARTS * WIDTH; ++d) result[i][d / WIDTH][d % WIDTH] *= shrink;
        }
        __syncthreads();  // the keys have been used
        load_rows<V, DIM>(v + head, start, end, dims, [&](int i, int d, float value) {
            values_tile[i * (DIM / WIDTH) + d / WIDTH].at[d % WIDTH] = value;
        });
        __syncthreads();
#pragma unroll 4
        for (int key = 0; key < KEYS; ++key) {
            const Quad weight = weights[key][down];
#pragma unroll
            for (int p = 0; p < PARTS; ++p) {
                const Pack<float, WIDTH> value = values_tile[key * (DIM / WIDTH) + p * 16 + across];
#pragma unroll
                for (int i = 0; i < 4; ++i)
#pragma unroll
                    for (int e = 0; e < WIDTH; ++e) result[i][p][e] += weight.at[i] * value.at[e];
            }
        }
    }

#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int lanes = 8; lanes > 0; lanes /= 2) total[i] += __shfl_xor_sync(0xffffffffu, total[i], lanes);
        float* to = y + head + int64_t(row + i) * dims;
#pragma unroll
        for (int d = 0; d < PARTS * WIDTH; ++d) {
            const int dim = (d / WIDTH * 16 + across) * WIDTH + d % WIDTH;
            if (row + i < length && dim < dims) to[dim] = result[i][d / WIDTH][d % WIDTH] / total[i];
        }
    }
}

template <int V, int DIM>
void launch(const T* q, const T* k, const T* v, T* y, int64_t heads, int length, int window, int dims,
            cudaStream_t stream) {
    const float scale = 1.44269504f / sqrtf(float(dims));  // weights are powers of two
    if constexpr (std::is_same<T, float>::value) {
        const auto blocks = static_cast<unsigned>(heads * ((length + QUERIES - 1) / QUERIES));
        attend_floats<V, DIM><<<blocks, THREADS, 0, stream>>>(q, k, v, y, length, window, dims, scale);
    } else {
        const auto blocks = static_cast<unsigned>(heads * ((length + TILE - 1) / TILE));
        attend_halves<T, V, DIM><<<blocks, 32 * WARPS, 0, stream>>>(q, k, v, y, length, window, dims, scale);
    }
}

}  // namespace

extern "C" void sliding_window(const T* q, const T* k, const T* v, int64_t size, T* y, int64_t batch, int64_t heads,
                               int64_t length, int64_t, int64_t head_dim, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const uintptr_t addresses =
        reinterpret_cast<uintptr_t>(q) | reinterpret_cast<uintptr_t>(k) | reinterpret_cast<uintptr_t>(v);
    const bool vectors = head_dim % V == 0 && addresses % 16 == 0;
    const auto run = head_dim <= 16   ? (vectors ? launch<V, 16> : launch<1, 16>)
                     : head_dim <= 32 ? (vectors ? launch<V, 32> : launch<1, 32>)
                     : head_dim <= 64 ? (vectors ? launch<V, 64> : launch<1, 64>)
                                      : (vectors ? launch<V, 128> : launch<1, 128>);  // the task's largest head
    run(q, k, v, y, batch * heads, int(length), int(size), int(head_dim), stream);
}
