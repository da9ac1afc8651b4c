// One step of an LSTM layer (Hochreiter and Schmidhuber 1997; Gers et al. 2000) in one kernel: a block has some rows of
// the batch and all four gates of some units, so that sums become states without leaving it. Tensor cores multiply
// halves; float32, which they would round to TensorFloat-32, is left to threads with 8 x TILE / 16 sums each in
// registers.
#include <cuda_pipeline.h>
#include <mma.h>

#include <cstdint>
#include <type_traits>

namespace {

namespace wmma = nvcuda::wmma;
using T = KBENCH_T;
constexpr int DEPTH = 64 / sizeof(T);  // terms of the sums in a piece

struct alignas(16) Quad {
    float at[4];
};

// DEPTH terms of TILE lines of a matrix; 16 bytes more a line than they need spread the lines over the banks.
template <int TILE>
struct alignas(32) Piece {
    static constexpr int PITCH = DEPTH + 16 / sizeof(T);
    T at[TILE][PITCH];

    // V elements at a time; zeros past the ends. line_of(i) is where the i-th line begins, or null past the last one.
    // An asynchronous copy takes at least 4 bytes, and an address even if nothing is read there.
    template <int V, typename LineOf>
    __device__ void fetch(LineOf line_of, const T* any, int depth, int terms) {
#pragma unroll
        for (int index = threadIdx.x; index < TILE * DEPTH / V; index += 2 * TILE) {
            const int line = index / (DEPTH / V), term = index % (DEPTH / V) * V;
            const T* from = depth + term < terms ? line_of(line) : nullptr;
            if (sizeof(T) * V >= 4)
                __pipeline_memcpy_async(&at[line][term], from ? from + depth + term : any, sizeof(T) * V,
                                        from ? 0 : sizeof(T) * V);
            else
                at[line][term] = from ? from[depth + term] : T(0.0f);
        }
    }
};

// Sums of a TILE x TILE tile in 2 * TILE threads; `store` hands them on, lines are `pitch` apart.
template <int TILE>
struct Registers {
    const int down = threadIdx.x / 16, across = threadIdx.x % 16;
    float total[8][TILE / 16] = {};

    __device__ Registers() {}
    __device__ void multiply(const Piece<TILE>& left, const Piece<TILE>& right) {
#pragma unroll
        for (int d = 0; d < DEPTH; d += 4) {
            Quad p[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) p[i] = *reinterpret_cast<const Quad*>(&left.at[down + i * (TILE / 8)][d]);
#pragma unroll
            for (int j = 0; j < TILE / 16; ++j) {
                const Quad q = *reinterpret_cast<const Quad*>(&right.at[across + 16 * j][d]);
#pragma unroll
                for (int i = 0; i < 32; ++i) total[i % 8][j] += p[i % 8].at[i / 8] * q.at[i / 8];
            }
        }
    }
    __device__ void store(float* to, int pitch) const {
#pragma unroll
        for (int i = 0; i < TILE / 2; ++i)
            to[(down + i % 8 * (TILE / 8)) * pitch + across + i / 8 * 16] = total[i % 8][i / 8];
    }
};

// The same on tensor cores: each warp keeps TILE / 2 x 32, in squares of 16 x 16.
template <typename Half, int TILE>
struct TensorCores {
    const int row = threadIdx.x / 32 % 2 * (TILE / 2), col = threadIdx.x / 64 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> total[TILE / 32][2];

    __device__ TensorCores() {
        for (auto& pair : total)
            for (auto& square : pair) wmma::fill_fragment(square, 0.0f);
    }
    __device__ void multiply(const Piece<TILE>& left, const Piece<TILE>& right) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, Half, wmma::row_major> p;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, Half, wmma::col_major> q[2];
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(q[j], &right.at[col + 16 * j][d], right.PITCH);
#pragma unroll
            for (int i = 0; i < TILE / 32; ++i) {
                wmma::load_matrix_sync(p, &left.at[row + 16 * i][d], left.PITCH);
                for (int j = 0; j < 2; ++j) wmma::mma_sync(total[i][j], p, q[j], total[i][j]);
            }
        }
    }
    __device__ void store(float* to, int pitch) const {
#pragma unroll
        for (int i = 0; i < TILE / 16; ++i)
            wmma::store_matrix_sync(to + (row + i / 2 * 16) * pitch + col + i % 2 * 16, total[i / 2][i % 2], pitch,
                                    wmma::mem_row_major);
    }
};

__device__ float sigmoid(float z) { return 1.0f / (1.0f + expf(-z)); }

template <int V, int TILE>
__global__ void __launch_bounds__(2 * TILE)
    step(const T* __restrict__ x, const T* __restrict__ h, const T* __restrict__ c, const T* __restrict__ weight_ih,
         const T* __restrict__ weight_hh, const T* __restrict__ bias, T* __restrict__ new_h, T* __restrict__ new_c,
         int batch, int inputs, int units) {
    constexpr int STAGES = 256 / TILE;  // pieces in flight: as many bytes of small ones as of large ones
    constexpr int UNITS = TILE / 4, PITCH = TILE + 4;
    __shared__ Piece<TILE> left[STAGES], right[STAGES];
    static_assert(sizeof left >= TILE * PITCH * sizeof(float), "the sums take the place of the left pieces");
    // Blocks that run together have the same units, and share their weights in the L2 cache.
    const int tiles = (batch + TILE - 1) / TILE, row = blockIdx.x % tiles * TILE, unit = blockIdx.x / tiles * UNITS;
    const int of_x = (inputs + DEPTH - 1) / DEPTH, pieces = of_x + (units + DEPTH - 1) / DEPTH;
    const auto fetch = [&](int piece) {
        const T *factor = piece < of_x ? x : h, *weight = piece < of_x ? weight_ih : weight_hh;
        const int terms = piece < of_x ? inputs : units, depth = (piece < of_x ? piece : piece - of_x) * DEPTH;
        const auto left_line = [&](int i) { return row + i < batch ? factor + int64_t(row + i) * terms : nullptr; };
        const auto right_line = [&](int i) {
            const int own = unit + i % UNITS;
            return own < units ? weight + (int64_t(i / UNITS) * units + own) * terms : nullptr;
        };
        left[piece % STAGES].template fetch<V>(left_line, factor, depth, terms);
        right[piece % STAGES].template fetch<V>(right_line, weight, depth, terms);
    };

    std::conditional_t<sizeof(T) == 2, TensorCores<T, TILE>, Registers<TILE>> sums;
    for (int piece = 0; piece < STAGES - 1; ++piece) {
        if (piece < pieces) fetch(piece);
        __pipeline_commit();
    }
    for (int piece = 0; piece < pieces; ++piece) {
        __pipeline_wait_prior(STAGES - 2);
        __syncthreads();  // the oldest pieces are complete, and nobody reads the ones before them any more
        if (piece + STAGES - 1 < pieces) fetch(piece + STAGES - 1);
        __pipeline_commit();
        sums.multiply(left[piece % STAGES], right[piece % STAGES]);
    }
    __syncthreads();
    auto* gates = reinterpret_cast<float*>(left);
    sums.store(gates, PITCH);
    __syncthreads();
    for (int index = threadIdx.x; index < TILE * UNITS; index += 2 * TILE) {
        const int i = index / UNITS, j = index % UNITS;
        if (row + i >= batch || unit + j >= units) continue;
        const auto gate = [&](int part) {
            return gates[i * PITCH + part * UNITS + j] + float(bias[part * units + unit + j]);
        };
        const int64_t place = int64_t(row + i) * units + unit + j;
        const float state = sigmoid(gate(1)) * float(c[place]) + sigmoid(gate(0)) * tanhf(gate(2));
        new_c[place] = T(state);
        new_h[place] = T(sigmoid(gate(3)) * tanhf(state));
    }
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void lstm_cell(const T* x, const T* h, const T* c, const T* weight_ih, const T* weight_hh, const T* bias,
                          T* new_h, T* new_c, int64_t batch, int64_t input_size, int64_t hidden_size,
                          cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool vectors = input_size % V == 0 && hidden_size % V == 0 && aligned(x) && aligned(h) &&
                         aligned(weight_ih) && aligned(weight_hh);
    const auto run = [&](auto kernel, int tile) {
        const int64_t blocks = (batch + tile - 1) / tile * ((hidden_size + tile / 4 - 1) / (tile / 4));
        kernel<<<static_cast<unsigned>(blocks), 2 * tile, 0, stream>>>(
            x, h, c, weight_ih, weight_hh, bias, new_h, new_c, int(batch), int(input_size), int(hidden_size));
    };
    // Small tiles where large ones would be mostly empty.
    if (batch > 32)
        run(vectors ? step<V, 64> : step<1, 64>, 64);
    else
        run(vectors ? step<V, 32> : step<1, 32>, 32);
}
