// Gradient of softmax (Bridle 1990): p * (grad_y - sum(grad_y * p)) with p = softmax(x). A block works on a row that it
// keeps in registers; the online softmax of Milakov and Gimelshein (2018) finds maximum and both sums in one visit.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
// With 16-byte vectors, 1024 threads hold 16384 floats of x and of grad_y.
constexpr int HELD = 4;
constexpr float LOWEST = -3.4e38f;  // unlike -inf, it can be subtracted from itself

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// Of some elements of a row: the maximum, the sum of exp(x - maximum), and the sum of grad_y times that.
struct Summary {
    float top, sum, product;
};

__device__ Summary merge(Summary a, Summary b) {
    const float top = fmaxf(a.top, b.top), left = expf(a.top - top), right = expf(b.top - top);
    return {top, a.sum * left + b.sum * right, a.product * left + b.product * right};
}

__device__ Summary warp_merge(Summary value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value = merge(value, {__shfl_xor_sync(0xffffffffu, value.top, offset),
                              __shfl_xor_sync(0xffffffffu, value.sum, offset),
                              __shfl_xor_sync(0xffffffffu, value.product, offset)});
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
    return warp_merge(threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : Summary{LOWEST, 0.0f, 0.0f});
}

template <int V>
__global__ void __launch_bounds__(1024)
    differentiate_rows(const T* __restrict__ grad_y, const T* __restrict__ x, T* __restrict__ grad_x, int64_t rows,
                       int64_t cols) {
    const int64_t vectors = cols / V;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const auto* values = reinterpret_cast<const Pack<V>*>(x + row * cols);
        const auto* slopes = reinterpret_cast<const Pack<V>*>(grad_y + row * cols);
        auto* to = reinterpret_cast<Pack<V>*>(grad_x + row * cols);
        Pack<V> value[HELD], slope[HELD];
#pragma unroll
        for (int i = 0; i < HELD; ++i)
            if (threadIdx.x + i * blockDim.x < vectors) {
                value[i] = values[threadIdx.x + i * blockDim.x];
                slope[i] = slopes[threadIdx.x + i * blockDim.x];
            }
        // visit(vector of x, vector of grad_y, their place). Those beyond HELD, in rows too long for a block, are read
        // for each visit, the second time mostly from the L2 cache.
        const auto each = [&](auto visit) {
#pragma unroll
            for (int i = 0; i < HELD; ++i)
                if (threadIdx.x + i * blockDim.x < vectors) visit(value[i], slope[i], threadIdx.x + i * blockDim.x);
            for (int64_t v = threadIdx.x + HELD * blockDim.x; v < vectors; v += blockDim.x)
                visit(values[v], slopes[v], v);
        };

        Summary all{LOWEST, 0.0f, 0.0f};
        each([&](const Pack<V>& part, const Pack<V>& grad, int64_t) {
            float top = all.top;
#pragma unroll
            for (int e = 0; e < V; ++e) top = fmaxf(top, float(part.at[e]));
            const float shrink = expf(all.top - top);
            all = {top, all.sum * shrink, all.product * shrink};
#pragma unroll
            for (int e = 0; e < V; ++e) {
                const float power = expf(float(part.at[e]) - top);
                all.sum += power;
                all.product += power * float(grad.at[e]);
            }
        });
        all = block_merge(all);
        const float scale = 1.0f / all.sum, mean = all.product * scale;
        each([&](const Pack<V>& part, const Pack<V>& grad, int64_t v) {
            Pack<V> result;
#pragma unroll
            for (int e = 0; e < V; ++e)
                result.at[e] = T(expf(float(part.at[e]) - all.top) * scale * (float(grad.at[e]) - mean));
            to[v] = result;
        });
    }
}

template <int V>
void launch(const T* grad_y, const T* x, T* grad_x, int64_t rows, int64_t cols, cudaStream_t stream) {
    const int64_t warps = (cols / V + 32 * HELD - 1) / (32 * HELD);
    const auto threads = static_cast<unsigned>(32 * std::min<int64_t>(warps, 32));
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(rows, INT32_MAX));
    differentiate_rows<V><<<blocks, threads, 0, stream>>>(grad_y, x, grad_x, rows, cols);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void softmax_backward(const T* grad_y, const T* x, T* grad_x, int64_t rows, int64_t cols,
                                 cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = cols % V == 0 && aligned(grad_y) && aligned(x) && aligned(grad_x);
    (vectors ? launch<V> : launch<1>)(grad_y, x, grad_x, rows, cols, stream);
}
