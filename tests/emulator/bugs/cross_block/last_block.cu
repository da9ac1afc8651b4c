// The last block to finish adds the others' partial sums, which no fence has published before the counter.
#include <cstdint>

__device__ unsigned finished_blocks = 0;

__global__ void total(const float* x, float* y, float* partial) {
    __shared__ bool is_last;
    float sum = x[blockIdx.x * 32 + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;  // finding: race_global
#ifndef BUG
        __threadfence();
#endif
        is_last = atomicAdd(&finished_blocks, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        float result = 0.0f;
        for (int block = 0; block < gridDim.x; ++block) {
            result += partial[block];  // finding: race_global
        }
        y[0] = result;
        atomicExch(&finished_blocks, 0u);
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    total<<<n / 32, 32, 0, stream>>>(x, y, y + 1);
}
