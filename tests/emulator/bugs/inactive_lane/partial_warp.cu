// A block of 48 threads: the second warp has 16 lanes, and its shuffles read from lanes that do not exist.
#include <cstdint>

__global__ void block_sum(const float* x, float* y) {
    __shared__ float partial[2];
    const unsigned mask = threadIdx.x < 32 ? 0xffffffffu : 0x0000ffffu;
    float sum = x[threadIdx.x];
#ifdef BUG
    for (int offset = 16; offset > 0; offset /= 2) {
#else
    for (int offset = 8; offset > 0; offset /= 2) {
#endif
        sum += __shfl_xor_sync(mask, sum, offset);  // finding: inactive_lane
    }
    if (threadIdx.x == 0) {
        partial[0] = sum;
    }
    if (threadIdx.x == 32) {
        partial[1] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        y[0] = partial[0];
        y[1] = partial[1];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    block_sum<<<1, 48, 0, stream>>>(x, y);
}
