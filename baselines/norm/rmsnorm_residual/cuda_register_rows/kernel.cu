// Residual and RMSNorm (Zhang and Sennrich 2019, eq. 4) in one kernel. A block keeps the row of sums h = x + residual
// in registers, rounded as it is stored: x and residual are read once, h is written once and not read again.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr float EPSILON = 1e-6f;
// With 16-byte vectors, 1024 threads hold 16384 floats.
constexpr int HELD = 4;

// V neighbouring elements, moved in one transaction.
template <int V>
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

template <int V>
__global__ void __launch_bounds__(1024)
    add_and_normalise(const T* __restrict__ x, const T* __restrict__ residual, const T* __restrict__ weight,
                      T* __restrict__ y, T* __restrict__ updated, int64_t rows, int64_t cols) {
    const auto* gains = reinterpret_cast<const Pack<V>*>(weight);
    const int64_t vectors = cols / V;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const auto* lefts = reinterpret_cast<const Pack<V>*>(x + row * cols);
        const auto* rights = reinterpret_cast<const Pack<V>*>(residual + row * cols);
        auto* sums = reinterpret_cast<Pack<V>*>(updated + row * cols);
        auto* to = reinterpret_cast<Pack<V>*>(y + row * cols);
        float square = 0.0f;
        const auto add = [&](const Pack<V>& left, const Pack<V>& right, int64_t v) {
            Pack<V> sum;
#pragma unroll
            for (int e = 0; e < V; ++e) {
                sum.at[e] = T(float(left.at[e]) + float(right.at[e]));
                square += float(sum.at[e]) * float(sum.at[e]);
            }
            sums[v] = sum;
            return sum;
        };
        Pack<V> held[HELD], other[HELD];
        // All loads before the first sum: a thread waits for memory once.
#pragma unroll
        for (int i = 0; i < HELD; ++i)
            if (threadIdx.x + i * blockDim.x < vectors) {
                held[i] = lefts[threadIdx.x + i * blockDim.x];
                other[i] = rights[threadIdx.x + i * blockDim.x];
            }
#pragma unroll
        for (int i = 0; i < HELD; ++i)
            if (threadIdx.x + i * blockDim.x < vectors)
                held[i] = add(held[i], other[i], threadIdx.x + i * blockDim.x);
        // Vectors beyond HELD, in rows too long for a block, are read back by the thread that wrote them.
        for (int64_t v = threadIdx.x + HELD * blockDim.x; v < vectors; v += blockDim.x) add(lefts[v], rights[v], v);

        const float scale = 1.0f / sqrtf(block_sum(square) / cols + EPSILON);
        const auto normalise = [&](const Pack<V>& sum, int64_t v) {
            const Pack<V> gain = gains[v];
            Pack<V> result;
#pragma unroll
            for (int e = 0; e < V; ++e) result.at[e] = T(float(sum.at[e]) * scale * float(gain.at[e]));
            to[v] = result;
        };
#pragma unroll
        for (int i = 0; i < HELD; ++i)
            if (threadIdx.x + i * blockDim.x < vectors) normalise(held[i], threadIdx.x + i * blockDim.x);
        for (int64_t v = threadIdx.x + HELD * blockDim.x; v < vectors; v += blockDim.x) normalise(sums[v], v);
    }
}

template <int V>
void launch(const T* x, const T* residual, const T* weight, T* y, T* updated, int64_t rows, int64_t cols,
            cudaStream_t stream) {
    const int64_t warps = (cols / V + 32 * HELD - 1) / (32 * HELD);
    const auto threads = static_cast<unsigned>(32 * std::min<int64_t>(warps, 32));
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(rows, INT32_MAX));
    add_and_normalise<V><<<blocks, threads, 0, stream>>>(x, residual, weight, y, updated, rows, cols);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void rmsnorm_residual(const T* x, const T* residual, const T* weight, T* y, T* updated_residual,
                                 int64_t rows, int64_t cols, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = cols % V == 0 && aligned(x) && aligned(residual) && aligned(weight) && aligned(y) &&
                         aligned(updated_residual);
    (vectors ? launch<V> : launch<1>)(x, residual, weight, y, updated_residual, rows, cols, stream);
}
