// Thread 0 announces its block's partial results without having waited for the threads that store them.
#include <cstdint>

__device__ unsigned finished = 0;

__global__ void column_sums(const float* x, float* y, float* partial, int columns) {
    __shared__ bool is_last;
    const int column = threadIdx.x;
    const float* rows = x + 2 * blockIdx.x * columns;
    partial[blockIdx.x * columns + column] = rows[column] + rows[columns + column];  // finding: race_global
    __threadfence();
#ifndef BUG
    __syncthreads();
#endif
    if (column == 0) {
        is_last = atomicAdd(&finished, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (is_last) {
        if (column == 0) {
            atomicExch(&finished, 0u);
        }
        float sum = 0.0f;
        for (int block = 0; block < gridDim.x; ++block) {
            sum += partial[block * columns + column];  // finding: race_global
        }
        y[column] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    column_sums<<<3, n, 0, stream>>>(x, y, y + n, n);
}
