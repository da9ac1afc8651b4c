"""A kernel writes the word that ends a call, in the middle of the work.

device: cuda
catalogue: [T07, T13]
aim: time
stopped_by: [turn, floor]
twin: cuda_plain
"""

import torch

from robust_kbench.worker.cuda.call import CudaCall

SOURCE = r"""
extern "C" __global__ void end(int* word, int turn) {
  *(volatile int*)word = turn;
  __threadfence_system();
}
"""
end = torch.cuda._compile_kernel(SOURCE, "end")
now = {}
launch = CudaCall.launch


def solve(x, weight):
    for _ in range(20):
        y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y


def noted(self, kernel):
    now["call"] = self
    return launch(self, kernel)


CudaCall.launch = noted


def rmsnorm(x, weight):
    memory = now["call"]._memory
    word = memory._bytes[memory.end - memory.address :][:4]
    end(grid=(1, 1, 1), block=(1, 1, 1), args=[word, now["call"]._turn])
    return solve(x, weight)
