// The scale is stored on one path only; on the other one the threads read what an earlier block left behind.
#include <cstdint>

__global__ void limit_norm(const float* x, float* y, int columns) {
    __shared__ float scale;
    const float* row = x + blockIdx.x * columns;
    if (threadIdx.x == 0) {
        float squares = 0.0f;
        for (int column = 0; column < columns; ++column) {
            squares += row[column] * row[column];
        }
#ifndef BUG
        scale = 1.0f;
#endif
        if (squares > columns) {
            scale = rsqrtf(squares / columns);
        }
    }
    __syncthreads();
    if (threadIdx.x < columns) {
        y[blockIdx.x * columns + threadIdx.x] = row[threadIdx.x] * scale;  // finding: uninitialised_shared
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    limit_norm<<<8, 32, 0, stream>>>(x, y, n);
}
