// All 32 lanes shuffle with a mask of 16.
#include <cstdint>

__global__ void half_warp_sums(const float* x, float* y) {
    float sum = x[blockIdx.x * blockDim.x + threadIdx.x];
#ifdef BUG
    const unsigned mask = 0x0000ffffu;
#else
    const unsigned mask = 0xffffffffu;
#endif
    for (int offset = 8; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(mask, sum, offset, 16);  // finding: warp_mask
    }
    if (threadIdx.x % 16 == 0) {
        y[(blockIdx.x * blockDim.x + threadIdx.x) / 16] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    half_warp_sums<<<n / 64, 64, 0, stream>>>(x, y);
}
