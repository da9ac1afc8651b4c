// Rows and columns of a tile that is not square, exchanged where it is read.
#include <cstdint>

__global__ void transpose(const float* x, float* y) {
    __shared__ float tile[8][32];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    const int i = threadIdx.y * 32 + threadIdx.x;
#ifdef BUG
    y[i] = tile[i / 8][i % 8];  // finding: out_of_bounds_shared
#else
    y[i] = tile[i % 8][i / 8];
#endif
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    transpose<<<1, dim3(32, 8), 0, stream>>>(x, y);
}
