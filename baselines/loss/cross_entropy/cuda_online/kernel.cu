// Mean cross entropy. A block reads a row once, with the online softmax of Milakov and Gimelshein (2018). The loss is
// (m - x_t) + log(sum of exp(x - m)); a confident row, a sum of 1 plus almost nothing, keeps its digits through log1p.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

constexpr int MAX_BLOCKS = 1024;
// Each block's sum of losses, added in order by a second kernel: deterministic, unlike atomics, and of any T. The C ABI
// has no workspace; being the module's own, this one allows calls on one stream at a time.
__device__ float block_losses[MAX_BLOCKS];

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
__global__ void __launch_bounds__(1024) add_rows(const T* __restrict__ logits, const int64_t* __restrict__ target,
                                                 int64_t rows, int64_t classes) {
    float total = 0.0f;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const Summary all = summarise<T, V>(logits + row * classes, classes, target[row]);
        const float below = all.top - float(logits[row * classes + target[row]]);
        total += below + log1pf(all.others + (expf(-below) - 1.0f));
    }
    if (threadIdx.x == 0) block_losses[blockIdx.x] = total;
}

template <typename T>
__global__ void __launch_bounds__(1024) mean_rows(T* loss, int blocks, int64_t rows) {
    const float total = block_sum(threadIdx.x < blocks ? block_losses[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) *loss = T(total / rows);
}

template <int V>
void launch(const KBENCH_T* logits, const int64_t* target, KBENCH_T* loss, int64_t rows, int64_t classes,
            cudaStream_t stream) {
    const auto threads = static_cast<unsigned>(32 * std::min<int64_t>((classes / V + 127) / 128, 32));
    const auto blocks = static_cast<int>(std::min<int64_t>(rows, MAX_BLOCKS));
    add_rows<KBENCH_T, V><<<blocks, threads, 0, stream>>>(logits, target, rows, classes);
    mean_rows<<<1, MAX_BLOCKS, 0, stream>>>(loss, blocks, rows);
}

}  // namespace

extern "C" void cross_entropy(const KBENCH_T* logits, const int64_t* target, KBENCH_T* loss, int64_t rows,
                              int64_t classes, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(KBENCH_T);
    const bool vectors = classes % V == 0 && reinterpret_cast<uintptr_t>(logits) % 16 == 0;
    (vectors ? launch<V> : launch<1>)(logits, target, loss, rows, classes, stream);
}
