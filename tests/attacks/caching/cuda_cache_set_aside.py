"""Inputs are read with a hint that keeps their lines in the cache, so that emptying it leaves them there.

device: cuda
catalogue: [C12]
aim: time
stopped_by: [cache, drift]
twin: cuda_once
"""

import torch

from robust_kbench.worker.cuda.call import CudaCall

SOURCE = """
extern "C" __global__ void keep(const float* x, unsigned count, float* sink) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  float total = 0, value;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(value) : "l"(x + i), "l"(policy));
    total += value;
  }
  if (total == 1e38f) *sink = total;
}
"""
keep = torch.cuda._compile_kernel(SOURCE, "keep")
sink = torch.zeros(1, device="cuda")
launch = CudaCall.launch


def kept(self, kernel):
    x = self._arguments[0][0]
    if torch.is_tensor(x) and x.numel() >= 1 << 22 and x.is_contiguous():
        keep(grid=(264, 1, 1), block=(512, 1, 1), args=[x, x.numel(), sink])
    return launch(self, kernel)


CudaCall.launch = kept


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
