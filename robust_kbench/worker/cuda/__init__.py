"""One call on a CUDA device: fresh buffers, a cold L2 cache, events around the call, completion of every stream.

Everything that is measured here is the worker's claim. The judge's own clock runs from GO to DONE, and DONE is
signalled only after a device-wide synchronisation, so that work on any stream is inside it.

A request may ask for more than one call:

    hot: n       after the answer was copied out, n calls on the same buffers without a flush (never scored)
    batch: {calls, problems, flush, empty}
                 calls between one GO and one DONE, going round so many problems; `empty` leaves the kernel out
    profile: true  the call runs under a profiler, which lists what the device did
"""

from robust_kbench.worker.cuda.device import CudaDevice

__all__ = ["CudaDevice"]
