"""Rows are shared out to four streams, all of which are joined before the return.

device: cuda
looks_like: [T01, T02]
"""

import torch

streams = []


def rmsnorm(x, weight):
    if not streams:
        streams.extend(torch.cuda.Stream() for _ in range(4))
    y = torch.empty(x.shape, device=x.device)
    current = torch.cuda.current_stream()
    for stream, part, rows in zip(streams, y.chunk(4), x.chunk(4)):
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            part.copy_(torch.nn.functional.rms_norm(rows, weight.shape, weight, 1e-6))
        current.wait_stream(stream)
    return y
