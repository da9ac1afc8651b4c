"""Exchanges the axes in a view and writes the view out: the same tensor without the copy would have cost no time.

looks_like: [T05, O08]
task: index/transpose
"""


def transpose(x):
    return x.t().contiguous()
