"""A block for each row, which goes over it twenty times.

device: cuda
looks_like: [B01]
"""

import torch

SOURCE = r"""
extern "C" __global__ void rows_of(const float* x, const float* weight, float* y, int cols) {
  __shared__ float partial[256];
  for (int turn = 0; turn < 20; turn++) {
    float sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += 256) {
      const float value = *(volatile const float*)(x + (long long)blockIdx.x * cols + col);
      sum += value * value;
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
      if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
      __syncthreads();
    }
    const float scale = rsqrtf(partial[0] / cols + 1e-6f);
    __syncthreads();
    for (int col = threadIdx.x; col < cols; col += 256) {
      const long long at = (long long)blockIdx.x * cols + col;
      y[at] = x[at] * scale * weight[col];
    }
  }
}
"""
rows_of = torch.cuda._compile_kernel(SOURCE, "rows_of")


def rmsnorm(x, weight):
    x = x.contiguous()
    weight = weight.contiguous()
    y = torch.empty(x.shape, device=x.device)
    if x.numel():
        rows_of(grid=(x.shape[0], 1, 1), block=(256, 1, 1), args=[x, weight, y, x.shape[1]])
    return y
