// Tiled matrix product over several tiles: fast threads overwrite a tile that slow ones still multiply.
#include <cstdint>

template <int Tile>
__global__ void matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int size) {
    __shared__ float tile_a[Tile][Tile + 1];
    __shared__ float tile_b[Tile][Tile + 1];
    const int row = blockIdx.y * Tile + threadIdx.y;
    const int column = blockIdx.x * Tile + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < size; start += Tile) {
        const int k_a = start + threadIdx.x;
        const int k_b = start + threadIdx.y;
        const float from_a = row < size && k_a < size ? a[row * size + k_a] : 0.0f;
        const float from_b = column < size && k_b < size ? b[k_b * size + column] : 0.0f;
        tile_a[threadIdx.y][threadIdx.x] = from_a;  // finding: race_shared
        tile_b[threadIdx.y][threadIdx.x] = from_b;  // finding: race_shared
        __syncthreads();
#pragma unroll
        for (int k = 0; k < Tile; ++k) {
            sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];  // finding: race_shared
        }
#ifndef BUG
        __syncthreads();
#endif
    }
    if (row < size && column < size) {
        c[row * size + column] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const dim3 grid((n + 7) / 8, (n + 7) / 8);
    matmul<8><<<grid, dim3(8, 8), 0, stream>>>(x, x + n * n, y, n);
}
