// GELU (Hendrycks and Gimpel 2016, eq. 1): x times the probability that a normal variable is below it. normcdff keeps
// the lower tail, which 1 + erf(x / sqrt(2)) cancels. A thread moves 32 bytes, in vectors of 16 where addresses allow.
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 128, BYTES = 32;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

__device__ float gelu(float x) { return x * normcdff(x); }

template <int V>
__global__ void __launch_bounds__(THREADS) map(const T* __restrict__ x, T* __restrict__ y, int64_t count) {
    constexpr int HELD = BYTES / sizeof(Pack<V>);
    const auto* from = reinterpret_cast<const Pack<V>*>(x);
    auto* to = reinterpret_cast<Pack<V>*>(y);
    const int64_t vectors = count / V, first = int64_t(blockIdx.x) * (THREADS * HELD) + threadIdx.x;
    Pack<V> value[HELD];
#pragma unroll
    for (int i = 0; i < HELD; ++i)
        if (first + i * THREADS < vectors) value[i] = from[first + i * THREADS];
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        if (first + i * THREADS >= vectors) continue;
#pragma unroll
        for (int e = 0; e < V; ++e) value[i].at[e] = T(gelu(float(value[i].at[e])));
        to[first + i * THREADS] = value[i];
    }
    // Fewer than V elements lie behind the whole vectors.
    const int64_t rest = vectors * V + threadIdx.x;
    if (blockIdx.x == 0 && rest < count) y[rest] = T(gelu(float(x[rest])));
}

template <int V>
void launch(const T* x, T* y, int64_t count, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(count / (THREADS * BYTES / int64_t(sizeof(T))) + 1);
    map<V><<<blocks, THREADS, 0, stream>>>(x, y, count);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void gelu(const T* x, T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    if (rows == 0) return;  // a grid without blocks is an error
    (aligned(x) && aligned(y) ? launch<16 / sizeof(T)> : launch<1>)(x, y, rows * cols, stream);
}
