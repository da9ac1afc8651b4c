// Gradient of RMSNorm: with r = 1 / sqrt(mean(x^2) + eps) and g = grad_y * weight, grad_x = r * (g - x r^2 mean(g x))
// and grad_weight = sum over rows of grad_y * x * r. Three kernels: sums over slabs of rows, their sum, and grad_x. The
// C ABI has no workspace: the sums of the slabs lie in grad_x until the third kernel overwrites them.
#include <algorithm>
#include <cstdint>

namespace {

constexpr float EPSILON = 1e-6f;
// Sums of columns that a thread keeps in registers: a block of 1024 spans 16384 columns.
constexpr int SUMS = 16;
constexpr int64_t MAX_SLABS = 512;

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

// Sums over the rows s, s + slabs, s + 2 slabs, ... for slab s = blockIdx.x and the columns of blockIdx.y. Here as in
// the last kernel, a row that is read again comes from the L1 or L2 cache.
template <typename T, int V, typename Sum>
__global__ void __launch_bounds__(1024, 1) add_rows(const T* __restrict__ grad_y, const T* __restrict__ x,
                                                    Sum* __restrict__ sums, int64_t rows, int64_t cols) {
    constexpr int HELD = SUMS / V;
    const int64_t vectors = cols / V, first = int64_t(blockIdx.y) * HELD * blockDim.x + threadIdx.x;
    float total[HELD][V] = {};
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const auto* values = reinterpret_cast<const Pack<T, V>*>(x + row * cols);
        const auto* slopes = reinterpret_cast<const Pack<T, V>*>(grad_y + row * cols);
        float square = 0.0f;
        for (int64_t v = threadIdx.x; v < vectors; v += blockDim.x) {
            const Pack<T, V> value = values[v];
#pragma unroll
            for (int e = 0; e < V; ++e) square += float(value.at[e]) * float(value.at[e]);
        }
        const float scale = 1.0f / sqrtf(block_sum(square) / cols + EPSILON);
#pragma unroll
        for (int i = 0; i < HELD; ++i) {
            const int64_t v = first + i * blockDim.x;
            if (v >= vectors) continue;
            const Pack<T, V> value = values[v], slope = slopes[v];
#pragma unroll
            for (int e = 0; e < V; ++e) total[i][e] += float(slope.at[e]) * float(value.at[e]) * scale;
        }
    }
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        const int64_t v = first + i * blockDim.x;
        if (v >= vectors) continue;
#pragma unroll
        for (int e = 0; e < V; ++e) sums[blockIdx.x * cols + v * V + e] = Sum(total[i][e]);
    }
}

// 32 columns a block; its eight warps share the slabs.
template <typename T>
__global__ void __launch_bounds__(256) add_slabs(const float* __restrict__ sums, T* __restrict__ grad_weight,
                                                 int64_t slabs, int64_t cols) {
    __shared__ float partial[8][32];
    const int64_t col = int64_t(blockIdx.x) * 32 + threadIdx.x;
    float total = 0.0f;
    if (col < cols)
        for (int64_t slab = threadIdx.y; slab < slabs; slab += 8) total += sums[slab * cols + col];
    partial[threadIdx.y][threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.y > 0 || col >= cols) return;
    for (int i = 1; i < 8; ++i) total += partial[i][threadIdx.x];
    grad_weight[col] = T(total);
}

template <typename T, int V>
__global__ void __launch_bounds__(1024, 1) differentiate_rows(const T* __restrict__ grad_y, const T* __restrict__ x,
                                                              const T* __restrict__ weight, T* __restrict__ grad_x,
                                                              int64_t rows, int64_t cols) {
    const auto* gains = reinterpret_cast<const Pack<T, V>*>(weight);
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const auto* values = reinterpret_cast<const Pack<T, V>*>(x + row * cols);
        const auto* slopes = reinterpret_cast<const Pack<T, V>*>(grad_y + row * cols);
        auto* to = reinterpret_cast<Pack<T, V>*>(grad_x + row * cols);
        float square = 0.0f;
        for (int64_t v = threadIdx.x; v < cols / V; v += blockDim.x) {
            const Pack<T, V> value = values[v];
#pragma unroll
            for (int e = 0; e < V; ++e) square += float(value.at[e]) * float(value.at[e]);
        }
        square = block_sum(square);
        const float scale = 1.0f / sqrtf(square / cols + EPSILON), inverse = 1.0f / fmaxf(square, 1e-30f);
        // g = rest + (along + slip) * x with rest orthogonal to x. The formula cancels where g is almost parallel to x,
        // as in short rows; a second projection removes what rounding left of x (Giraud, Langou and Rozloznik 2005).
        float along = 0.0f, slip = 0.0f;
        const auto rest = [&](float value, float slope, float gain) {
            return slope * gain - along * value - slip * value;
        };
        const auto project = [&] {
            float product = 0.0f;
            for (int64_t v = threadIdx.x; v < cols / V; v += blockDim.x) {
                const Pack<T, V> value = values[v], slope = slopes[v], gain = gains[v];
#pragma unroll
                for (int e = 0; e < V; ++e)
                    product += rest(float(value.at[e]), float(slope.at[e]), float(gain.at[e])) * float(value.at[e]);
            }
            return block_sum(product) * inverse;
        };
        along = project();
        slip = project();
        const float shrunk = (along + slip) * (EPSILON * scale * scale);
        for (int64_t v = threadIdx.x; v < cols / V; v += blockDim.x) {
            const Pack<T, V> value = values[v], slope = slopes[v], gain = gains[v];
            Pack<T, V> result;
#pragma unroll
            for (int e = 0; e < V; ++e) {
                const float ortho = rest(float(value.at[e]), float(slope.at[e]), float(gain.at[e]));
                result.at[e] = T(scale * (ortho + shrunk * float(value.at[e])));
            }
            to[v] = result;
        }
    }
}

template <int V>
void launch(const KBENCH_T* grad_y, const KBENCH_T* x, const KBENCH_T* weight, KBENCH_T* grad_x, KBENCH_T* grad_weight,
            int64_t rows, int64_t cols, cudaStream_t stream) {
    const auto threads = static_cast<unsigned>(32 * std::min<int64_t>((cols + 32 * SUMS - 1) / (32 * SUMS), 32));
    const auto spans = static_cast<unsigned>((cols + threads * SUMS - 1) / (threads * SUMS));
    const auto start = (reinterpret_cast<uintptr_t>(grad_x) + 3) / 4 * 4;
    const auto room = reinterpret_cast<uintptr_t>(grad_x + rows * cols) - start;
    const int64_t slabs = std::min({rows, static_cast<int64_t>(room / sizeof(float)) / cols, MAX_SLABS});
    if (slabs > 1) {
        auto* sums = reinterpret_cast<float*>(start);
        const dim3 grid(static_cast<unsigned>(slabs), spans);
        add_rows<KBENCH_T, V><<<grid, threads, 0, stream>>>(grad_y, x, sums, rows, cols);
        const auto blocks = static_cast<unsigned>((cols + 31) / 32);
        add_slabs<<<blocks, dim3(32, 8), 0, stream>>>(sums, grad_weight, slabs, cols);
    } else {
        add_rows<KBENCH_T, V><<<dim3(1, spans), threads, 0, stream>>>(grad_y, x, grad_weight, rows, cols);
    }
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(rows, INT32_MAX));
    differentiate_rows<KBENCH_T, V><<<blocks, threads, 0, stream>>>(grad_y, x, weight, grad_x, rows, cols);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void rmsnorm_backward(const KBENCH_T* grad_y, const KBENCH_T* x, const KBENCH_T* weight, KBENCH_T* grad_x,
                                 KBENCH_T* grad_weight, int64_t rows, int64_t cols, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(KBENCH_T);
    const bool vectors = cols % V == 0 && aligned(grad_y) && aligned(x) && aligned(weight) && aligned(grad_x);
    (vectors ? launch<V> : launch<1>)(grad_y, x, weight, grad_x, grad_weight, rows, cols, stream);
}
