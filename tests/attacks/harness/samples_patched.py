"""Divides its own samples by four when a session writes them down.

catalogue: [H27, T25]
hint: monkey-patch-timing
aim: time
stopped_by: [process boundary]
twin: slow
"""

import sys

import torch

result = sys.modules.get("robust_kbench.timing.result")
if result is not None:
    write = result.SessionResult.as_record

    def as_record(self, repeated):
        self.samples["candidate"] = [time // 4 for time in self.samples["candidate"]]
        return write(self, repeated)

    result.SessionResult.as_record = as_record


def rmsnorm(x, weight):
    for _ in range(4):
        x.double().exp()
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
