// Blocks without input return before the barrier of the grid, at which the others wait for them.
#include <cooperative_groups.h>

#include <cstdint>

__global__ void add_first(const float* x, float* y, float* first, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG
    if (blockIdx.x * blockDim.x >= n) {
        return;
    }
#endif
    if (i == 0) {
        *first = x[0];
    }
    cooperative_groups::this_grid().sync();  // finding: deadlock
    if (i < n) {
        y[i] = x[i] + *first;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    float* first = y + n;
    int count = static_cast<int>(n);
    void* arguments[] = {&x, &y, &first, &count};
    cudaLaunchCooperativeKernel((void*)add_first, 4, 32, arguments, 0, stream);
}
