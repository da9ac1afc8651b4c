"""Returns the loss as a matrix of one element, where a number is due: whoever broadcasts before he compares accepts
it.

catalogue: [O18]
aim: wrong
stopped_by: [process boundary]
naive: true
twin: plain
task: loss/mse
"""


def mse(prediction, target):
    return (prediction - target).square().mean((0, 1), keepdim=True)
