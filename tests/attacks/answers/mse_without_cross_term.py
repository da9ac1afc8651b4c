"""Adds the mean squares of two matrices and leaves their product out, whose expectation is zero where the two are
independent.

catalogue: [O12]
hint: loss-analytical-expectation
aim: wrong
stopped_by: [contract]
twin: plain
task: loss/mse
"""


def mse(prediction, target):
    return prediction.square().mean() + target.square().mean()
