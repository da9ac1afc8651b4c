/* A cooperative launch: all blocks meet in the middle of the kernel.

device: cuda
looks_like: [T14]
*/
#include <cooperative_groups.h>
#include <cstdint>
#include <cuda_runtime.h>

static float* sums = nullptr;
static int64_t room = 0;

static __global__ void rows_of(const float* x, const float* weight, float* y, float* sums, int64_t rows, int64_t cols) {
    __shared__ float partial[256];
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        float sum = 0.0f;
        for (int64_t col = threadIdx.x; col < cols; col += 256) sum += x[row * cols + col] * x[row * cols + col];
        partial[threadIdx.x] = sum;
        __syncthreads();
        for (int half = 128; half > 0; half /= 2) {
            if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
            __syncthreads();
        }
        if (threadIdx.x == 0) sums[row] = partial[0];
        __syncthreads();
    }
    cooperative_groups::this_grid().sync();
    const int64_t step = gridDim.x * 256;
    for (int64_t at = blockIdx.x * 256 + threadIdx.x; at < rows * cols; at += step) {
        y[at] = x[at] * rsqrtf(sums[at / cols] / static_cast<float>(cols) + 1e-6f) * weight[at % cols];
    }
}

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols,
                        cudaStream_t stream) {
    if (rows * cols == 0) return;
    if (room < rows) {
        cudaFree(sums);
        cudaMalloc(&sums, rows * sizeof(float));
        room = rows;
    }
    void* arguments[] = {&x, &weight, &y, &sums, &rows, &cols};
    cudaLaunchCooperativeKernel(reinterpret_cast<void*>(rows_of), dim3(132), dim3(256), arguments, 0, stream);
}
