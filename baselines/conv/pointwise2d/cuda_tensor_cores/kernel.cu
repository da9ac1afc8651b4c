// Pointwise convolution (Lin, Chen and Yan 2013): the product of the filters with the channels of every place, places
// numbered through the batch. A block multiplies a tile of it as tile.cuh does: halves on tensor cores.
#include <cstdint>

#include "tile.cuh"

namespace {

template <int V, int TILE>
__global__ void __launch_bounds__(2 * TILE)
    convolve(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias, T* __restrict__ y,
             int filters, int channels, int places, int all_places) {
    constexpr int STAGES = 256 / TILE;  // pieces in flight: as many bytes of small ones as of large ones
    __shared__ Piece<TILE, DEPTH> left[STAGES];
    __shared__ Piece<DEPTH, TILE> right[STAGES];
    // Tiles of the same places follow each other, so that blocks that run together share images in the L2 cache.
    const int tiles_m = (filters + TILE - 1) / TILE;
    const int row = blockIdx.x % tiles_m * TILE, col = blockIdx.x / tiles_m * TILE;
    // A thread fetches the same V places of each channel that is its turn.
    const int mine = threadIdx.x % (TILE / V) * V, place = col + mine;
    const T* first = x + int64_t(place / places) * (channels - 1) * places + place;
    const auto fetch = [&](int depth, int buffer) {
        left[buffer].template fetch<V, 2 * TILE>(weight, row, filters, depth, channels);
#pragma unroll
        for (int i = threadIdx.x / (TILE / V); i < DEPTH; i += 2 * V) {
            const bool inside = place < all_places && depth + i < channels;
            right[buffer].template fetch_one<V>(i, mine, inside ? first + (depth + i) * places : x, inside);
        }
        __pipeline_commit();
    };

    Sums<TILE> sums;
    for (int ahead = 0; ahead < STAGES - 1; ++ahead) fetch(ahead * DEPTH, ahead);
    for (int depth = 0, now = 0; depth < channels; depth += DEPTH, now = (now + 1) % STAGES) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();  // the oldest pieces are complete, and nobody reads the ones before them any more
        fetch(depth + (STAGES - 1) * DEPTH, (now + STAGES - 1) % STAGES);
        sums.multiply(left[now], right[now]);
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    sums.each(reinterpret_cast<float*>(left), [&](int i, int j, float sum) {
        if (row + i >= filters || col + j >= all_places) return;
        const int image = (col + j) / places;
        y[(int64_t(image) * (filters - 1) + row + i) * places + col + j] = T(sum + float(bias[row + i]));
    });
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void pointwise2d(const T* x, const T* weight, const T* bias, T* y, int64_t batch, int64_t channels,
                            int64_t filters, int64_t height, int64_t width, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const int64_t places = height * width, all_places = batch * places;
    const bool vectors = channels % V == 0 && places % V == 0 && aligned(x) && aligned(weight);
    const auto tiles = [&](int size) { return ((filters + size - 1) / size) * ((all_places + size - 1) / size); };
    const auto run = [&](auto kernel, int size) {
        kernel<<<unsigned(tiles(size)), 2 * size, 0, stream>>>(x, weight, bias, y, int(filters), int(channels),
                                                               int(places), int(all_places));
    };
    // Small tiles where large ones would be mostly empty, or too few to keep a GPU busy.
    if (filters > 64 && tiles(128) >= 128)
        run(vectors ? convolve<V, 128> : convolve<1, 128>, 128);
    else if (filters > 32 && tiles(64) >= 128)
        run(vectors ? convolve<V, 64> : convolve<1, 64>, 64);
    else
        run(vectors ? convolve<V, 32> : convolve<1, 32>, 32);
}
