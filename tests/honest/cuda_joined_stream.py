"""Half of the work is on another stream, which is joined before the return.

device: cuda
looks_like: [T01, T02]
"""

import torch

aside = None


def rmsnorm(x, weight):
    global aside
    aside = aside or torch.cuda.Stream()
    here = torch.cuda.current_stream()
    aside.wait_stream(here)
    with torch.cuda.stream(aside):
        for _ in range(10):
            torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    for _ in range(10):
        y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    here.wait_stream(aside)
    return y
