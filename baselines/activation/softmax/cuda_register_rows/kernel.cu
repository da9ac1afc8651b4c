// Softmax with the row maximum subtracted. A block works on a row that it keeps in registers: x is read only once.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

// With 16-byte vectors, 1024 threads hold 16384 floats.
constexpr int HELD = 4;

// V neighbouring elements, moved in one transaction.
template <typename T, int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// The vectors of a row that belong to a thread. The first HELD stay in registers; those beyond, in rows too long for a
// block, are read again for each visit, mostly from the L1 and L2 caches.
template <typename T, int V>
struct Row {
    const Pack<T, V>* from;
    int64_t vectors;
    Pack<T, V> held[HELD];

    __device__ Row(const T* row, int64_t cols) : from(reinterpret_cast<const Pack<T, V>*>(row)), vectors(cols / V) {
#pragma unroll
        for (int i = 0; i < HELD; ++i)
            if (threadIdx.x + i * blockDim.x < vectors) held[i] = from[threadIdx.x + i * blockDim.x];
    }

    // visit(vector, its place in the row)
    template <typename Visit>
    __device__ void each(Visit visit) const {
#pragma unroll
        for (int i = 0; i < HELD; ++i)
            if (threadIdx.x + i * blockDim.x < vectors) visit(held[i], threadIdx.x + i * blockDim.x);
        for (int64_t v = threadIdx.x + HELD * blockDim.x; v < vectors; v += blockDim.x) visit(from[v], v);
    }
};

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

// Every thread gets the sum over the block, whose size is a multiple of 32.
__device__ float block_sum(float value) {
    __shared__ float partial[32];
    value = warp_sum(value);
    __syncthreads();  // the previous partial sums may still be being read
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    return warp_sum(threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : 0.0f);
}

__device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

__device__ float block_max(float value) {
    __shared__ float partial[32];
    value = warp_max(value);
    __syncthreads();
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    return warp_max(threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : -INFINITY);
}

template <typename T, int V>
__global__ void __launch_bounds__(1024) softmax_rows(const T* __restrict__ x, T* __restrict__ y, int64_t rows,
                                                     int64_t cols) {
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const Row<T, V> row(x + r * cols, cols);
        float top = -INFINITY;
        row.each([&](const Pack<T, V>& value, int64_t) {
#pragma unroll
            for (int e = 0; e < V; ++e) top = fmaxf(top, float(value.at[e]));
        });
        top = block_max(top);
        float sum = 0.0f;
        row.each([&](const Pack<T, V>& value, int64_t) {
#pragma unroll
            for (int e = 0; e < V; ++e) sum += expf(float(value.at[e]) - top);
        });
        const float scale = 1.0f / block_sum(sum);
        auto* to = reinterpret_cast<Pack<T, V>*>(y + r * cols);
        // Taking exp a second time is cheaper than registers for float copies of a row of half-precision numbers.
        row.each([&](const Pack<T, V>& value, int64_t v) {
            Pack<T, V> result;
#pragma unroll
            for (int e = 0; e < V; ++e) result.at[e] = T(expf(float(value.at[e]) - top) * scale);
            to[v] = result;
        });
    }
}

template <int V>
void launch(const KBENCH_T* x, KBENCH_T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    const int64_t warps = (cols / V + 32 * HELD - 1) / (32 * HELD);
    const auto threads = static_cast<unsigned>(32 * std::min<int64_t>(warps, 32));
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(rows, INT32_MAX));
    softmax_rows<KBENCH_T, V><<<blocks, threads, 0, stream>>>(x, y, rows, cols);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void softmax(const KBENCH_T* x, KBENCH_T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(KBENCH_T);
    const bool vectors = cols % V == 0 && aligned(x) && aligned(y);
    (vectors ? launch<V> : launch<1>)(x, y, rows, cols, stream);
}
