// Threads add to a shared total that nobody has set to zero.
#include <cstdint>

__global__ void row_sums(const float* x, float* y, int columns) {
    __shared__ float total;
#ifndef BUG
    if (threadIdx.x == 0) {
        total = 0.0f;
    }
#endif
    __syncthreads();
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        atomicAdd(&total, x[blockIdx.x * columns + column]);  // finding: uninitialised_shared
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = total;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    row_sums<<<2, 32, 0, stream>>>(x, y, n);
}
