// Masked fill (torch.Tensor.masked_fill), bound by memory: rows play no part, and each thread moves some vectors of 16
// bytes with the bytes of the mask that belong to them.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, UNROLL = 4;

// V neighbouring elements, moved in one transaction.
template <typename E, int V>
struct alignas(V * sizeof(E)) Pack {
    E at[V];
};

template <int V>
__global__ void __launch_bounds__(THREADS) fill(const T* __restrict__ x, const uint8_t* __restrict__ mask, T value,
                                                T* __restrict__ y, int64_t size) {
    const auto* from = reinterpret_cast<const Pack<T, V>*>(x);
    const auto* marks = reinterpret_cast<const Pack<uint8_t, V>*>(mask);
    auto* to = reinterpret_cast<Pack<T, V>*>(y);
    const int64_t vectors = size / V, first = int64_t(blockIdx.x) * UNROLL * THREADS + threadIdx.x;
    Pack<T, V> held[UNROLL];
    Pack<uint8_t, V> mark[UNROLL];
    // All loads are under way before the first store waits for one.
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) {
        if (first + i * THREADS >= vectors) continue;
        held[i] = from[first + i * THREADS];
        mark[i] = marks[first + i * THREADS];
    }
#pragma unroll
    for (int i = 0; i < UNROLL; ++i) {
        if (first + i * THREADS >= vectors) continue;
#pragma unroll
        for (int e = 0; e < V; ++e)
            if (mark[i].at[e] != 0) held[i].at[e] = value;
        to[first + i * THREADS] = held[i];
    }
    // What is left behind the last whole vector.
    const int64_t rest = vectors * V + threadIdx.x;
    if (blockIdx.x == 0 && rest < size) y[rest] = mask[rest] != 0 ? value : x[rest];
}

template <int V>
void launch(const T* x, const uint8_t* mask, T value, T* y, int64_t size, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(size / V / (UNROLL * THREADS) + 1);
    fill<V><<<blocks, THREADS, 0, stream>>>(x, mask, value, y, size);
}

bool aligned(const void* pointer, int bytes) { return reinterpret_cast<uintptr_t>(pointer) % bytes == 0; }

}  // namespace

extern "C" void masked_fill(const T* x, const uint8_t* mask, double value, T* y, int64_t rows, int64_t cols,
                            cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = aligned(x, 16) && aligned(mask, V) && aligned(y, 16);
    (vectors ? launch<V> : launch<1>)(x, mask, T(float(value)), y, rows * cols, stream);
}
