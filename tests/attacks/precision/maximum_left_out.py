"""Does not subtract the maximum before it takes exponentials: ordinary values do not overflow.

catalogue: [P08, B08]
hint: redundant-op-elimination
aim: wrong
stopped_by: [contract]
twin: plain
task: reduction/logsumexp
"""


def logsumexp(x):
    return x.exp().sum(-1).log()
