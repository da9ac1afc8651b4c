// Transpose through a padded tile that is read by columns before its rows have been stored.
#include <cstdint>

#define TILE 32
#define ROWS 8

__global__ void transpose(const float* x, float* y, int size) {
    __shared__ float tile[TILE][TILE + 1];
    int column = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        tile[threadIdx.y + j][threadIdx.x] = x[(row + j) * size + column];  // finding: race_shared
    }
#ifndef BUG
    __syncthreads();
#endif
    column = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        y[(row + j) * size + column] = tile[threadIdx.x][threadIdx.y + j];  // finding: race_shared
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    transpose<<<dim3(n / TILE, n / TILE), dim3(TILE, ROWS), 0, stream>>>(x, y, n);
}
