// __syncwarp with the mask of the lanes that stored, called by those that only read, too.
#include <cstdint>

__global__ void mirror(const float* x, float* y) {
    __shared__ float values[8];
    const int lane = threadIdx.x;
    if (lane < 8) {
        values[lane] = x[lane];
    }
#ifdef BUG
    __syncwarp(0x000000ffu);  // finding: warp_mask
#else
    __syncwarp();
#endif
    y[lane] = values[7 - lane % 8];
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    mirror<<<1, 32, 0, stream>>>(x, y);
}
