// Tiled matrix product whose threads multiply tiles that others have not stored yet.
#include <cstdint>

constexpr int kTile = 16;

__global__ void matmul(const float* a, const float* b, float* c, int size) {
    __shared__ float tile_a[kTile][kTile];
    __shared__ float tile_b[kTile][kTile];
    const int row = blockIdx.y * kTile + threadIdx.y;
    const int column = blockIdx.x * kTile + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < size; start += kTile) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * size + start + threadIdx.x];       // finding: race_shared
        tile_b[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * size + column];  // finding: race_shared
#ifndef BUG
        __syncthreads();
#endif
        for (int k = 0; k < kTile; ++k) {
            sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];  // finding: race_shared
        }
        __syncthreads();
    }
    c[row * size + column] = sum;
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const dim3 grid(n / kTile, n / kTile);
    matmul<<<grid, dim3(kTile, kTile), 0, stream>>>(x, x + n * n, y, n);
}
