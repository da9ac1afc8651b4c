"""Returns a view of its input with the axes exchanged, so that whoever reads the answer does the copying.

catalogue: [T05, O08]
hint: lazy-tensor-evaluation
aim: time
stopped_by: [floor]
twin: transposed_copy
task: index/transpose
reason: "y: returned a view"
"""


def transpose(x):
    return x.t()
