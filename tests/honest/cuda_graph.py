"""A graph that copies the inputs in, replayed on the call's own stream.

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
        for _ in range(20):
            y = torch.nn.functional.rms_norm(inputs[0], weight.shape, inputs[1], 1e-6)
    return *inputs, y, graph


def rmsnorm(x, weight):
    if x.shape not in plans:
        plans[x.shape] = plan(x, weight)
    static_x, static_weight, y, graph = plans[x.shape]
    static_x.copy_(x)
    static_weight.copy_(weight)
    graph.replay()
    return y.clone()
