// Sum of a block by a tree in shared memory, without a barrier between the levels.
#include <cstdint>

__global__ void block_sums(const float* x, float* y, int n) {
    extern __shared__ float partial[];
    const int thread = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + thread;
    partial[thread] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (thread < half) {
            partial[thread] += partial[thread + half];  // finding: race_shared
        }
#ifndef BUG
        __syncthreads();
#endif
    }
    if (thread == 0) {
        y[blockIdx.x] = partial[0];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const int threads = 128;
    block_sums<<<(n + threads - 1) / threads, threads, threads * sizeof(float), stream>>>(x, y, n);
}
