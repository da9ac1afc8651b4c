// __syncthreads_count is a barrier too: not all threads of the block reach it.
#include <cstdint>

__global__ void count_positive(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG
    int count = 0;
    if (i < n) {
        count = __syncthreads_count(x[i] > 0.0f);  // finding: divergent_barrier
    }
#else
    const int count = __syncthreads_count(i < n && x[i] > 0.0f);
#endif
    __syncthreads();  // finding: divergent_barrier
    if (threadIdx.x == 0) {
        y[blockIdx.x] = count;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    count_positive<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
