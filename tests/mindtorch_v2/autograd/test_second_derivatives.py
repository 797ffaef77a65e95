"""Second derivatives inside a larger graph: what they run again must leave the rest of the graph alone."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_sampling_whose_incoming_gradient_has_a_history(padding: str) -> None:
    """The gradient of y + y^2 depends on y, so the second pass meets the graph of the first one again."""
    x = torch.arange(16.0, dtype=torch.float64).reshape(1, 1, 4, 4).div(7).requires_grad_()
    grid = torch.tensor([[[[0.3, -0.2], [0.1, 0.4]]]], dtype=torch.float64, requires_grad=True)

    def loss(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        y = F.grid_sample(x, grid, padding_mode=padding, align_corners=False)
        return (y + y * y).sum()

    first = torch.autograd.grad(loss(x, grid), (x, grid), create_graph=True)
    sum(part.sum() for part in first).backward()
    step = 1e-6
    for tensor in (x, grid):  # the derivative in the direction of all ones, by differences of first derivatives
        for index in ((0, 0, 1, 1), (0, 0, 0, 0)):
            sums = []
            for sign in (1, -1):
                moved = [t.detach().clone() for t in (x, grid)]
                moved[0 if tensor is x else 1][index] += sign * step
                moved = [t.requires_grad_() for t in moved]
                sums.append(sum(p.sum() for p in torch.autograd.grad(loss(*moved), moved)))
            expected = (sums[0] - sums[1]) / (2 * step)
            assert tensor.grad[index].item() == pytest.approx(expected.item(), rel=1e-5, abs=1e-6)
