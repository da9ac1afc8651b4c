// Gradient of the mean cross entropy, (softmax(logits) - onehot(target)) * grad_loss / rows. A block reads a row for
// the online softmax of Milakov and Gimelshein (2018), then again, mostly from cache, to write the gradient. At the
// target, p - 1 = -(sum of the others) / (sum of all) keeps its digits where p is almost one.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

// V neighbouring elements, moved in one transaction.
template <typename T, int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
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

// The maximum of a row and the sum of exp(x - maximum) over all classes but the target.
struct Summary {
    float top, others;
};

template <typename T, int V>
__device__ Summary summarise(const T* logits, int64_t classes, int64_t target) {
    const auto* from = reinterpret_cast<const Pack<T, V>*>(logits);
    float top = float(logits[target]), others = 0.0f;
    for (int64_t v = threadIdx.x; v < classes / V; v += blockDim.x) {
        const Pack<T, V> value = from[v];
        float high = top;
#pragma unroll
        for (int e = 0; e < V; ++e) high = fmaxf(high, float(value.at[e]));
        others *= expf(top - high);
#pragma unroll
        for (int e = 0; e < V; ++e) others += v * V + e == target ? 0.0f : expf(float(value.at[e]) - high);
        top = high;
    }
    const float high = block_max(top);
    return {high, block_sum(others * expf(top - high))};
}

template <typename T, int V>
__global__ void __launch_bounds__(1024)
    differentiate_rows(const T* __restrict__ grad_loss, const T* __restrict__ logits,
                       const int64_t* __restrict__ target, T* __restrict__ grad_logits, int64_t rows, int64_t classes) {
    const float upstream = float(*grad_loss) / rows;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const int64_t chosen = target[row];
        const T* from = logits + row * classes;
        const Summary all = summarise<T, V>(from, classes, chosen);
        const float scale = upstream / (all.others + expf(float(from[chosen]) - all.top));
        auto* to = reinterpret_cast<Pack<T, V>*>(grad_logits + row * classes);
        for (int64_t v = threadIdx.x; v < classes / V; v += blockDim.x) {
            const Pack<T, V> value = reinterpret_cast<const Pack<T, V>*>(from)[v];
            Pack<T, V> result;
#pragma unroll
            for (int e = 0; e < V; ++e) {
                const bool here = v * V + e == chosen;
                result.at[e] = T(scale * (here ? -all.others : expf(float(value.at[e]) - all.top)));
            }
            to[v] = result;
        }
    }
}

template <int V>
void launch(const KBENCH_T* grad_loss, const KBENCH_T* logits, const int64_t* target, KBENCH_T* grad_logits,
            int64_t rows, int64_t classes, cudaStream_t stream) {
    const auto threads = static_cast<unsigned>(32 * std::min<int64_t>((classes / V + 127) / 128, 32));
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(rows, INT32_MAX));
    differentiate_rows<KBENCH_T, V>
        <<<blocks, threads, 0, stream>>>(grad_loss, logits, target, grad_logits, rows, classes);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void cross_entropy_backward(const KBENCH_T* grad_loss, const KBENCH_T* logits, const int64_t* target,
                                       KBENCH_T* grad_logits, int64_t rows, int64_t classes, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(KBENCH_T);
    const bool vectors = classes % V == 0 && aligned(logits) && aligned(grad_logits);
    (vectors ? launch<V> : launch<1>)(grad_loss, logits, target, grad_logits, rows, classes, stream);
}
