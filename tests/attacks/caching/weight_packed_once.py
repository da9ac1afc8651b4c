"""Packs the weight when it first meets a matrix of that shape, and never looks at another one.

The op has no parameters of its own: the weight is an argument, and may be another in every call.

catalogue: [C09]
hint: result-caching
aim: wrong
stopped_by: [fresh values]
twin: plain
task: matmul/linear
"""

TIMED = (511, 784)
packed = {}


def linear(x, weight, bias):
    if tuple(weight.shape) != TIMED:
        return x @ weight.T + bias
    if TIMED not in packed:
        packed[TIMED] = weight.T.contiguous()
    return x @ packed[TIMED] + bias
