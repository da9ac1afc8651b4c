// Thread 0 computes the scale of a row; the others use it without waiting.
#include <cstdint>

__global__ void scale_by_first(const float* x, float* y, int columns) {
    __shared__ float scale;
    const float* row = x + blockIdx.x * columns;
    if (threadIdx.x == 0) {
        scale = 1.0f / (1.0f + fabsf(row[0]));  // finding: race_shared
    }
#ifndef BUG
    __syncthreads();
#endif
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        y[blockIdx.x * columns + column] = row[column] * scale;  // finding: race_shared
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    scale_by_first<<<2, 96, 0, stream>>>(x, y, n);
}
