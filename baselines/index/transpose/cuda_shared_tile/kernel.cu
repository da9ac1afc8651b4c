// Transpose (Golub and Van Loan 2013, section 1.1) by square tiles in shared memory, after Ruetsch and Micikevicius
// (2009): a tile is read along the rows of x and written along the rows of y, so that both sides are whole lines.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// IN elements a load and OUT a store: 16 bytes where all rows of that side begin at multiples of 16, else one element.
template <int TILE, int IN, int OUT>
__global__ void __launch_bounds__(THREADS)
    transpose_tiles(const T* __restrict__ x, T* __restrict__ y, int64_t rows, int64_t cols) {
    // Lines are a word longer than a tile: those who read a column of it meet in few of the memory's banks.
    __shared__ T tile[TILE][TILE + 4 / sizeof(T)];
    const int64_t across = (cols + TILE - 1) / TILE;
    const int64_t top = blockIdx.x / across * TILE, left = blockIdx.x % across * TILE;
#pragma unroll
    for (int index = threadIdx.x; index < TILE * TILE / IN; index += THREADS) {
        const int row = index / (TILE / IN), col = index % (TILE / IN) * IN;
        if (top + row >= rows || left + col >= cols) continue;
        const auto pack = *reinterpret_cast<const Pack<IN>*>(x + (top + row) * cols + left + col);
#pragma unroll
        for (int e = 0; e < IN; ++e) tile[row][col + e] = pack.at[e];
    }
    __syncthreads();
#pragma unroll
    for (int index = threadIdx.x; index < TILE * TILE / OUT; index += THREADS) {
        const int col = index / (TILE / OUT), row = index % (TILE / OUT) * OUT;
        if (top + row >= rows || left + col >= cols) continue;
        Pack<OUT> pack;
#pragma unroll
        for (int e = 0; e < OUT; ++e) pack.at[e] = tile[row + e][col];
        *reinterpret_cast<Pack<OUT>*>(y + (left + col) * rows + top + row) = pack;
    }
}

template <int TILE>
void launch(const T* x, T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const bool in = cols % V == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0;
    const bool out = rows % V == 0 && reinterpret_cast<uintptr_t>(y) % 16 == 0;
    const auto kernel = in ? (out ? transpose_tiles<TILE, V, V> : transpose_tiles<TILE, V, 1>)
                           : (out ? transpose_tiles<TILE, 1, V> : transpose_tiles<TILE, 1, 1>);
    const auto blocks = static_cast<unsigned>((rows + TILE - 1) / TILE * ((cols + TILE - 1) / TILE));
    kernel<<<blocks, THREADS, 0, stream>>>(x, y, rows, cols);
}

}  // namespace

extern "C" void transpose(const T* x, T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    if (rows == 0) return;  // a grid must not be empty
    // Small tiles where large ones would be mostly empty, or too few to keep a GPU busy.
    const bool large = rows > 32 && cols > 32 && ((rows + 63) / 64) * ((cols + 63) / 64) >= 256;
    (large ? launch<64> : launch<32>)(x, y, rows, cols, stream);
}
