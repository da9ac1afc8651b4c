// Swish (Ramachandran, Zoph and Le 2017), x / (1 + exp(-x)): one rounding less than x times a sigmoid. A thread moves
// 32 bytes, in vectors of 16 where the addresses allow it, and has loaded all of them before it needs the first.
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

// Below -88.7 exp(-x) is infinite and the result -0: what is lost there is less than 3e-37.
__device__ float swish(float x) { return x / (1.0f + expf(-x)); }

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
        for (int e = 0; e < V; ++e) value[i].at[e] = T(swish(float(value[i].at[e])));
        to[first + i * THREADS] = value[i];
    }
    // Fewer than V elements lie behind the whole vectors.
    const int64_t rest = vectors * V + threadIdx.x;
    if (blockIdx.x == 0 && rest < count) y[rest] = T(swish(float(x[rest])));
}

template <int V>
void launch(const T* x, T* y, int64_t count, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(count / (THREADS * BYTES / int64_t(sizeof(T))) + 1);
    map<V><<<blocks, THREADS, 0, stream>>>(x, y, count);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void swish(const T* x, T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    if (rows == 0) return;  // a grid without blocks is an error
    (aligned(x) && aligned(y) ? launch<16 / sizeof(T)> : launch<1>)(x, y, rows * cols, stream);
}
