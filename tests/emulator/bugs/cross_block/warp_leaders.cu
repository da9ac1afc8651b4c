// The first lanes of a block's warps add to the block's output without an atomic.
#include <cstdint>

__global__ void row_sums(const float* x, float* y, int columns) {
    float sum = 0.0f;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        sum += x[blockIdx.x * columns + column];
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    }
    if (threadIdx.x % 32 == 0) {
#ifdef BUG
        y[blockIdx.x] += sum;  // finding: race_global
#else
        atomicAdd(&y[blockIdx.x], sum);
#endif
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    cudaMemsetAsync(y, 0, 2 * sizeof(float), stream);
    row_sums<<<2, 128, 0, stream>>>(x, y, n);
}
