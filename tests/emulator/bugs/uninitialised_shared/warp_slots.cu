// A block of four warps fills four partial sums, and its first warp adds up all thirty-two.
#include <cstdint>

__global__ void block_sums(const float* x, float* y) {
    __shared__ float partial[32];
    const int lane = threadIdx.x % 32;
    float sum = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (lane == 0) {
        partial[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
#ifdef BUG
        sum = partial[lane];  // finding: uninitialised_shared
#else
        sum = lane < blockDim.x / 32 ? partial[lane] : 0.0f;
#endif
        for (int offset = 16; offset > 0; offset /= 2) {
            sum += __shfl_down_sync(0xffffffffu, sum, offset);
        }
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    block_sums<<<n / 128, 128, 0, stream>>>(x, y);
}
