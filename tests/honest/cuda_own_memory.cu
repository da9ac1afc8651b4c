/* It allocates memory of its own in every call, and frees it.

device: cuda
looks_like: [C01]
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
    float* room = nullptr;
    if (cudaMallocAsync(&room, rows * cols * sizeof(float), stream) != cudaSuccess) return;
    rows_of<<<rows, 256, 0, stream>>>(x, weight, room, cols);
    cudaMemcpyAsync(y, room, rows * cols * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    cudaFreeAsync(room, stream);
}
