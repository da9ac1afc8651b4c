// One block for each row along y, where a grid can have 65535 blocks.
#include <cstdint>

__global__ void pair_sums(const float* x, float* y) {
    const int row = blockIdx.x + blockIdx.y;
    y[row] = x[2 * row] + x[2 * row + 1];
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
#ifdef BUG
    const dim3 blocks(1, n);
#else
    const dim3 blocks(n);
#endif
    pair_sums<<<blocks, 1, 0, stream>>>(x, y);  // finding: launch_limit
}
