// The fence before the announcement is one for the own block; other blocks may see the counter before the sum.
#include <cstdint>

__device__ unsigned finished = 0;

__global__ void total(const float* x, float* y, float* partial, int columns) {
    float sum = 0.0f;
    for (int column = 0; column < columns; ++column) {
        sum += x[blockIdx.x * columns + column];
    }
    partial[blockIdx.x] = sum;  // finding: race_global
#ifdef BUG
    __threadfence_block();
#else
    __threadfence();
#endif
    if (atomicAdd(&finished, 1u) == gridDim.x - 1) {
        __threadfence();
        y[0] = 0.0f;
        for (int block = 0; block < gridDim.x; ++block) {
            y[0] += partial[block];  // finding: race_global
        }
        atomicExch(&finished, 0u);
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    total<<<4, 1, 0, stream>>>(x, y, y + 1, n);
}
