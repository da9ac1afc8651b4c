// Luma, 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601), in float32 up to the store. Bound by memory: a thread has
// loaded its vectors of all three planes before it needs the first. Blocks along y are images, so nothing is divided.
#include <cstdint>

namespace {

using T = KBENCH_T;
// Of each plane a thread moves 32 bytes.
constexpr int THREADS = 128, BYTES = 32;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// Where colours cancel, rounding errors are all there is to see. Products of halves and these quotients have none;
// those of floats are rounded before they are added, for a fused product would leave the rounding errors of the others.
constexpr bool EXACT = sizeof(T) == 2;
constexpr float RED = EXACT ? 299.0f / 1024.0f : 0.299f, GREEN = EXACT ? 587.0f / 1024.0f : 0.587f;
constexpr float BLUE = EXACT ? 114.0f / 1024.0f : 0.114f, SCALE = EXACT ? 1.024f : 1.0f;

__device__ float luma(T red, T green, T blue) {
    const float warm = __fadd_rn(__fmul_rn(RED, float(red)), __fmul_rn(GREEN, float(green)));
    return __fadd_rn(warm, __fmul_rn(BLUE, float(blue))) * SCALE;
}

template <int V>
__global__ void __launch_bounds__(THREADS) mix(const T* __restrict__ x, T* __restrict__ y, int64_t size) {
    constexpr int HELD = BYTES / sizeof(Pack<V>);
    const T* image = x + blockIdx.y * 3 * size;
    const auto* red = reinterpret_cast<const Pack<V>*>(image);
    const auto* green = reinterpret_cast<const Pack<V>*>(image + size);
    const auto* blue = reinterpret_cast<const Pack<V>*>(image + 2 * size);
    auto* to = reinterpret_cast<Pack<V>*>(y + blockIdx.y * size);
    const int64_t vectors = size / V, first = int64_t(blockIdx.x) * (THREADS * HELD) + threadIdx.x;
    Pack<V> r[HELD], g[HELD], b[HELD];
#pragma unroll
    for (int i = 0; i < HELD; ++i)
        if (first + i * THREADS < vectors) {
            r[i] = red[first + i * THREADS];
            g[i] = green[first + i * THREADS];
            b[i] = blue[first + i * THREADS];
        }
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        if (first + i * THREADS >= vectors) continue;
#pragma unroll
        for (int e = 0; e < V; ++e) r[i].at[e] = T(luma(r[i].at[e], g[i].at[e], b[i].at[e]));
        to[first + i * THREADS] = r[i];
    }
}

template <int V>
void launch(const T* x, T* y, int64_t batch, int64_t size, cudaStream_t stream) {
    constexpr int64_t chunk = THREADS * BYTES / sizeof(T);
    const dim3 grid(static_cast<unsigned>((size + chunk - 1) / chunk), static_cast<unsigned>(batch));
    mix<V><<<grid, THREADS, 0, stream>>>(x, y, size);
}

bool aligned(const T* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void grayscale(const T* x, T* y, int64_t batch, int64_t height, int64_t width, cudaStream_t stream) {
    if (batch == 0) return;  // a grid must not be empty
    constexpr int V = 16 / sizeof(T);
    // A size with a remainder shifts every plane against the others: then single elements, as many bytes under way.
    const bool vectors = height * width % V == 0 && aligned(x) && aligned(y);
    (vectors ? launch<V> : launch<1>)(x, y, batch, height * width, stream);
}
