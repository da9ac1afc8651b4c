// Transpose without padding: an exclusive or of row and column keeps shared memory free of bank conflicts.
#include <cstdint>

template <typename T, int TILE>
__global__ void transpose(const T* __restrict__ in, T* __restrict__ out, int rows, int cols) {
    __shared__ T tile[TILE * TILE];
    const int bx = blockIdx.x * TILE, by = blockIdx.y * TILE;
    for (int y = threadIdx.y; y < TILE; y += blockDim.y) {
        const int x = threadIdx.x;
        if (by + y < rows && bx + x < cols) tile[y * TILE + (x ^ y)] = in[(by + y) * cols + bx + x];
    }
    __syncthreads();
    for (int y = threadIdx.y; y < TILE; y += blockDim.y) {
        const int x = threadIdx.x;
        if (bx + y < cols && by + x < rows) out[(bx + y) * rows + by + x] = tile[x * TILE + (y ^ x)];
    }
}

extern "C" void run(const double* in, double* out, int64_t rows, int64_t cols, cudaStream_t stream) {
    constexpr int TILE = 16;
    transpose<double, TILE><<<dim3((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE), dim3(TILE, 4), 0, stream>>>(
        in, out, rows, cols);
}
