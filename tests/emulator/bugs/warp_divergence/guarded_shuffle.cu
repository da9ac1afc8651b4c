// Shuffles of a full mask inside the guard, while the lanes beyond the input wait at a barrier.
#include <cstdint>

__global__ void block_sums(const float* x, float* y, int n) {
    __shared__ float total;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    if (threadIdx.x == 0) {
        total = 0.0f;
    }
    __syncthreads();
#ifdef BUG
    if (i < n) {
#else
    {
#endif
        for (int offset = 16; offset > 0; offset /= 2) {
            sum += __shfl_down_sync(0xffffffffu, sum, offset);  // finding: warp_divergence
        }
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&total, sum);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        y[blockIdx.x] = total;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    block_sums<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
