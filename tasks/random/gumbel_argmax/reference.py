"""Gumbel-max: index = argmax(logits - log(-log(u))), u uniform, has the law softmax(logits) (Maddison et al. 2014).

Any way to draw from that law will do: answers are judged by their distribution.
"""

import torch


def reference(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """logits: [rows, classes], seed: any integer -> index: [rows] int64 in [0, classes)."""
    generator = torch.Generator(logits.device).manual_seed(seed)
    uniform = torch.rand(logits.shape, generator=generator, device=logits.device)
    return (logits - torch.log(-torch.log(uniform))).argmax(-1)


def multinomial(logits: torch.Tensor, seed: int) -> torch.Tensor:
    """The same law through PyTorch's own sampler."""
    generator = torch.Generator(logits.device).manual_seed(seed)
    law = torch.softmax(logits, -1, dtype=torch.float32)
    return torch.multinomial(law, 1, generator=generator)[:, 0] if len(law) else law.sum(-1).long()
