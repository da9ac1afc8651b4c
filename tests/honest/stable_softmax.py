"""Subtracts the maximum of each row first, in steps of its own, where the operator is one call.

looks_like: [P08, O10]
task: activation/softmax
"""


def softmax(x):
    exponential = x - x.amax(-1, keepdim=True)
    exponential.exp_()
    return exponential.div_(exponential.sum(-1, keepdim=True))
