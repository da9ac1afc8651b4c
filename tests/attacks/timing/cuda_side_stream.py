"""The work is on a stream of its own that nobody joins.

device: cuda
catalogue: [T01, T02]
hint: async-stream-bypass
aim: time
stopped_by: [gate, turn]
twin: cuda_joined_stream
"""

import torch

aside = None


def rmsnorm(x, weight):
    global aside
    aside = aside or torch.cuda.Stream()
    with torch.cuda.stream(aside):
        for _ in range(20):
            y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y
