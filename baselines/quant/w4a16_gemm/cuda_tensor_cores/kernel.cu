// Linear layer with four-bit weights in groups of 128 (Lin et al. 2023; Frantar et al. 2024). Few rows of x are bound
// by reading the weights: a warp has whole rows of these. Many rows go by tiles: codes become weights on their way
// through registers into shared memory, where they are multiplied as tile.cuh does: halves on tensor cores.
#include <cuda_pipeline.h>

#include <cstdint>

#include "tile.cuh"

namespace {

// A group is GROUP_BYTES long; a piece of DEPTH terms is never of two groups.
constexpr int GROUP_BYTES = 64, FEW = 16, WARPS = 4, OUTPUTS = 4, ROWS = 4;

struct Weights {
    const uint8_t* packed;
    const T* scale;
    const uint8_t* zero;
    int outputs, pairs, groups;
};

// A warp meets ROWS rows of x with OUTPUTS rows of weights, its lanes B bytes of each at a time.
template <int B>
__global__ void __launch_bounds__(32 * WARPS)
    few_rows(const T* __restrict__ x, Weights w, T* __restrict__ y, int batch) {
    const int lane = threadIdx.x % 32, row = blockIdx.y * ROWS, col = (blockIdx.x * WARPS + threadIdx.x / 32) * OUTPUTS;
    float total[ROWS][OUTPUTS] = {};
    for (int byte = lane * B; byte < w.pairs; byte += 32 * B) {
        Pack<uint8_t, B> codes[OUTPUTS];
        float scale[OUTPUTS];
        int zero[OUTPUTS];
        // Past the ends the last rows are read again.
#pragma unroll
        for (int j = 0; j < OUTPUTS; ++j) {
            const int64_t own = min(col + j, w.outputs - 1), group = own * w.groups + byte / GROUP_BYTES;
            codes[j] = *reinterpret_cast<const Pack<uint8_t, B>*>(w.packed + own * w.pairs + byte);
            scale[j] = float(w.scale[group]);
            zero[j] = w.zero[group];
        }
        Pack<T, B == 1 ? 1 : 2 * B> factor[ROWS][B == 1 ? 2 : 1];
        constexpr int V = sizeof(factor[0][0]) / sizeof(T);
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
            const T* from = x + int64_t(min(row + i, batch - 1)) * 2 * w.pairs + 2 * byte;
#pragma unroll
            for (int e = 0; e < 2 * B; e += V) factor[i][e / V] = *reinterpret_cast<const Pack<T, V>*>(from + e);
        }
#pragma unroll
        for (int j = 0; j < OUTPUTS; ++j) {
            float part[ROWS] = {};  // of one group: differences are exact, and the scale comes after the sum
#pragma unroll
            for (int e = 0; e < 2 * B; ++e) {
                const float weight = float(((codes[j].at[e / 2] >> (e % 2 * 4)) & 15) - zero[j]);
#pragma unroll
                for (int i = 0; i < ROWS; ++i) part[i] += float(factor[i][e / V].at[e % V]) * weight;
            }
#pragma unroll
            for (int i = 0; i < ROWS; ++i) total[i][j] += scale[j] * part[i];
        }
    }
#pragma unroll
    for (int index = 0; index < ROWS * OUTPUTS; ++index) {
        const int i = index / OUTPUTS, j = index % OUTPUTS;
        float sum = total[i][j];
        for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (lane == index && row + i < batch && col + j < w.outputs) y[int64_t(row + i) * w.outputs + col + j] = T(sum);
    }
}

template <bool VECTORS, int TILE>
__global__ void __launch_bounds__(2 * TILE) multiply(const T* __restrict__ x, Weights w, T* __restrict__ y, int batch) {
    constexpr int STAGES = 256 / TILE, V = VECTORS ? 16 / sizeof(T) : 1;
    constexpr int BYTES = DEPTH / 4;  // two threads have the codes of a line
    __shared__ Piece<TILE> left[STAGES], right[2];
    // Tiles of one column follow each other, so that blocks that run together share weights in the L2 cache.
    const int tiles = (batch + TILE - 1) / TILE, row = blockIdx.x % tiles * TILE, col = blockIdx.x / tiles * TILE;
    const int terms = 2 * w.pairs;
    // An asynchronous copy takes at least 4 bytes, and an address even if nothing is read there.
    const auto fetch = [&](int depth, Piece<TILE>& piece) {
#pragma unroll
        for (int index = threadIdx.x; index < TILE * DEPTH / V; index += 2 * TILE) {
            const int line = index / (DEPTH / V), term = index % (DEPTH / V) * V;
            const bool inside = row + line < batch && depth + term < terms;
            const T* from = inside ? x + int64_t(row + line) * terms + depth + term : x;
            if (sizeof(T) * V >= 4)
                __pipeline_memcpy_async(&piece.at[line][term], from, sizeof(T) * V, inside ? 0 : sizeof(T) * V);
            else
                piece.at[line][term] = inside ? *from : T(0.0f);
        }
        __pipeline_commit();
    };
    const int line = threadIdx.x / 2, half = threadIdx.x % 2 * BYTES, own = min(col + line, w.outputs - 1);
    Pack<uint8_t, BYTES> codes;
    float scale = 0.0f;
    int zero = 0;
    const auto load_codes = [&](int depth) {
        const int byte = depth / 2 + half;
        const uint8_t* from = w.packed + int64_t(own) * w.pairs + byte;
        codes = {};
        if (VECTORS) {
            if (byte < w.pairs) codes = *reinterpret_cast<const Pack<uint8_t, BYTES>*>(from);
        } else {
            for (int e = 0; e < BYTES && byte + e < w.pairs; ++e) codes.at[e] = from[e];
        }
        scale = float(w.scale[int64_t(own) * w.groups + depth / 128]);
        zero = w.zero[int64_t(own) * w.groups + depth / 128];
    };
    // Past the end of a line, weights meet zeros of x.
    const auto store_weights = [&](Piece<TILE>& piece) {
        constexpr int QUAD = 16 / sizeof(T);
#pragma unroll
        for (int e = 0; e < 2 * BYTES; e += QUAD) {
            Pack<T, QUAD> weights;
#pragma unroll
            for (int i = 0; i < QUAD; ++i)
                weights.at[i] = T(float(((codes.at[(e + i) / 2] >> ((e + i) % 2 * 4)) & 15) - zero) * scale);
            *reinterpret_cast<Pack<T, QUAD>*>(&piece.at[line][2 * half + e]) = weights;
        }
    };

    Sums<TILE> sums;
    for (int ahead = 0; ahead < STAGES - 1; ++ahead) fetch(ahead * DEPTH, left[ahead]);
    load_codes(0);
    for (int depth = 0, piece = 0; depth < terms; depth += DEPTH, ++piece) {
        store_weights(right[piece % 2]);
        if (depth + DEPTH < terms) load_codes(depth + DEPTH);  // under way while these are multiplied
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();  // the oldest pieces are complete, and nobody reads the ones before them any more
        fetch(depth + (STAGES - 1) * DEPTH, left[(piece + STAGES - 1) % STAGES]);
        sums.multiply(left[piece % STAGES], right[piece % 2]);
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    sums.each(reinterpret_cast<float*>(left), [&](int i, int j, float sum) {
        if (row + i < batch && col + j < w.outputs) y[int64_t(row + i) * w.outputs + col + j] = T(sum);
    });
}

bool aligned(const void* pointer, int bytes) { return reinterpret_cast<uintptr_t>(pointer) % bytes == 0; }

}  // namespace

extern "C" void w4a16_gemm(const T* x, const uint8_t* packed, const T* scale, const uint8_t* zero, T* y, int64_t batch,
                           int64_t pairs, int64_t out_features, cudaStream_t stream) {
    const Weights w{packed, scale, zero, int(out_features), int(pairs), int((2 * pairs + 127) / 128)};
    const bool vectors = pairs % 8 == 0 && aligned(x, 16) && aligned(packed, 8);
    if (batch <= FEW) {
        const auto kernel = vectors ? few_rows<4> : few_rows<1>;
        const dim3 grid(unsigned((out_features + WARPS * OUTPUTS - 1) / (WARPS * OUTPUTS)),
                        unsigned((batch + ROWS - 1) / ROWS));
        kernel<<<grid, 32 * WARPS, 0, stream>>>(x, w, y, int(batch));
        return;
    }
    const auto tiles = [&](int size) { return ((batch + size - 1) / size) * ((out_features + size - 1) / size); };
    const auto run = [&](auto kernel, int size) {
        kernel<<<unsigned(tiles(size)), 2 * size, 0, stream>>>(x, w, y, int(batch));
    };
    // Small tiles where large ones would be mostly empty, or too few to keep a GPU busy.
    if (batch > 64 && tiles(128) >= 128)
        run(vectors ? multiply<true, 128> : multiply<false, 128>, 128);
    else if (batch > 32 && tiles(64) >= 128)
        run(vectors ? multiply<true, 64> : multiply<false, 64>, 64);
    else
        run(vectors ? multiply<true, 32> : multiply<false, 32>, 32);
}
