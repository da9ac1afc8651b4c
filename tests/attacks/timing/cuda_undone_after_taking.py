"""All the work is done when the call is over; a kernel that stays undoes it as soon as the answer has been taken.

device: cuda
catalogue: [T14]
aim: time
stopped_by: [turn, floor]
twin: cuda_plain
"""

import torch

from robust_kbench.worker.cuda.call import CudaCall

SOURCE = """
extern "C" __global__ void undo(unsigned char* y, unsigned long long bytes, long long gap_ns, long long patience_ns) {
  unsigned long long start, last, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  last = start;
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (now - last > gap_ns) break;
    last = now;
  } while (now - start < patience_ns);
  for (unsigned long long i = threadIdx.x; i < bytes; i += blockDim.x) y[i] = 0xFF;
}
"""
undo = torch.cuda._compile_kernel(SOURCE, "undo")
finish, late = CudaCall.finish, {}


def solve(x, weight):
    for _ in range(20):
        y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y


def finished(self):
    if not late:
        return finish(self)
    x, weight, y = late.pop("call")
    y.copy_(solve(x, weight))
    torch.cuda.synchronize()
    undo(grid=(1, 1, 1), block=(1024, 1, 1), args=[y, y.numel() * y.element_size(), 100_000, 50_000_000])
    return 0


CudaCall.finish = finished


def rmsnorm(x, weight):
    if not (x.numel() >= 1 << 22 and x.is_contiguous()):
        return solve(x, weight)
    y = torch.empty_like(x)
    late["call"] = x, weight, y
    torch.cuda._sleep(25_000)
    return y
