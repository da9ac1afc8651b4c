// Logarithm of softmax: x - max - log(sum of exp(x - max)). A block works on a row that it keeps in registers; the
// online softmax of Milakov and Gimelshein (2018) finds the maximum and the sum in one visit.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
// With 16-byte vectors, 1024 threads hold 16384 floats.
constexpr int HELD = 4;
constexpr float LOWEST = -3.4e38f;  // unlike -inf, it can be subtracted from itself

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// Of some elements of a row: the maximum and the sum of exp(x - maximum).
struct Summary {
    float top, sum;
};

__device__ Summary merge(Summary a, Summary b) {
    const float top = fmaxf(a.top, b.top);
    return {top, a.sum * expf(a.top - top) + b.sum * expf(b.top - top)};
}

__device__ Summary warp_merge(Summary value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value = merge(value, {__shfl_xor_sync(0xffffffffu, value.top, offset),
                              __shfl_xor_sync(0xffffffffu, value.sum, offset)});
    return value;
}

// Every thread gets the summary of the block, whose size is a multiple of 32.
__device__ Summary block_merge(Summary value) {
    __shared__ Summary partial[32];
    value = warp_merge(value);
    if (blockDim.x == 32) return value;
    __syncthreads();  // the summaries of the previous row may still be being read
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    return warp_merge(threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : Summary{LOWEST, 0.0f});
}

template <int V>
__global__ void __launch_bounds__(1024)
    log_softmax_rows(const T* __restrict__ x, T* __restrict__ y, int64_t rows, int64_t cols) {
    const int64_t vectors = cols / V;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const auto* from = reinterpret_cast<const Pack<V>*>(x + row * cols);
        auto* to = reinterpret_cast<Pack<V>*>(y + row * cols);
        Pack<V> held[HELD];
#pragma unroll
        for (int i = 0; i < HELD; ++i)
            if (threadIdx.x + i * blockDim.x < vectors) held[i] = from[threadIdx.x + i * blockDim.x];
        // visit(vector, its place in the row). Those beyond HELD, in rows too long for a block, are read for each
        // visit, the second time mostly from the L2 cache.
        const auto each = [&](auto visit) {
#pragma unroll
            for (int i = 0; i < HELD; ++i)
                if (threadIdx.x + i * blockDim.x < vectors) visit(held[i], threadIdx.x + i * blockDim.x);
            for (int64_t v = threadIdx.x + HELD * blockDim.x; v < vectors; v += blockDim.x) visit(from[v], v);
        };

        Summary all{LOWEST, 0.0f};
        each([&](const Pack<V>& value, int64_t) {
            float top = all.top;
#pragma unroll
            for (int e = 0; e < V; ++e) top = fmaxf(top, float(value.at[e]));
            all = {top, all.sum * expf(all.top - top)};
#pragma unroll
            for (int e = 0; e < V; ++e) all.sum += expf(float(value.at[e]) - top);
        });
        all = block_merge(all);
        // Two subtractions: added to a large maximum, the logarithm would lose its last digits.
        const float logarithm = logf(all.sum);
        each([&](const Pack<V>& value, int64_t v) {
            Pack<V> result;
#pragma unroll
            for (int e = 0; e < V; ++e) result.at[e] = T((float(value.at[e]) - all.top) - logarithm);
            to[v] = result;
        });
    }
}

template <int V>
void launch(const T* x, T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    const int64_t warps = (cols / V + 32 * HELD - 1) / (32 * HELD);
    const auto threads = static_cast<unsigned>(32 * std::min<int64_t>(warps, 32));
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(rows, INT32_MAX));
    log_softmax_rows<V><<<blocks, threads, 0, stream>>>(x, y, rows, cols);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void log_softmax(const T* x, T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = cols % V == 0 && aligned(x) && aligned(y);
    (vectors ? launch<V> : launch<1>)(x, y, rows, cols, stream);
}
