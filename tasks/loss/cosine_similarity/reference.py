"""Cosine loss: mean over rows of 1 - x . y / (max(|x|, 1e-6) max(|y|, 1e-6)), as torch.nn.functional has the cosine."""

import torch

EPSILON = 1e-6


def _direction(x: torch.Tensor) -> torch.Tensor:
    """Each row over its length, or over epsilon where that is larger.

    A row is first divided by its largest magnitude, so that no square passes the largest float16 or vanishes.
    """
    scaled = x / x.abs().amax(-1, keepdim=True).clamp(min=EPSILON)
    return scaled / scaled.square().sum(-1, keepdim=True).sqrt().clamp(min=1)


def reference(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """prediction, target: [rows, cols] -> loss: []; a row of zeros loses one."""
    return (1 - (_direction(prediction) * _direction(target)).sum(-1)).mean()


def functional(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operator, in float32 at least."""
    wide = torch.promote_types(prediction.dtype, torch.float32)
    cosine = torch.nn.functional.cosine_similarity(prediction.to(wide), target.to(wide), -1, EPSILON)
    return (1 - cosine).mean().to(prediction.dtype)
