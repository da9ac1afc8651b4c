"""Number of terms that an operator sums up."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from robust_kbench.importers.lengths import Work


@pytest.mark.parametrize("groups", [1, 2])
def test_gradients_of_a_convolution_sum_over_channels_and_places(groups: int) -> None:
    x, weight = torch.randn(3, 4, 9, 8, requires_grad=True), torch.randn(6, 4 // groups, 3, 3, requires_grad=True)
    y = functional.conv2d(x, weight, groups=groups)
    with Work() as work:
        torch.autograd.grad(y, [x, weight], torch.ones_like(y))
    assert work.lengths == [3 * 7 * 6]
    with Work() as work:
        functional.conv2d(x, weight, groups=groups)
    assert work.lengths == [4 // groups * 9]


def test_a_gradient_of_many_channels_sums_over_these_and_the_window() -> None:
    x, weight = torch.randn(1, 2, 4, 4, requires_grad=True), torch.randn(50, 2, 3, 3, requires_grad=True)
    y = functional.conv2d(x, weight)
    with Work() as work:
        torch.autograd.grad(y, [x, weight], torch.ones_like(y))
    assert work.lengths == [50 * 9]
