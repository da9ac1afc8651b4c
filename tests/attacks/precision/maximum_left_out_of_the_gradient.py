"""Does not subtract the maximum before it takes exponentials, whatever the input: of all distributions, probes and
properties that the task has, none holds a value beyond six, and a row with a hundred in it is NaN.

catalogue: [P08, B08]
hint: redundant-op-elimination
aim: wrong
stopped_by: [contract]
twin: plain
task: activation/softmax_backward
"""


def softmax_backward(grad_y, x):
    probability = x.exp()
    probability = probability / probability.sum(-1, keepdim=True)
    return probability * (grad_y - (grad_y * probability).sum(-1, keepdim=True))
