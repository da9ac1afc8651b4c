"""Calls on a CUDA device. The judge owns the buffers and the clock; a worker only launches.

A call is launched behind a gate, a word in the judge's device memory, before any of its inputs is there. The judge then
writes the inputs, starts its clock and opens the gate (see isolation.gate). Whatever is measured in this process would
be a claim, so nothing is.
"""

from robust_kbench.worker.cuda.device import CudaDevice

__all__ = ["CudaDevice"]
