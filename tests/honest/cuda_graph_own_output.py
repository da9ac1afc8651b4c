"""A graph per shape, whose own output is returned: an answer stands until the next call of that shape.

device: cuda
looks_like: [T19]
"""

import torch

plans = {}


def plan(x, weight):
    inputs = torch.empty_like(x), torch.empty_like(weight)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y = torch.nn.functional.rms_norm(inputs[0], weight.shape, inputs[1], 1e-6)
    return *inputs, y, graph


def rmsnorm(x, weight):
    key = x.shape, x.dtype
    if key not in plans:
        plans[key] = plan(x, weight)
    static_x, static_weight, y, graph = plans[key]
    static_x.copy_(x)
    static_weight.copy_(weight)
    graph.replay()
    return y
