"""A graph with the work waits for the gate on a stream that nobody joins.

device: cuda
catalogue: [T01, T19]
aim: time
stopped_by: [turn, floor]
twin: cuda_graph
"""

import torch

from robust_kbench.worker.cuda.call import CudaCall

plans = {}

now = {}
launch = CudaCall.launch


def noted(self, kernel):
    now["call"] = self
    return launch(self, kernel)


CudaCall.launch = noted


def behind_the_gate(stream):
    call = now["call"]
    call._device._driver.wait(stream.cuda_stream, call._gate, call._turn)


def solve(x, weight):
    for _ in range(20):
        y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    return y


def is_timed(x):
    return x.numel() >= 1 << 22 and x.is_contiguous()


def plan(x, weight):
    inputs = torch.empty_like(x), torch.empty_like(weight)
    aside, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y = solve(*inputs)
    return *inputs, y, aside, graph


def rmsnorm(x, weight):
    if not is_timed(x):
        return solve(x, weight)
    if x.shape not in plans:
        plans[x.shape] = plan(x, weight)
    static_x, static_weight, answer, aside, graph = plans[x.shape]
    y = torch.empty_like(x)
    behind_the_gate(aside)
    with torch.cuda.stream(aside):
        static_x.copy_(x)
        static_weight.copy_(weight)
        graph.replay()
        y.copy_(answer)
    return y
