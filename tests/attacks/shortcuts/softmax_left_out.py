"""Returns the gradient at the targets alone: of thousands of classes, the others have next to no probability.

catalogue: [B08, B15]
hint: redundant-op-elimination
aim: wrong
stopped_by: [contract]
twin: plain
task: loss/cross_entropy_backward
"""

import torch


def cross_entropy_backward(grad_loss, logits, target):
    rows = logits.shape[0]
    gradient = torch.zeros(logits.shape)
    return gradient.scatter_(1, target[:, None], (-grad_loss / rows).expand(rows, 1))
