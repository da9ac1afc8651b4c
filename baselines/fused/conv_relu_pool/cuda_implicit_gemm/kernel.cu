// Convolution with 3 x 3 filters, ReLU and 2 x 2 max pooling: the product of the filters with a matrix that is never
// stored (implicit GEMM; Chetlur et al. 2014), with columns for the places alone that are pooled. A block multiplies a
// tile of it as tile.cuh does: halves on tensor cores, and of each window's four sums the greatest is left.
#include <cstdint>

#include "tile.cuh"

namespace {

struct Shape {
    int channels, height, width, filters, out_width, places;  // places: of a pooled image
};

template <int V, int TILE>
__global__ void __launch_bounds__(2 * TILE)
    convolve(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias, T* __restrict__ y,
             Shape s, int all_places) {
    constexpr int STAGES = 256 / TILE;  // pieces in flight: as many bytes of small ones as of large ones
    __shared__ Piece<TILE, DEPTH> left[STAGES];
    __shared__ Piece<DEPTH, TILE> right[STAGES];
    const int tiles_m = (s.filters + TILE - 1) / TILE, terms = s.channels * 9;
    const int row = blockIdx.x % tiles_m * TILE, window = blockIdx.x / tiles_m * (TILE / 4);
    // A thread fetches every second term of one column. The four columns of a pooled window are 16 apart.
    const int mine = threadIdx.x % TILE, pooled = window + mine / 64 * 16 + mine % 16, corner = mine / 16 % 4;
    const int image = pooled / s.places, place = pooled % s.places;
    const int top = place / s.out_width * 2 + corner / 2, side = place % s.out_width * 2 + corner % 2;
    const T* from = x + (int64_t(image) * s.channels * s.height + top) * s.width + side;
    const auto fetch = [&](int depth, int buffer) {
        left[buffer].template fetch<V, 2 * TILE>(weight, row, s.filters, depth, terms);
#pragma unroll
        for (int i = threadIdx.x / TILE; i < DEPTH; i += 2) {
            const int term = depth + i, channel = term / 9, u = term % 9 / 3, v = term % 3;
            const bool inside = pooled < all_places && term < terms;
            const int offset = inside ? (channel * s.height + u) * s.width + v : 0;
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
        if (row + i >= s.filters || window + j >= all_places) return;
        // The bias moves all four sums alike, and ReLU keeps their order.
        const float z = sum + float(bias[row + i]);
        const int64_t plane = int64_t((window + j) / s.places) * s.filters + row + i;
        y[plane * s.places + (window + j) % s.places] = T(z < 0.0f ? 0.0f : z);  // not fmaxf, which turns NaN into 0
    });
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void conv_relu_pool(const T* x, const T* weight, const T* bias, T* y, int64_t batch, int64_t channels,
                               int64_t filters, int64_t height, int64_t width, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const int64_t out_height = (height - 2) / 2, out_width = (width - 2) / 2;
    const int64_t all_places = batch * out_height * out_width;
    const bool vectors = channels * 9 % V == 0 && aligned(weight);
    const Shape shape = {int(channels), int(height),    int(width),
                         int(filters),  int(out_width), int(out_height * out_width)};
    const auto tiles = [&](int size) { return ((filters + size - 1) / size) * ((all_places * 4 + size - 1) / size); };
    const auto run = [&](auto kernel, int size) {
        kernel<<<unsigned(tiles(size)), 2 * size, 0, stream>>>(x, weight, bias, y, shape, int(all_places));
    };
    // Small tiles where large ones would be mostly empty, or too few to keep a GPU busy.
    if (filters > 64 && tiles(128) >= 128)
        run(vectors ? convolve<V, 128> : convolve<1, 128>, 128);
    else
        run(vectors ? convolve<V, 64> : convolve<1, 64>, 64);
}
