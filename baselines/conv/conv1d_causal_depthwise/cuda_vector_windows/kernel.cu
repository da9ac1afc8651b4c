// Causal convolution of each channel with a short filter (Gu and Dao 2023), bound by traffic. A thread computes 16
// bytes of neighbouring outputs from the vector of inputs at their place and the one before it, which its neighbour
// loads too: the second time it comes from the L1 cache.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr unsigned THREADS = 256;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// V is 1 where vectors would cross the end of a row or be misaligned. Threads of a block: x along a row, y over rows.
template <int TAPS, int V>
__global__ void __launch_bounds__(THREADS)
    convolve(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias, T* __restrict__ y,
             int rows, int channels, int length) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y, channel = row % channels;
    if (row >= rows) return;
    float tap[TAPS];
#pragma unroll
    for (int u = 0; u < TAPS; ++u) tap[u] = float(weight[channel * TAPS + u]);
    const float offset = float(bias[channel]);
    const auto* from = reinterpret_cast<const Pack<V>*>(x + int64_t(row) * length);
    auto* to = reinterpret_cast<Pack<V>*>(y + int64_t(row) * length);
    // Vectors before this one that a window reaches into.
    constexpr int BEFORE = (TAPS - 1 + V - 1) / V;
    for (int v = blockIdx.y * blockDim.x + threadIdx.x; v < length / V; v += gridDim.y * blockDim.x) {
        float place[(BEFORE + 1) * V];
#pragma unroll
        for (int i = 0; i <= BEFORE; ++i) {
            const Pack<V> pack = v + i < BEFORE ? Pack<V>{} : from[v + i - BEFORE];
#pragma unroll
            for (int e = 0; e < V; ++e) place[i * V + e] = float(pack.at[e]);
        }
        Pack<V> result;
#pragma unroll
        for (int e = 0; e < V; ++e) {
            float total = offset;
#pragma unroll
            for (int u = 0; u < TAPS; ++u) total += tap[u] * place[BEFORE * V + e - (TAPS - 1) + u];
            result.at[e] = T(total);
        }
        to[v] = result;
    }
}

template <int V>
void launch(const T* x, const T* weight, const T* bias, T* y, int64_t batch, int64_t channels, int64_t length,
            int64_t taps, cudaStream_t stream) {
    const int64_t rows = batch * channels, vectors = length / V;
    // As many threads along a row as it can use; the rest of the block works on other rows.
    unsigned across = 1;
    while (across < THREADS && across < vectors) across *= 2;
    const dim3 threads(across, THREADS / across);
    const dim3 blocks(unsigned((rows + threads.y - 1) / threads.y), unsigned((vectors + 4 * across - 1) / 4 / across));
    const auto kernel = taps == 2 ? convolve<2, V> : taps == 3 ? convolve<3, V> : convolve<4, V>;  // the task's filters
    kernel<<<blocks, threads, 0, stream>>>(x, weight, bias, y, int(rows), int(channels), int(length));
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void conv1d_causal_depthwise(const T* x, const T* weight, const T* bias, T* y, int64_t batch,
                                        int64_t channels, int64_t length, int64_t taps, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = length % V == 0 && aligned(x) && aligned(y);
    (vectors ? launch<V> : launch<1>)(x, weight, bias, y, batch, channels, length, taps, stream);
}
