"""Sobol sequences; the numbers are PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.quasirandom import SobolEngine, direction_numbers

FIRST = [[0.0] * 5, [0.5] * 5, [0.75, 0.25, 0.25, 0.25, 0.75], [0.25, 0.75, 0.75, 0.75, 0.25]]


def test_points():
    engine = SobolEngine(5)
    assert engine.draw(4).tolist() == FIRST
    assert engine.fast_forward(3).draw(2).tolist() == [
        [0.125, 0.625, 0.375, 0.125, 0.125],
        [0.1875, 0.3125, 0.9375, 0.4375, 0.5625],
    ]
    assert engine.num_generated == 9
    assert engine.reset().draw_base2(2).tolist() == FIRST
    assert repr(engine) == "SobolEngine(dimension=5)"
    assert repr(SobolEngine(3, scramble=True, seed=5)) == "SobolEngine(dimension=3, scramble=True, seed=5)"


def test_scrambled_points():
    engine = SobolEngine(3, scramble=True, seed=5)
    assert engine.shift.tolist() == [515708045, 125905764, 133132919]
    expected = torch.tensor([[0.4803, 0.1173, 0.1240], [0.9115, 0.8687, 0.5391], [0.5351, 0.2715, 0.3079]])
    assert torch.allclose(engine.draw(3), expected, atol=5e-5)
    torch.manual_seed(0)
    expected = [[0.4751, 0.5925, 0.4945], [0.6355, 0.1717, 0.8551], [0.9233, 0.7557, 0.1152]]
    drawn = SobolEngine(3, scramble=True).draw(3, dtype=torch.float64)
    assert torch.allclose(drawn, torch.tensor(expected, dtype=torch.float64), atol=5e-5)


@pytest.mark.parametrize("scramble", [False, True])
def test_drawing_in_pieces_gives_the_same_points(scramble):
    whole = SobolEngine(7, scramble, seed=1).draw(64)
    pieces = SobolEngine(7, scramble, seed=1)
    parts = [pieces.draw(n) for n in (1, 2, 30, 31)]
    assert torch.equal(torch.cat(parts), whole)
    for skipped in (1, 5, 33):
        assert torch.equal(SobolEngine(7, scramble, seed=1).fast_forward(skipped).draw(3), whole[skipped : skipped + 3])
    out = torch.empty(0)
    assert pieces.reset().draw(64, out=out) is out
    assert torch.equal(out, whole)


def test_every_dimension_is_balanced():
    points = SobolEngine(SobolEngine.MAXDIM).draw(16).numpy()
    assert points.shape == (16, 21201)
    assert (np.sort(points, axis=0) == np.arange(16)[:, None] / 16).all(), "every sixteenth holds one point"


def test_direction_numbers_are_full_rank():
    numbers = direction_numbers(100)
    assert (numbers >> np.arange(29, -1, -1) & 1 == 1).all(), "the highest bit of number i is bit i"
    assert (numbers & ((1 << np.arange(29, -1, -1)) - 1) == 0).all(), "and none below it"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: SobolEngine(0), ValueError, r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"),
        (lambda: SobolEngine(21202), ValueError, "Supported range of dimensionality"),
        (lambda: SobolEngine(2).draw(0), RuntimeError, "expected n to be at least 1, got 0"),
        (
            lambda: SobolEngine(2).draw(2, dtype=torch.float16),
            NotImplementedError,
            "float32 and float64, got dtype=torch",
        ),
        (lambda: SobolEngine(2).fast_forward(3).draw_base2(3), ValueError, r"n=3\+2\*\*3=11"),
        (lambda: SobolEngine(2).fast_forward(2**30).draw(), RuntimeError, "has 2[*][*]30 points"),
    ],
)
def test_misuse(call, error, text):
    with pytest.raises(error, match=text):
        call()
