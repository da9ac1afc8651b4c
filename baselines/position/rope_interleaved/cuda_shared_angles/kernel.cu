// Rotary embedding of neighbours (Su et al. 2021, eq. 34), bound by memory: 16 bytes at a time, and 8 of the angles.
// All heads of a token turn by the same angles: a thread reads them once for all the heads it has.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256;

// N neighbouring elements, moved V at a time.
template <int N, int V = N>
struct alignas(V * sizeof(T)) Pack {
    T at[N];
};

// Threads along x have pairs of a head, those along y other heads of the same token, those along z other tokens.
template <int V>
__global__ void __launch_bounds__(THREADS)
    turn(const T* __restrict__ x, const int64_t* __restrict__ position, const T* __restrict__ cos,
         const T* __restrict__ sin, T* __restrict__ y, int64_t tokens, int64_t heads, int64_t half) {
    using Pairs = Pack<2 * V, V == 1 ? 1 : 2 * V>;  // a pair by itself may lie anywhere
    const int64_t token = int64_t(blockIdx.x) * blockDim.z + threadIdx.z;
    if (token >= tokens) return;
    const int64_t angles = position[token] * half;
    for (int64_t pair = threadIdx.x * V; pair < half; pair += blockDim.x * V) {
        const auto c = *reinterpret_cast<const Pack<V>*>(cos + angles + pair);
        const auto s = *reinterpret_cast<const Pack<V>*>(sin + angles + pair);
#pragma unroll 2
        for (int64_t head = threadIdx.y; head < heads; head += blockDim.y) {
            const int64_t place = (token * heads + head) * 2 * half + 2 * pair;
            auto both = *reinterpret_cast<const Pairs*>(x + place);
#pragma unroll
            for (int e = 0; e < V; ++e) {
                const float p = float(both.at[2 * e]), q = float(both.at[2 * e + 1]);
                const float cosine = float(c.at[e]), sine = float(s.at[e]);
                both.at[2 * e] = T(p * cosine - q * sine);
                both.at[2 * e + 1] = T(q * cosine + p * sine);
            }
            *reinterpret_cast<Pairs*>(y + place) = both;
        }
    }
}

template <int V>
void launch(const T* x, const int64_t* position, const T* cos, const T* sin, T* y, int64_t tokens, int64_t heads,
            int64_t half, cudaStream_t stream) {
    unsigned across = 1, down = 1;
    while (across < THREADS && across * V < half) across *= 2;
    while (across * down < THREADS && down * 2 < heads) down *= 2;  // two heads a thread, where there are two
    const dim3 threads(across, down, std::min(THREADS / (across * down), 64u));  // no more along z
    const auto blocks = static_cast<unsigned>((tokens + threads.z - 1) / threads.z);
    turn<V><<<blocks, threads, 0, stream>>>(x, position, cos, sin, y, tokens, heads, half);
}

}  // namespace

extern "C" void rope_interleaved(const T* x, const int64_t* position, const T* cos, const T* sin, T* y, int64_t tokens,
                                 int64_t heads, int64_t half, int64_t, cudaStream_t stream) {
    if (tokens == 0) return;  // a grid must not be empty
    constexpr int V = 8 / sizeof(T);
    const uintptr_t of_x = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y);
    const uintptr_t of_angles = reinterpret_cast<uintptr_t>(cos) | reinterpret_cast<uintptr_t>(sin);
    const bool vectors = half % V == 0 && of_x % 16 == 0 && of_angles % 8 == 0;
    (vectors ? launch<V> : launch<1>)(x, position, cos, sin, y, tokens, heads, half, stream);
}
