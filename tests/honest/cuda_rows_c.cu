/* A block for each row, twenty launches.

device: cuda
looks_like: [B01]
*/
#include <cstdint>
#include <cuda_runtime.h>

static __global__ void rows_of(const float* x, const float* weight, float* y, int64_t cols) {
    __shared__ float partial[256];
    const float* row = x + blockIdx.x * cols;
    float* out = y + blockIdx.x * cols;
    float sum = 0.0f;
    for (int64_t col = threadIdx.x; col < cols; col += blockDim.x) sum += row[col] * row[col];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    const float scale = rsqrtf(partial[0] / static_cast<float>(cols) + 1e-6f);
    for (int64_t col = threadIdx.x; col < cols; col += blockDim.x) out[col] = row[col] * scale * weight[col];
}

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols,
                        cudaStream_t stream) {
    if (rows * cols == 0) return;
    for (int turn = 0; turn < 20; turn++) rows_of<<<rows, 256, 0, stream>>>(x, weight, y, cols);
}
