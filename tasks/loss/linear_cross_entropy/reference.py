"""Linear head and cross-entropy: loss = mean over tokens of log(sum(exp(z))) - z[target], z = hidden weight^T.

Sources: Wijmans et al. 2024, arXiv:2411.09009, eq. 1 and 2; the head has no bias.
"""

import torch


def reference(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """hidden: [tokens, width], weight: [classes, width], target: [tokens] int64 in [0, classes) -> loss: [], nats."""
    logits = hidden @ weight.T
    shifted = logits - logits.amax(-1, keepdim=True)
    losses = shifted.exp().sum(-1).log() - shifted.gather(-1, target[:, None])[:, 0]
    return losses.mean()


def functional(hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The same through PyTorch's own operators."""
    return torch.nn.functional.cross_entropy(torch.nn.functional.linear(hidden, weight), target)
