"""The work is on a stream of high priority, which is joined.

device: cuda
looks_like: [T01]
"""

import torch

stream = None


def rmsnorm(x, weight):
    global stream
    stream = stream or torch.cuda.Stream(priority=-1)
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    torch.cuda.current_stream().wait_stream(stream)
    y.record_stream(torch.cuda.current_stream())
    return y
