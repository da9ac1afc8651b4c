// Causal attention without the score matrix: FlashAttention-2 (Dao 2023), forward, float32 products and sums. A block
// keeps 32 queries and walks over the keys up to the diagonal; 16 threads share 4 queries and rescale their sums when
// a maximum grows. Keys and values take turns in one piece of shared memory, so that heads of 128 fit in 48 KiB.
#include <cmath>
#include <cstdint>

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
__device__ void load_rows(const T* head, int first, int length, int dims, Put put) {
#pragma unroll
    for (int index = threadIdx.x; index < 32 * DIM / V; index += THREADS) {
        const int row = index / (DIM / V), dim = index % (DIM / V) * V;
        const bool inside = first + row < length && dim < dims;
        const T* from = head + int64_t(first + row) * dims + dim;
        const Pack<T, V> pack = inside ? *reinterpret_cast<const Pack<T, V>*>(from) : Pack<T, V>{};
#pragma unroll
        for (int e = 0; e < V; ++e) put(row, dim + e, float(pack.at[e]));
    }
}

// DIM is the number of dimensions rounded up; a thread owns 4 queries and DIM / 16 dimensions of the result.
template <int V, int DIM>
__global__ void __launch_bounds__(THREADS)
    attend(const T* __restrict__ q, const T* __restrict__ k, const T* __restrict__ v, T* __restrict__ y, int length,
           int dims, float scale) {
    constexpr int WIDTH = DIM / 16 < 4 ? DIM / 16 : 4, PARTS = DIM / 16 / WIDTH;
    constexpr int PITCH = KEYS + 1;  // odd: neither the threads that write a column nor those that read it collide
    __shared__ Quad queries[DIM][QUERIES / 4 + 1], weights[KEYS][QUERIES / 4 + 1], pool[DIM * PITCH / 4];
    float* keys = reinterpret_cast<float*>(pool);                // [DIM][PITCH]
    auto* values = reinterpret_cast<Pack<float, WIDTH>*>(pool);  // [KEYS][DIM / WIDTH]
    const int down = threadIdx.x / 16, across = threadIdx.x % 16;
    const int tiles = (length + QUERIES - 1) / QUERIES;
    const int64_t head = int64_t(blockIdx.x / tiles) * length * dims;
    // The last queries see the most keys; their blocks start first, so that none of them is left over at the end.
    const int first = (tiles - 1 - int(blockIdx.x % tiles)) * QUERIES, row = first + down * 4;

    load_rows<V, DIM>(q + head, first, length, dims,
                      [&](int i, int d, float value) { queries[d][i / 4].at[i % 4] = value; });
    float top[4], total[4] = {}, result[4][PARTS][WIDTH] = {};
    for (int i = 0; i < 4; ++i) top[i] = -INFINITY;
    for (int start = 0; start < first + QUERIES && start < length; start += KEYS) {
        __syncthreads();  // the values before these keys have been used
        load_rows<V, DIM>(k + head, start, length, dims,
                          [&](int i, int d, float value) { keys[d * PITCH + i] = value; });
        __syncthreads();
        float score[4][2] = {};
#pragma unroll 8
        for (int d = 0; d < dims; ++d) {
            const Quad query = queries[d][down];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const float key = keys[d * PITCH + across + 16 * j];
#pragma unroll
                for (int i = 0; i < 4; ++i) score[i][j] += query.at[i] * key;
            }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            float high = top[i];
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                score[i][j] = start + across + 16 * j <= row + i ? score[i][j] * scale : -INFINITY;
                high = fmaxf(high, score[i][j]);
            }
#pragma unroll
            for (int lanes = 8; lanes > 0; lanes /= 2) high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, lanes));
            const float shrink = expf(top[i] - high);
            top[i] = high;
            total[i] *= shrink;
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const float weight = expf(score[i][j] - high);
                total[i] += weight;
                weights[across + 16 * j][down].at[i] = weight;
            }
#pragma unroll
            for (int p = 0; p < PARTS; ++p)
#pragma unroll
                for (int e = 0; e < WIDTH; ++e) result[i][p][e] *= shrink;
        }
        __syncthreads();  // the keys have been used
        load_rows<V, DIM>(v + head, start, length, dims, [&](int i, int d, float value) {
            values[i * (DIM / WIDTH) + d / WIDTH].at[d % WIDTH] = value;
        });
        __syncthreads();
#pragma unroll 4
        for (int key = 0; key < KEYS; ++key) {
            const Quad weight = weights[key][down];
#pragma unroll
            for (int p = 0; p < PARTS; ++p) {
                const Pack<float, WIDTH> value = values[key * (DIM / WIDTH) + p * 16 + across];
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
#pragma unroll
        for (int p = 0; p < PARTS; ++p) {
#pragma unroll
            for (int e = 0; e < WIDTH; ++e) {
                const int dim = (p * 16 + across) * WIDTH + e;
                if (row + i < length && dim < dims)
                    y[head + int64_t(row + i) * dims + dim] = T(result[i][p][e] / total[i]);
            }
        }
    }
}

}  // namespace

extern "C" void causal(const T* q, const T* k, const T* v, T* y, int64_t batch, int64_t heads, int64_t length,
                       int64_t head_dim, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const uintptr_t addresses = reinterpret_cast<uintptr_t>(q) | reinterpret_cast<uintptr_t>(k) |
                                reinterpret_cast<uintptr_t>(v);
    const bool vectors = head_dim % V == 0 && addresses % 16 == 0;
    const auto kernel = head_dim <= 32   ? (vectors ? attend<V, 32> : attend<1, 32>)
                        : head_dim <= 64 ? (vectors ? attend<V, 64> : attend<1, 64>)
                                         : (vectors ? attend<V, 128> : attend<1, 128>);  // the task's largest head
    const auto blocks = static_cast<unsigned>(batch * heads * ((length + QUERIES - 1) / QUERIES));
    const float scale = 1.0f / sqrtf(float(head_dim));
    kernel<<<blocks, THREADS, 0, stream>>>(q, k, v, y, int(length), int(head_dim), scale);
}
