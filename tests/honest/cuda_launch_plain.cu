/* Abi launch: two kernels that the judge launches.

device: cuda
looks_like: [T07]
abi: launch
scratch: {sums: rows * 4}
launches:
  - {kernel: sums_of, grid: [rows], block: [256], arguments: [x, sums, cols]}
  - {kernel: scale, grid: [rows], block: [256], arguments: [x, weight, y, sums, cols]}
*/
#include <cstdint>

extern "C" __global__ void sums_of(const KBENCH_T* x, float* sums, int64_t cols) {
    __shared__ float partial[256];
    float sum = 0.0f;
    for (int64_t col = threadIdx.x; col < cols; col += 256) {
        const float value = static_cast<float>(x[blockIdx.x * cols + col]);
        sum += value * value;
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

extern "C" __global__ void scale(const KBENCH_T* x, const KBENCH_T* weight, KBENCH_T* y, const float* sums,
                                 int64_t cols) {
    const float factor = rsqrtf(sums[blockIdx.x] / static_cast<float>(cols) + 1e-6f);
    for (int64_t col = threadIdx.x; col < cols; col += 256) {
        const int64_t at = blockIdx.x * cols + col;
        y[at] = static_cast<KBENCH_T>(static_cast<float>(x[at]) * factor * static_cast<float>(weight[col]));
    }
}
