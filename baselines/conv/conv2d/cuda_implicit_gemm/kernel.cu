// Convolution as the product of the filters with a matrix that is never stored, with a column for each output place and
// a row for each place of a filter (implicit GEMM; Chetlur et al. 2014). A block multiplies a tile of it as tile.cuh
// does: halves on tensor cores.
#include <cstdint>

#include "tile.cuh"

namespace {

struct Shape {
    int channels, height, width, filters, kh, kw, step, margin, out_width, places;  // places: of an output image
};

template <int V, int TILE>
__global__ void __launch_bounds__(2 * TILE)
    convolve(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias, T* __restrict__ y,
             Shape s, int all_places) {
    constexpr int STAGES = 256 / TILE;  // pieces in flight: as many bytes of small ones as of large ones
    __shared__ Piece<TILE, DEPTH> left[STAGES];
    __shared__ Piece<DEPTH, TILE> right[STAGES];
    const int tiles_m = (s.filters + TILE - 1) / TILE, area = s.kh * s.kw, terms = s.channels * area;
    const int row = blockIdx.x % tiles_m * TILE, col = blockIdx.x / tiles_m * TILE;
    // A thread fetches every second term of one column, a window whose corner is at `top` and `side` of an image.
    const int mine = threadIdx.x % TILE, image = (col + mine) / s.places, place = (col + mine) % s.places;
    const int top = place / s.out_width * s.step - s.margin, side = place % s.out_width * s.step - s.margin;
    const T* from = x + int64_t(image) * s.channels * s.height * s.width;
    // Quotients by products, which are exact: terms are fewer than 2^13 and divisors at most 20.
    const int over_area = (1 << 18) / area + 1, over_kw = (1 << 18) / s.kw + 1;
    const auto fetch = [&](int depth, int buffer) {
        left[buffer].template fetch<V, 2 * TILE>(weight, row, s.filters, depth, terms);
#pragma unroll
        for (int i = threadIdx.x / TILE; i < DEPTH; i += 2) {
            const int term = depth + i, channel = term * over_area >> 18, tap = term - channel * area;
            const int u = tap * over_kw >> 18, line = top + u, column = side + tap - u * s.kw;
            const bool inside = col + mine < all_places && term < terms && unsigned(line) < unsigned(s.height) &&
                                unsigned(column) < unsigned(s.width);
            const int offset = inside ? (channel * s.height + line) * s.width + column : 0;
            right[buffer].template fetch_one<1>(i, mine, inside ? from + offset : x, inside);
        }
        __pipeline_commit();
    };

    Sums<TILE> sums;
    for (int ahead = 0; ahead < STAGES - 1; ++ahead) fetch(ahead * DEPTH, ahead);
    for (int depth = 0, now = 0; depth < terms; depth += DEPTH, now = (now + 1) % STAGES) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();  // the oldest pieces are complete, and nobody reads the ones before them any more
        fetch(depth + (STAGES - 1) * DEPTH, (now + STAGES - 1) % STAGES);
        sums.multiply(left[now], right[now]);
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    sums.each(reinterpret_cast<float*>(left), [&](int i, int j, float sum) {
        if (row + i >= s.filters || col + j >= all_places) return;
        const int64_t plane = int64_t((col + j) / s.places) * s.filters + row + i;
        y[plane * s.places + (col + j) % s.places] = T(sum + float(bias[row + i]));
    });
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void conv2d(const T* x, const T* weight, const T* bias, int64_t stride, int64_t padding, T* y, int64_t batch,
                       int64_t channels, int64_t filters, int64_t height, int64_t width, int64_t kh, int64_t kw,
                       int64_t, int64_t, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const int64_t out_height = (height + 2 * padding - kh) / stride + 1;
    const int64_t out_width = (width + 2 * padding - kw) / stride + 1, all_places = batch * out_height * out_width;
    const bool vectors = channels * kh * kw % V == 0 && aligned(weight);
    const Shape shape = {int(channels), int(height), int(width),   int(filters),   int(kh),
                         int(kw),       int(stride), int(padding), int(out_width), int(out_height * out_width)};
    const auto tiles = [&](int size) { return ((filters + size - 1) / size) * ((all_places + size - 1) / size); };
    const auto run = [&](auto kernel, int size) {
        kernel<<<unsigned(tiles(size)), 2 * size, 0, stream>>>(x, weight, bias, y, shape, int(all_places));
    };
    // Small tiles where large ones would be mostly empty, or too few to keep a GPU busy.
    if (filters > 64 && tiles(128) >= 128)
        run(vectors ? convolve<V, 128> : convolve<1, 128>, 128);
    else if (filters > 32 && tiles(64) >= 128)
        run(vectors ? convolve<V, 64> : convolve<1, 64>, 64);
    else
        run(vectors ? convolve<V, 32> : convolve<1, 32>, 32);
}
