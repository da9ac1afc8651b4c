// Exponential moving average moved on by one step (Polyak and Juditsky 1992): decay a + (1 - decay) p in float32. A
// thread moves 64 bytes of each tensor, in vectors of 16 where the addresses allow it, and has loaded all of them
// before it needs the first.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 128, BYTES = 64;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

template <int V>
__global__ void __launch_bounds__(THREADS) move_on(const T* __restrict__ average, const T* __restrict__ param,
                                                   T* __restrict__ y, int64_t count, float keep, float add) {
    constexpr int HELD = BYTES / sizeof(Pack<V>);
    const auto* averages = reinterpret_cast<const Pack<V>*>(average);
    const auto* params = reinterpret_cast<const Pack<V>*>(param);
    const int64_t vectors = count / V, first = int64_t(blockIdx.x) * (THREADS * HELD) + threadIdx.x;
    Pack<V> a[HELD], p[HELD];
#pragma unroll
    for (int i = 0; i < HELD; ++i)
        if (first + i * THREADS < vectors) {
            a[i] = averages[first + i * THREADS];
            p[i] = params[first + i * THREADS];
        }
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        if (first + i * THREADS >= vectors) continue;
#pragma unroll
        for (int e = 0; e < V; ++e) a[i].at[e] = T(keep * float(a[i].at[e]) + add * float(p[i].at[e]));
        reinterpret_cast<Pack<V>*>(y)[first + i * THREADS] = a[i];
    }
    // Fewer than V elements lie behind the whole vectors.
    const int64_t rest = vectors * V + threadIdx.x;
    if (blockIdx.x == 0 && rest < count) y[rest] = T(keep * float(average[rest]) + add * float(param[rest]));
}

template <int V>
void launch(const T* average, const T* param, T* y, int64_t count, float keep, float add, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(count / (THREADS * BYTES / int64_t(sizeof(T))) + 1);
    move_on<V><<<blocks, THREADS, 0, stream>>>(average, param, y, count, keep, add);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void ema_update(const T* average, const T* param, double decay, T* new_average, int64_t rows, int64_t cols,
                           cudaStream_t stream) {
    if (rows == 0) return;  // a grid without blocks is an error
    const bool vectors = aligned(average) && aligned(param) && aligned(new_average);
    // 1 - decay in float64: of a decay that was rounded to float32, few digits of it are left.
    (vectors ? launch<16 / sizeof(T)> : launch<1>)(average, param, new_average, rows * cols, float(decay),
                                                   float(1.0 - decay), stream);
}
