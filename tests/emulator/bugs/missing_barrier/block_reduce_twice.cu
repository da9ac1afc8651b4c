// Variance of rows with one block_sum used twice: its second call overwrites partial sums that are still being read.
#include <cstdint>

__device__ float block_sum(float value) {
    __shared__ float partial[32];
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    if (threadIdx.x % 32 == 0) {
        partial[threadIdx.x / 32] = value;  // finding: race_shared
    }
    __syncthreads();
    float total = 0.0f;
    for (int warp = 0; warp < blockDim.x / 32; ++warp) {
        total += partial[warp];  // finding: race_shared
    }
#ifndef BUG
    __syncthreads();
#endif
    return total;
}

__global__ void variance(const float* x, float* y, int columns) {
    const float* row = x + blockIdx.x * columns;
    float sum = 0.0f;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        sum += row[column];
    }
    const float mean = block_sum(sum) / columns;
    float squares = 0.0f;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        squares += (row[column] - mean) * (row[column] - mean);
    }
    const float total = block_sum(squares);
    if (threadIdx.x == 0) {
        y[blockIdx.x] = total / columns;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    variance<<<3, 128, 0, stream>>>(x, y, n);
}
