// Mean Huber loss (Huber 1964). Rows play no part: a bounded number of blocks strides over both tensors in vectors of
// 16 bytes, several loads under way at a time, and a second kernel adds the sums of the blocks.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, MAX_BLOCKS = 1024, UNROLL = 4;
// Each block's sum, added in order by a second kernel: deterministic, unlike atomics, and of any T. The C ABI has no
// workspace; being the module's own, this one allows calls on one stream at a time.
__device__ float block_sums[MAX_BLOCKS];

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// Both branches in one: b (d - b / 2) with b = min(d, 1) is d^2 / 2 up to one and d - 1/2 beyond.
__device__ float term(float prediction, float target) {
    const float distance = fabsf(prediction - target), bounded = fminf(distance, 1.0f);
    return bounded * (distance - 0.5f * bounded);
}

// The first thread gets the sum over the block.
__device__ float block_sum(float value) {
    __shared__ float partial[32];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

template <int V>
__global__ void __launch_bounds__(THREADS)
    add_terms(const T* __restrict__ prediction, const T* __restrict__ target, int64_t size) {
    const auto* left = reinterpret_cast<const Pack<V>*>(prediction);
    const auto* right = reinterpret_cast<const Pack<V>*>(target);
    const int64_t vectors = size / V, stride = int64_t(gridDim.x) * THREADS;
    int64_t v = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    // Many short sums: each of them is rounded less often than one long sum would be.
    float total[UNROLL][V] = {};
    for (; v + (UNROLL - 1) * stride < vectors; v += UNROLL * stride) {
        Pack<V> p[UNROLL], q[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            p[i] = left[v + i * stride];
            q[i] = right[v + i * stride];
        }
#pragma unroll
        for (int i = 0; i < UNROLL; ++i)
#pragma unroll
            for (int e = 0; e < V; ++e) total[i][e] += term(float(p[i].at[e]), float(q[i].at[e]));
    }
    for (; v < vectors; v += stride) {
        const Pack<V> p = left[v], q = right[v];
#pragma unroll
        for (int e = 0; e < V; ++e) total[0][e] += term(float(p.at[e]), float(q.at[e]));
    }
    // What is left behind the last whole vector.
    const int64_t rest = size / V * V + threadIdx.x;
    if (blockIdx.x == 0 && rest < size) total[1][0] += term(float(prediction[rest]), float(target[rest]));

    float sum = 0.0f;
#pragma unroll
    for (int e = 0; e < V; ++e) sum += (total[0][e] + total[1][e]) + (total[2][e] + total[3][e]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(MAX_BLOCKS) average(T* loss, int blocks, int64_t size) {
    const float sum = block_sum(threadIdx.x < blocks ? block_sums[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) *loss = T(sum / float(size));
}

template <int V>
void launch(const T* prediction, const T* target, T* loss, int64_t size, cudaStream_t stream) {
    const int64_t wanted = size / V / (UNROLL * THREADS) + 1;
    const auto blocks = static_cast<int>(std::min<int64_t>(wanted, MAX_BLOCKS));
    add_terms<V><<<blocks, THREADS, 0, stream>>>(prediction, target, size);
    average<<<1, MAX_BLOCKS, 0, stream>>>(loss, blocks, size);
}

bool aligned(const T* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void huber(const T* prediction, const T* target, T* loss, int64_t rows, int64_t cols, cudaStream_t stream) {
    const bool vectors = aligned(prediction) && aligned(target);
    (vectors ? launch<16 / sizeof(T)> : launch<1>)(prediction, target, loss, rows * cols, stream);
}
