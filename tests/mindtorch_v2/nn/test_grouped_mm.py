"""Products of groups of matrices are those of the groups one by one, with their gradients."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn.functional import grouped_mm

OFFSETS = torch.tensor([2, 5], dtype=torch.int32)


def normal(*shape):
    return torch.randn(shape, requires_grad=True)


def test_rows_columns_and_inner_dimensions_are_divided():
    torch.manual_seed(0)
    a, b = normal(6, 4), normal(2, 4, 3)
    out = grouped_mm(a, b, offs=OFFSETS)
    expected = torch.cat([a[:2] @ b[0], a[2:5] @ b[1], torch.zeros(1, 3)])
    assert torch.equal(out, expected)
    weights = torch.randn(6, 3)
    for mine, theirs in zip(
        torch.autograd.grad((out * weights).sum(), (a, b)), torch.autograd.grad((expected * weights).sum(), (a, b))
    ):
        assert torch.allclose(mine, theirs)
    c, d = torch.randn(2, 3, 4), torch.randn(4, 5)
    assert torch.equal(grouped_mm(c, d, offs=OFFSETS), torch.cat([c[0] @ d[:, :2], c[1] @ d[:, 2:]], 1))
    e, f = torch.randn(3, 5), torch.randn(5, 4)
    assert torch.equal(grouped_mm(e, f, offs=OFFSETS), torch.stack([e[:, :2] @ f[:2], e[:, 2:] @ f[2:]]))
    g = torch.randn(2, 4, 3)
    assert torch.equal(grouped_mm(c, g), torch.bmm(c, g))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Have to provide offsets if there is a 2d matrix"),
        ({"offs": OFFSETS, "bias": torch.ones(3)}, "Bias not supported yet"),
        ({"offs": OFFSETS, "out_dtype": torch.bfloat16}, "output dtype must match"),
    ],
)
def test_what_pytorch_refuses_is_refused(options, words):
    with pytest.raises(RuntimeError, match=words):
        grouped_mm(torch.randn(5, 4), torch.randn(2, 4, 3), **options)


def test_types_and_sizes_are_checked():
    with pytest.raises(RuntimeError, match="got Double"):
        grouped_mm(torch.randn(5, 4, dtype=torch.float64), torch.randn(2, 4, 3), offs=OFFSETS)
    with pytest.raises(RuntimeError, match="contraction dimension"):
        grouped_mm(torch.randn(5, 3), torch.randn(2, 4, 3), offs=OFFSETS)
