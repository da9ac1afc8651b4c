// Gradient of LayerNorm (Ba, Kiros and Hinton 2016). With c = x - mean, r = 1 / sqrt(variance + eps), g = grad_y *
// weight: grad_x = r (g - mean(g) - c r^2 mean(g c)), grad_weight = sum of grad_y c r, grad_bias = sum of grad_y over
// rows. Blocks walk over the rows and keep shares of both sums in registers; a second kernel adds up the shares.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr float EPSILON = 1e-5f;
// Columns of a thread: a block of 1024 spans 16384, which is as long as rows get.
constexpr int COLUMNS = 16;
constexpr int64_t MAX_BLOCKS = 528;
// A row of shares for each block and gradient. The C ABI has no workspace; being the module's own, this one allows
// calls on one stream at a time.
constexpr int64_t SHARES = 1 << 22;
__device__ float shares[SHARES];

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

template <int N>
struct Sums {
    float at[N];
};

template <int N>
__device__ Sums<N> warp_sum(Sums<N> value) {
    for (int offset = 16; offset > 0; offset /= 2)
#pragma unroll
        for (int i = 0; i < N; ++i) value.at[i] += __shfl_xor_sync(0xffffffffu, value.at[i], offset);
    return value;
}

// Every thread gets the sums over the block, whose size is a multiple of 32.
template <int N>
__device__ Sums<N> block_sum(Sums<N> value) {
    __shared__ Sums<N> partial[32];
    value = warp_sum(value);
    __syncthreads();  // the previous partial sums may still be being read
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    return warp_sum(threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : Sums<N>{});
}

// A row is read three times, from the L1 cache but for the first.
template <int V>
__global__ void __launch_bounds__(1024, 1)
    differentiate_rows(const T* __restrict__ grad_y, const T* __restrict__ x, const T* __restrict__ weight,
                       T* __restrict__ grad_x, int64_t rows, int64_t cols) {
    constexpr int HELD = COLUMNS / V;
    const auto* gains = reinterpret_cast<const Pack<V>*>(weight);
    const int vectors = static_cast<int>(cols / V);
    float weight_share[HELD][V] = {}, bias_share[HELD][V] = {};
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const auto* values = reinterpret_cast<const Pack<V>*>(x + row * cols);
        const auto* slopes = reinterpret_cast<const Pack<V>*>(grad_y + row * cols);
        auto* to = reinterpret_cast<Pack<V>*>(grad_x + row * cols);
        Sums<1> first{};
        for (int v = threadIdx.x; v < vectors; v += blockDim.x) {
            const Pack<V> value = values[v];
#pragma unroll
            for (int e = 0; e < V; ++e) first.at[0] += float(value.at[e]);
        }
        const float mean = block_sum(first).at[0] / cols;
        Sums<4> second{};  // of c, c^2, g, g c
        for (int v = threadIdx.x; v < vectors; v += blockDim.x) {
            const Pack<V> value = values[v], slope = slopes[v], gain = gains[v];
#pragma unroll
            for (int e = 0; e < V; ++e) {
                const float centred = float(value.at[e]) - mean, grad = float(slope.at[e]) * float(gain.at[e]);
                second.at[0] += centred;
                second.at[1] += centred * centred;
                second.at[2] += grad;
                second.at[3] += grad * centred;
            }
        }
        second = block_sum(second);
        // What the rounded mean left over, zero in exact arithmetic, is taken out of all sums (Chan, Golub and LeVeque
        // 1983).
        const float slip = second.at[0] / cols;
        const float variance = fmaxf(second.at[1] / cols - slip * slip, 0.0f);
        const float scale = 1.0f / sqrtf(variance + EPSILON), mean_grad = second.at[2] / cols;
        const float along = (second.at[3] / cols - slip * mean_grad) * scale * scale;
#pragma unroll
        for (int i = 0; i < HELD; ++i) {
            const int v = threadIdx.x + i * blockDim.x;
            if (v >= vectors) continue;
            const Pack<V> value = values[v], slope = slopes[v], gain = gains[v];
            Pack<V> result;
#pragma unroll
            for (int e = 0; e < V; ++e) {
                const float centred = float(value.at[e]) - mean - slip, grad = float(slope.at[e]);
                result.at[e] = T(scale * (grad * float(gain.at[e]) - mean_grad - centred * along));
                weight_share[i][e] += grad * (centred * scale);
                bias_share[i][e] += grad;
            }
            to[v] = result;
        }
    }
    float* share = shares + int64_t(blockIdx.x) * 2 * cols;
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        const int v = threadIdx.x + i * blockDim.x;
        if (v >= vectors) continue;
#pragma unroll
        for (int e = 0; e < V; ++e) {
            share[v * V + e] = weight_share[i][e];
            share[cols + v * V + e] = bias_share[i][e];
        }
    }
}

// 32 columns a block, the gradients side by side; its eight warps share the rows of shares.
__global__ void __launch_bounds__(256) add_shares(T* grad_weight, T* grad_bias, int blocks, int64_t cols) {
    __shared__ float partial[8][32];
    const int64_t column = int64_t(blockIdx.x) * 32 + threadIdx.x;
    float total = 0.0f;
    if (column < 2 * cols)
        for (int block = threadIdx.y; block < blocks; block += 8) total += shares[block * 2 * cols + column];
    partial[threadIdx.y][threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.y > 0 || column >= 2 * cols) return;
    for (int i = 1; i < 8; ++i) total += partial[i][threadIdx.x];
    *(column < cols ? grad_weight + column : grad_bias + column - cols) = T(total);
}

template <int V>
void launch(const T* grad_y, const T* x, const T* weight, T* grad_x, T* grad_weight, T* grad_bias, int64_t rows,
            int64_t cols, cudaStream_t stream) {
    const auto threads = static_cast<unsigned>((cols + 32 * COLUMNS - 1) / (32 * COLUMNS) * 32);
    const auto blocks = static_cast<int>(std::min({rows, MAX_BLOCKS, SHARES / (2 * cols)}));
    differentiate_rows<V><<<blocks, threads, 0, stream>>>(grad_y, x, weight, grad_x, rows, cols);
    const auto spans = static_cast<unsigned>((2 * cols + 31) / 32);
    add_shares<<<spans, dim3(32, 8), 0, stream>>>(grad_weight, grad_bias, blocks, cols);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void layernorm_backward(const T* grad_y, const T* x, const T* weight, T* grad_x, T* grad_weight,
                                   T* grad_bias, int64_t rows, int64_t cols, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = cols % V == 0 && aligned(grad_y) && aligned(x) && aligned(weight) && aligned(grad_x);
    (vectors ? launch<V> : launch<1>)(grad_y, x, weight, grad_x, grad_weight, grad_bias, rows, cols, stream);
}
