// Five-point stencil, y = x + rate (up + down + left + right - 4 x) inside of each grid (Datta et al. 2008, section 2).
// A thread steps a strip of STRIP vectors below each other, whose rows it loads once, all of them at the start; their
// neighbours to the left and right are other lanes' and come from the L1 cache.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int STRIP = 4, THREADS = 256;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

template <int V>
__global__ void __launch_bounds__(THREADS) step(const T* __restrict__ x, T* __restrict__ y, float rate, int64_t strips,
                                                int height, int width, int tiles) {
    // Blocks go along the rows first: those that run together share the rows above and below in the L2 cache.
    const int64_t block = blockIdx.x / tiles, strip = block * blockDim.y + threadIdx.y;
    const int col = (int(blockIdx.x - block * tiles) * int(blockDim.x) + int(threadIdx.x)) * V;
    if (strip >= strips || col >= width) return;
    const int per_grid = (height + STRIP - 1) / STRIP;
    const int64_t grid = strip / per_grid;
    const int top = int(strip - grid * per_grid) * STRIP;
    const int64_t corner = (grid * height + top) * width + col;
    const T* from = x + corner;

    Pack<V> row[STRIP + 2];  // from the row above the strip to the one below it
    T left[STRIP], right[STRIP];
#pragma unroll
    for (int i = -1; i <= STRIP; ++i)
        if (unsigned(top + i) < unsigned(height)) row[i + 1] = *reinterpret_cast<const Pack<V>*>(from + i * width);
#pragma unroll
    for (int i = 0; i < STRIP; ++i)
        if (top + i < height) {
            left[i] = from[i * width - (col > 0 ? 1 : 0)];
            right[i] = from[i * width + (col + V < width ? V : V - 1)];
        }
#pragma unroll
    for (int i = 0; i < STRIP; ++i) {
        if (top + i >= height) continue;
        const Pack<V>& here = row[i + 1];
        Pack<V> result = here;
        if (top + i > 0 && top + i + 1 < height) {
#pragma unroll
            for (int e = 0; e < V; ++e) {
                if (col + e == 0 || col + e + 1 == width) continue;
                const float centre = float(here.at[e]), vertical = float(row[i].at[e]) + float(row[i + 2].at[e]);
                const float before = float(e > 0 ? here.at[e > 0 ? e - 1 : 0] : left[i]);
                const float behind = float(e + 1 < V ? here.at[e + 1 < V ? e + 1 : 0] : right[i]);
                result.at[e] = T(centre + rate * (vertical + (before + behind) - 4.0f * centre));
            }
        }
        *reinterpret_cast<Pack<V>*>(y + corner + i * width) = result;
    }
}

template <int V>
void launch(const T* x, T* y, float rate, int64_t batch, int height, int width, cudaStream_t stream) {
    // 512 bytes or more of a row, so that the columns beside a block cost little; fewer where rows are shorter.
    const int vectors = width / V;
    int across = 8;
    while (across < 128 / V && across < vectors) across *= 2;
    const dim3 threads(across, THREADS / across);
    const int tiles = (vectors + across - 1) / across;
    const int64_t strips = batch * ((height + STRIP - 1) / STRIP);
    const auto blocks = static_cast<unsigned>((strips + threads.y - 1) / threads.y * tiles);
    step<V><<<blocks, threads, 0, stream>>>(x, y, rate, strips, height, width, tiles);
}

bool aligned(const T* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void stencil2d(const T* x, double rate, T* y, int64_t batch, int64_t height, int64_t width,
                          cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = width % V == 0 && aligned(x) && aligned(y);
    (vectors ? launch<V> : launch<1>)(x, y, float(rate), batch, int(height), int(width), stream);
}
