"""A kernel polls the word of the gate on the device, and the work is queued behind it.

device: cuda
catalogue: [T04, T14]
aim: time
stopped_by: [gate]
twin: cuda_plain
"""

import torch

from robust_kbench.worker.cuda.device import CudaDevice

SOURCE = r"""
extern "C" __global__ void wait_for(unsigned long long address, int value) {
  long long start = clock64();
  while (*(volatile int*)address != value && clock64() - start < 1000000000ll) {}
}
"""
wait_for = torch.cuda._compile_kernel(SOURCE, "wait_for")
wait_for(grid=(1, 1, 1), block=(1, 1, 1), args=[torch.zeros(1, dtype=torch.int32, device="cuda"), 0])


def poll(self, address, value):
    word = words(address)
    wait_for(grid=(132, 1, 1), block=(512, 1, 1), args=[word, value])


def words(address):
    described = {"shape": (4,), "typestr": "|u1", "data": (address, False), "version": 3}
    return torch.as_tensor(type("Word", (), {"__cuda_array_interface__": described})(), device="cuda")


CudaDevice.wait = poll


def solve(x, weight):
    for _ in range(20):
        y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y


def rmsnorm(x, weight):
    return solve(x, weight)
