// Combination of experts (Gale et al. 2022, section 5.2): each token gathers its rows and adds them with its weights in
// float32. A thread has 16 bytes of the result where the addresses allow it; nothing is added through memory, as it
// would be if the rows were scattered.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, UNROLL = 4;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// Threads of a block lie along a row as far as it reaches; the others have other tokens.
template <int V>
__global__ void __launch_bounds__(THREADS)
    combine(const T* __restrict__ x, const int64_t* __restrict__ place, const T* __restrict__ weight,
            T* __restrict__ y, int64_t tokens, int chosen, int64_t width) {
    const int64_t token = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
    const int64_t col = (int64_t(blockIdx.y) * blockDim.x + threadIdx.x) * V;
    if (token >= tokens || col >= width) return;
    place += token * chosen, weight += token * chosen;
    float total[V] = {};
    for (int first = 0; first < chosen; first += UNROLL) {
        // Several rows are under way before the first is needed.
        Pack<V> value[UNROLL];
        float factor[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i)
            if (first + i < chosen) {
                value[i] = *reinterpret_cast<const Pack<V>*>(x + place[first + i] * width + col);
                factor[i] = float(weight[first + i]);
            }
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            if (first + i >= chosen) continue;
#pragma unroll
            for (int e = 0; e < V; ++e) total[e] += factor[i] * float(value[i].at[e]);
        }
    }
    Pack<V> result;
#pragma unroll
    for (int e = 0; e < V; ++e) result.at[e] = T(total[e]);
    *reinterpret_cast<Pack<V>*>(y + token * width + col) = result;
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void unpermute(const T* x, const int64_t* place, const T* weight, T* y, int64_t tokens, int64_t chosen,
                          int64_t width, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = width % V == 0 && aligned(x) && aligned(y);
    const int64_t packs = vectors ? width / V : width;
    unsigned across = 1;
    while (across < THREADS && across < packs) across *= 2;
    const dim3 threads(across, THREADS / across);
    const dim3 grid(static_cast<unsigned>((tokens + threads.y - 1) / threads.y),
                    static_cast<unsigned>((packs + across - 1) / across));
    const auto kernel = vectors ? combine<V> : combine<1>;
    kernel<<<grid, threads, 0, stream>>>(x, place, weight, y, tokens, int(chosen), width);
}
