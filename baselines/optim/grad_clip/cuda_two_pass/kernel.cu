// Clipping by the global norm (Pascanu et al. 2013, algorithm 1) of two gradients in two kernels: blocks add squares,
// and then each block adds the sums of all blocks, all the same way, and scales. The second pass runs backwards: what
// the first has read last is still in the L2 cache.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, MAX_BLOCKS = 1024, UNROLL = 4;
constexpr float EPSILON = 1e-6f;
// Each block's sum: deterministic, unlike atomics. The C ABI has no workspace; being the module's own, this one allows
// calls on one stream at a time.
__device__ float block_sums[MAX_BLOCKS];

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// Every thread gets the sum over the block.
__device__ float block_sum(float value) {
    __shared__ float partial[THREADS / 32];
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0.0f;
    for (int warp = 0; warp < THREADS / 32; ++warp) value += partial[warp];
    return value;
}

// The thread's share of the sum of squares.
template <int V>
__device__ float add_squares(const T* __restrict__ gradient, int64_t size) {
    const auto* from = reinterpret_cast<const Pack<V>*>(gradient);
    const int64_t vectors = size / V, stride = int64_t(gridDim.x) * THREADS;
    int64_t v = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    // Many short sums: each of them is rounded less often than one long sum would be.
    float total[UNROLL][V] = {};
    for (; v < vectors; v += UNROLL * stride) {
        Pack<V> held[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) held[i] = v + i * stride < vectors ? from[v + i * stride] : Pack<V>{};
#pragma unroll
        for (int i = 0; i < UNROLL * V; ++i) {
            const float value = float(held[i / V].at[i % V]);
            total[i / V][i % V] += value * value;
        }
    }
    // What is left behind the last whole vector.
    const int64_t rest = vectors * V + threadIdx.x;
    const float last = blockIdx.x == 0 && rest < size ? float(gradient[rest]) : 0.0f;
    float sum = last * last;
#pragma unroll
    for (int e = 0; e < V; ++e) sum += (total[0][e] + total[1][e]) + (total[2][e] + total[3][e]);
    return sum;
}

template <int V>
__device__ void scale(const T* __restrict__ gradient, T* __restrict__ y, int64_t size, float factor) {
    const auto* from = reinterpret_cast<const Pack<V>*>(gradient);
    auto* to = reinterpret_cast<Pack<V>*>(y);
    const int64_t vectors = size / V, stride = int64_t(gridDim.x) * THREADS;
    for (int64_t v = vectors - 1 - (int64_t(blockIdx.x) * THREADS + threadIdx.x); v >= 0; v -= UNROLL * stride) {
        Pack<V> held[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i)
            if (v - i * stride >= 0) held[i] = from[v - i * stride];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            if (v - i * stride < 0) continue;
#pragma unroll
            for (int e = 0; e < V; ++e) held[i].at[e] = T(float(held[i].at[e]) * factor);
            to[v - i * stride] = held[i];
        }
    }
    const int64_t rest = vectors * V + threadIdx.x;
    if (blockIdx.x == 0 && rest < size) y[rest] = T(float(gradient[rest]) * factor);
}

template <int V>
__global__ void __launch_bounds__(THREADS)
    sum_squares(const T* __restrict__ weight, const T* __restrict__ bias, int64_t weights, int64_t biases) {
    const float sum = block_sum(add_squares<V>(weight, weights) + add_squares<V>(bias, biases));
    if (threadIdx.x == 0) block_sums[blockIdx.x] = sum;
}

// To be launched with as many blocks as sum_squares.
template <int V>
__global__ void __launch_bounds__(THREADS)
    clip(const T* __restrict__ weight, const T* __restrict__ bias, T* __restrict__ clipped_weight,
         T* __restrict__ clipped_bias, T* __restrict__ norm, int64_t weights, int64_t biases, float max_norm) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < gridDim.x; i += THREADS) sum += block_sums[i];
    const float length = sqrtf(block_sum(sum));
    if (blockIdx.x == 0 && threadIdx.x == 0) *norm = T(length);
    const float factor = fminf(max_norm / (length + EPSILON), 1.0f);
    scale<V>(bias, clipped_bias, biases, factor);
    scale<V>(weight, clipped_weight, weights, factor);
}

template <int V>
void launch(const T* weight, const T* bias, T* clipped_weight, T* clipped_bias, T* norm, int64_t weights,
            int64_t biases, float max_norm, cudaStream_t stream) {
    const int64_t wanted = (weights + biases) / (V * UNROLL * THREADS) + 1;
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(wanted, MAX_BLOCKS));
    sum_squares<V><<<blocks, THREADS, 0, stream>>>(weight, bias, weights, biases);
    clip<V><<<blocks, THREADS, 0, stream>>>(weight, bias, clipped_weight, clipped_bias, norm, weights, biases,
                                            max_norm);
}

bool aligned(const T* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void grad_clip(const T* weight_grad, const T* bias_grad, double max_norm, T* clipped_weight_grad,
                          T* clipped_bias_grad, T* norm, int64_t rows, int64_t cols, int64_t count,
                          cudaStream_t stream) {
    const bool vectors = aligned(weight_grad) && aligned(bias_grad) && aligned(clipped_weight_grad) &&
                         aligned(clipped_bias_grad);
    (vectors ? launch<16 / sizeof(T)> : launch<1>)(weight_grad, bias_grad, clipped_weight_grad, clipped_bias_grad,
                                                   norm, rows * cols, count, float(max_norm), stream);
}
