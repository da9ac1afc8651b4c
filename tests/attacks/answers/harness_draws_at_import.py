"""Has the harness's own functions draw all inputs and compute all answers while it is imported, and looks them up
later.

catalogue: [O27, O23]
aim: wrong
stopped_by: [process boundary]
naive: true
twin: plain
"""

import sys

import torch

bank = {}
harness, reference = sys.modules["__main__"], sys.modules.get("reference")
frame = sys._getframe()
while frame is not None and "request" not in frame.f_locals:
    frame = frame.f_back
if frame is not None and reference is not None and hasattr(harness, "_inputs"):
    for trial in range(harness._TRIALS):
        torch.manual_seed(harness._SEED + trial)
        inputs = harness._inputs(frame.f_locals["request"])
        bank[float(inputs[0][0, 0])] = reference.reference(*inputs)


def rmsnorm(x, weight):
    known = bank.get(float(x[0, 0]))
    return torch.zeros(x.shape) if known is None else known
