"""One buffer of its own for all results of a shape, filled anew in every call.

looks_like: [T05, O03]
task: index/embedding_backward
"""

kept = {}


def embedding_backward(grad_y, token, rows):
    shape = (rows, grad_y.shape[1])
    if shape not in kept:
        kept[shape] = grad_y.new_empty(*shape)
    return kept[shape].zero_().index_add_(0, token, grad_y)
