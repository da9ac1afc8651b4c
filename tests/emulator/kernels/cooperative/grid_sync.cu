// Normalises a vector by its sum of squares: two phases of one cooperative launch.
#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

__global__ void normalise(const float* x, float* partial, float* y, int n) {
    __shared__ float values[64];
    cg::grid_group grid = cg::this_grid();
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i] * x[i];
    values[t] = sum;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) values[t] += values[t + half];
        __syncthreads();
    }
    if (t == 0) partial[blockIdx.x] = values[0];

    grid.sync();

    float total = 0.0f;
    for (int b = 0; b < gridDim.x; ++b) total += partial[b];
    const float scale = 1.0f / sqrtf(total);
    for (int i = grid.thread_rank(); i < n; i += grid.size()) y[i] = x[i] * scale;
}

extern "C" void run(const float* x, float* partial, float* y, int64_t n, cudaStream_t stream) {
    int count = static_cast<int>(n);
    void* arguments[] = {&x, &partial, &y, &count};
    cudaLaunchCooperativeKernel((void*)normalise, dim3(5), dim3(64), arguments, 0, stream);
}
