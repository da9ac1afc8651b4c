// 64 x 32 threads are more than a block can have.
#include <cstdint>

__global__ void scale(const float* x, float* y, int size) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < size && column < size) {
        y[row * size + column] = 3.0f * x[row * size + column];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
#ifdef BUG
    const dim3 threads(64, 32);
#else
    const dim3 threads(32, 32);
#endif
    const dim3 blocks((n + threads.x - 1) / threads.x, (n + threads.y - 1) / threads.y);
    scale<<<blocks, threads, 0, stream>>>(x, y, n);  // finding: launch_limit
}
