"""Weights that are kept orthogonal."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn.utils.parametrizations import orthogonal

SHAPES = [(4, 4), (5, 3), (3, 5)]
ROUNDING = 64 * torch.finfo(torch.float64).eps  # products and decompositions of at most 5x5 elements below 1


def defect(weight: torch.Tensor) -> float:
    product = weight @ weight.mT if weight.shape[0] <= weight.shape[1] else weight.mT @ weight
    return float((product - torch.eye(product.shape[0], dtype=product.dtype)).abs().max())


@pytest.mark.parametrize("trivialize", [True, False])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_weight_is_orthogonal_before_and_after_a_step(shape, kind, trivialize) -> None:
    torch.manual_seed(0)
    layer = orthogonal(nn.Linear(*reversed(shape), dtype=torch.float64), "weight", kind, use_trivialization=trivialize)
    assert layer.weight.shape == shape and defect(layer.weight) < ROUNDING
    before = layer.weight.detach().clone()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    (layer.weight**3).sum().backward()
    optimizer.step()
    assert not torch.equal(layer.weight, before) and defect(layer.weight) < ROUNDING


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
def test_an_orthogonal_matrix_can_be_assigned(shape, kind) -> None:
    torch.manual_seed(0)
    layer = orthogonal(nn.Linear(*reversed(shape), dtype=torch.float64), "weight", kind)
    wanted = nn.init.orthogonal_(torch.empty(shape, dtype=torch.float64))
    with torch.no_grad():
        layer.weight = wanted
    assert float((layer.weight - wanted).abs().max()) < ROUNDING


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="Got a tensor of 1 dimensions"):
        orthogonal(nn.Linear(2, 2), "bias")
    with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
        orthogonal(nn.Linear(2, 2), orthogonal_map="polar")
    with pytest.raises(ValueError, match="has no parameter or buffer with name 'w'"):
        orthogonal(nn.Linear(2, 2), "w")
    layer = orthogonal(nn.Linear(2, 2), orthogonal_map="cayley", use_trivialization=False)
    with pytest.raises(NotImplementedError, match="use_trivialization=False"):
        layer.weight = torch.eye(2)
