// LayerNorm (Ba, Kiros and Hinton 2016). A block normalises a row that it keeps in registers: x is read only once.
// The variance is the corrected two-pass one of Chan, Golub and LeVeque (1983): no cancellation when the mean is large.
#include <algorithm>
#include <cstdint>

namespace {

constexpr float EPSILON = 1e-5f;
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

template <typename T, int V>
__global__ void __launch_bounds__(1024) normalise_rows(const T* __restrict__ x, const T* __restrict__ weight,
                                                       const T* __restrict__ bias, T* __restrict__ y, int64_t rows,
                                                       int64_t cols) {
    const auto* gain = reinterpret_cast<const Pack<T, V>*>(weight);
    const auto* offset = reinterpret_cast<const Pack<T, V>*>(bias);
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        const Row<T, V> row(x + r * cols, cols);
        float sum = 0.0f;
        row.each([&](const Pack<T, V>& value, int64_t) {
#pragma unroll
            for (int e = 0; e < V; ++e) sum += float(value.at[e]);
        });
        const float mean = block_sum(sum) / cols;
        float rest = 0.0f, square = 0.0f;
        row.each([&](const Pack<T, V>& value, int64_t) {
#pragma unroll
            for (int e = 0; e < V; ++e) {
                const float centred = float(value.at[e]) - mean;
                rest += centred;
                square += centred * centred;
            }
        });
        // What the rounded mean left over: zero in exact arithmetic.
        const float slip = block_sum(rest) / cols;
        const float variance = fmaxf(block_sum(square) / cols - slip * slip, 0.0f);
        const float scale = 1.0f / sqrtf(variance + EPSILON);
        auto* to = reinterpret_cast<Pack<T, V>*>(y + r * cols);
        row.each([&](const Pack<T, V>& value, int64_t v) {
            const Pack<T, V> factor = gain[v], shift = offset[v];
            Pack<T, V> result;
#pragma unroll
            for (int e = 0; e < V; ++e) {
                const float unit = (float(value.at[e]) - mean - slip) * scale;
                result.at[e] = T(unit * float(factor.at[e]) + float(shift.at[e]));
            }
            to[v] = result;
        });
    }
}

template <int V>
void launch(const KBENCH_T* x, const KBENCH_T* weight, const KBENCH_T* bias, KBENCH_T* y, int64_t rows, int64_t cols,
            cudaStream_t stream) {
    const int64_t warps = (cols / V + 32 * HELD - 1) / (32 * HELD);
    const auto threads = static_cast<unsigned>(32 * std::min<int64_t>(warps, 32));
    const auto blocks = static_cast<unsigned>(std::min<int64_t>(rows, INT32_MAX));
    normalise_rows<KBENCH_T, V><<<blocks, threads, 0, stream>>>(x, weight, bias, y, rows, cols);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void layernorm(const KBENCH_T* x, const KBENCH_T* weight, const KBENCH_T* bias, KBENCH_T* y, int64_t rows,
                          int64_t cols, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(KBENCH_T);
    const bool vectors = cols % V == 0 && aligned(x) && aligned(weight) && aligned(bias) && aligned(y);
    (vectors ? launch<V> : launch<1>)(x, weight, bias, y, rows, cols, stream);
}
