/* Sums of rows are added up with atomics in memory that it has cleared.

device: cuda
looks_like: [T10]
*/
#include <cstdint>
#include <cuda_runtime.h>

static float* sums = nullptr;
static int64_t room = 0;

static __global__ void add(const float* x, float* sums, int64_t cols) {
    float sum = 0.0f;
    for (int64_t col = blockIdx.y * blockDim.x + threadIdx.x; col < cols; col += gridDim.y * blockDim.x) {
        const float value = x[blockIdx.x * cols + col];
        sum += value * value;
    }
    atomicAdd(&sums[blockIdx.x], sum);
}

static __global__ void scale(const float* x, const float* weight, const float* sums, float* y, int64_t cols) {
    const float factor = rsqrtf(sums[blockIdx.x] / static_cast<float>(cols) + 1e-6f);
    for (int64_t col = threadIdx.x; col < cols; col += blockDim.x) {
        y[blockIdx.x * cols + col] = x[blockIdx.x * cols + col] * factor * weight[col];
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
    cudaMemsetAsync(sums, 0, rows * sizeof(float), stream);
    add<<<dim3(rows, 4), 128, 0, stream>>>(x, sums, cols);
    scale<<<rows, 256, 0, stream>>>(x, weight, sums, y, cols);
}
