// Each half of a warp waits for itself alone, then reads what the other half stored.
#include <cstdint>

__global__ void reverse_warps(const float* x, float* y) {
    __shared__ float values[32];
    const int lane = threadIdx.x;
    values[lane] = x[blockIdx.x * 32 + lane];  // finding: race_shared
#ifdef BUG
    __syncwarp(lane < 16 ? 0x0000ffffu : 0xffff0000u);
#else
    __syncwarp();
#endif
    y[blockIdx.x * 32 + lane] = values[31 - lane];  // finding: race_shared
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    reverse_warps<<<n / 32, 32, 0, stream>>>(x, y);
}
