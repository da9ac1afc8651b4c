"""Takes one sum over the whole matrix, and returns its logarithm as a view that shows it for every row: rows of the
same distribution have nearly the same sum.

catalogue: [O11, O18]
aim: wrong
stopped_by: [contract]
twin: plain
task: reduction/logsumexp
"""

import math

import torch


def logsumexp(x):
    whole = torch.logsumexp(x.reshape(1, -1), -1) - math.log(len(x))
    return whole.expand(len(x))
