// Matrix product by square tiles in shared memory, a thread for each output: every element that a block loads serves
// TILE of its threads, and global memory is read TILE times less often than by the definition. The next step would be
// several outputs a thread in registers (cuda_register_tile).
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int TILE = 32;

__global__ void __launch_bounds__(TILE * TILE)
    multiply(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int64_t m, int64_t n, int64_t k) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    const int64_t across = (n + TILE - 1) / TILE;
    const int64_t row = blockIdx.x / across * TILE + threadIdx.y, col = blockIdx.x % across * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int64_t depth = 0; depth < k; depth += TILE) {
        const int64_t left_col = depth + threadIdx.x, right_row = depth + threadIdx.y;
        // Zeros past the ends add nothing to a sum; rows and columns past the ends are not stored.
        left[threadIdx.y][threadIdx.x] = row < m && left_col < k ? float(a[row * k + left_col]) : 0.0f;
        right[threadIdx.y][threadIdx.x] = col < n && right_row < k ? float(b[right_row * n + col]) : 0.0f;
        __syncthreads();
#pragma unroll
        for (int term = 0; term < TILE; ++term) sum += left[threadIdx.y][term] * right[term][threadIdx.x];
        __syncthreads();  // before the next tiles take the place of these
    }
    if (row < m && col < n) c[row * n + col] = T(sum);
}

}  // namespace

extern "C" void matmul(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t k, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((m + TILE - 1) / TILE * ((n + TILE - 1) / TILE));
    multiply<<<blocks, dim3(TILE, TILE), 0, stream>>>(a, b, c, m, n, k);
}
