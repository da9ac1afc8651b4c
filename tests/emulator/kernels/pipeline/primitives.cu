// Row sums with the pipeline primitives of cuda_pipeline.h: three stages in flight.
#include <cstdint>
#include <cuda_pipeline.h>

constexpr int STAGES = 3;
constexpr int THREADS = 32;

__global__ void row_sums(const float* x, float* sums, int cols) {
    __shared__ __align__(16) float buffer[STAGES][THREADS * 4];
    const float* row = x + blockIdx.x * cols;
    const int tiles = cols / (THREADS * 4);
    float sum = 0.0f;
    for (int t = 0; t < tiles + STAGES - 1; ++t) {
        if (t < tiles) {
            __pipeline_memcpy_async(&buffer[t % STAGES][threadIdx.x * 4], row + t * THREADS * 4 + threadIdx.x * 4, 16);
        }
        __pipeline_commit();
        if (t >= STAGES - 1) {
            __pipeline_wait_prior(STAGES - 1);
            __syncthreads();
            const float* tile = buffer[(t - STAGES + 1) % STAGES];
            for (int k = 0; k < 4; ++k) sum += tile[(threadIdx.x + 1) % THREADS * 4 + k];
            __syncthreads();
        }
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" void run(const float* x, float* sums, int64_t rows, int64_t cols, cudaStream_t stream) {
    row_sums<<<rows, THREADS, 0, stream>>>(x, sums, cols);
}
