// Thread 0 sets a shared total to zero, but others may have added to it already. Atomics do not help.
#include <cstdint>

__global__ void row_sums(const float* x, float* y, int columns) {
    __shared__ float total;
    if (threadIdx.x == 0) {
        total = 0.0f;  // finding: race_shared
    }
#ifndef BUG
    __syncthreads();
#endif
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        atomicAdd(&total, x[blockIdx.x * columns + column]);  // finding: race_shared
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = total;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    row_sums<<<2, 64, 0, stream>>>(x, y, n);
}
