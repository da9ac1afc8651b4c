"""Linear recurrence: h[r, c] = decay[r, c] * h[r, c - 1] + x[r, c] with h[r, -1] = 0 (Blelloch 1990, section 1.4)."""

import torch


def reference(x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    """x, decay: [rows, cols] -> h: [rows, cols].

    Two neighbouring stretches of a row join as (a, b) and (c, d) to (a c, c b + d): at distance 1, 2, 4, ... all at
    once, so that it takes as many steps as the number of columns has digits.
    """
    h, product, step = x, decay, 1
    while step < x.shape[-1]:
        h = torch.cat((h[:, :step], product[:, step:] * h[:, :-step] + h[:, step:]), -1)
        product = torch.cat((product[:, :step], product[:, step:] * product[:, :-step]), -1)
        step *= 2
    return h
