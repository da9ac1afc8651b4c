"""Zeros that are written, to which rows are added.

looks_like: [T05, O08]
task: index/embedding_backward
"""


def embedding_backward(grad_y, token, rows):
    return grad_y.new_zeros(rows, grad_y.shape[1]).index_add_(0, token, grad_y)
