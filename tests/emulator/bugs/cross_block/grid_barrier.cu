// A cooperative kernel that waits for its block where it has to wait for the grid.
#include <cooperative_groups.h>

#include <cstdint>

namespace cg = cooperative_groups;

__global__ void centre(const float* x, float* y, float* total, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(total, x[i]);  // finding: race_global
    }
#ifdef BUG
    cg::this_thread_block().sync();
#else
    cg::this_grid().sync();
#endif
    if (i < n) {
        y[i] = x[i] - *total / n;  // finding: race_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    float* total = y + n;
    int count = static_cast<int>(n);
    cudaMemsetAsync(total, 0, sizeof(float), stream);
    void* arguments[] = {&x, &y, &total, &count};
    cudaLaunchCooperativeKernel(reinterpret_cast<void*>(centre), dim3((n + 63) / 64), dim3(64), arguments, 0, stream);
}
