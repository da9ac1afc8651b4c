// A block-stride loop with a barrier inside: the size is no multiple of the block, so some threads leave it early.
#include <cstdint>

__global__ void running_maximum(const float* x, float* y, int n) {
    __shared__ float largest;
    if (threadIdx.x == 0) {
        largest = x[0];
    }
#ifdef BUG
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
#else
    for (int i = threadIdx.x; i - threadIdx.x < n; i += blockDim.x) {
#endif
        __syncthreads();  // finding: divergent_barrier
        const float before = largest;
        __syncthreads();  // finding: divergent_barrier
        if (i < n) {
            y[i] = before;
        }
        if (threadIdx.x == 0) {
            largest = fmaxf(before, x[i]);
        }
    }
    __syncthreads();  // finding: divergent_barrier
    if (threadIdx.x == 0) {
        y[n] = largest;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    running_maximum<<<1, 32, 0, stream>>>(x, y, n);
}
