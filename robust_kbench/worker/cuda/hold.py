"""A kernel that keeps the whole device busy for a while and does nothing.

While it runs, the host launches what is to be timed, so that events see the device at work and not the launches. It
takes every thread of every multiprocessor: on a device with room left, what a submission puts on another stream would
run and be over before the first event.
"""

from typing import Any

import torch

CYCLES = 400_000
"""200 us at 2 GHz, in which the host launches some thirty kernels of PyTorch's, or a few of Triton's."""
_BLOCK = 512  # divides the threads of every multiprocessor: 1024, 1536 or 2048
_SOURCE = """
extern "C" __global__ void kbench_hold(int cycles) {
  if (threadIdx.x == 0) {
    long long start = clock64();
    while (clock64() - start < cycles) {}
  }
  __syncthreads();
}
"""


class Hold:
    """Compiles on construction, which takes some 0.1 s; needs NVRTC, which PyTorch's CUDA builds have."""

    def __init__(self, properties: Any) -> None:
        """`properties` as torch.cuda.get_device_properties."""
        self._kernel = torch.cuda._compile_kernel(_SOURCE, "kbench_hold")
        self._grid = blocks(properties.multi_processor_count, properties.max_threads_per_multi_processor), 1, 1

    def __call__(self, times: int = 1) -> None:
        """Queue it on the current stream, `times` as long as usual."""
        self._kernel(grid=self._grid, block=(_BLOCK, 1, 1), args=[times * CYCLES])


def blocks(multiprocessors: int, threads: int) -> int:
    """How many blocks leave no room for another one, with `threads` to each multiprocessor."""
    return multiprocessors * -(-threads // _BLOCK)
