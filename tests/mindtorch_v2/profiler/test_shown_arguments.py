"""Arguments as PyTorch 2.13 shows them: with what its Python functions fill in."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch

X = torch.ones(2, 3)
INDEX = torch.tensor([0, 1])


@pytest.mark.parametrize(
    ("call", "values", "types"),
    [
        (lambda: torch.ones(2), [[2], None, None, None, False], ["ScalarList", "", "", "", "Scalar"]),
        (lambda: torch.arange(3), [3, None, None, None, False], ["Scalar", "", "", "", "Scalar"]),
        (
            lambda: torch.arange(1, 5),
            [1, 5, 1, None, None, None, False],
            ["Scalar", "Scalar", "Scalar", "", "", "", "Scalar"],
        ),
        (lambda: torch.randn(2), [[2], None, None, None, False], ["ScalarList", "", "", "", "Scalar"]),
        (lambda: torch.randperm(3), [3, 4, None, None, False], ["Scalar", "Scalar", "", "", "Scalar"]),
        (lambda: X[:, 1:], [None, 1, 1, 9223372036854775807, 1], ["float", "Scalar", "Scalar", "Scalar", "Scalar"]),
        (lambda: X[INDEX], [None, None], ["float", ""]),
        (lambda: X.norm(), [None, 2, None, False, None], ["float", "Scalar", "", "Scalar", ""]),
        (lambda: X.t().contiguous(), [None, 0], ["float", "Scalar"]),
    ],
)
def test_of_the_last_outermost_call(call, values, types):
    with torch.profiler.profile(record_shapes=True) as prof:
        call()
    event = [event for event in prof.events() if event.cpu_parent is None][-1]
    assert event.concrete_inputs == values and event.input_dtypes == types
    assert [type(value) for value in event.concrete_inputs] == [type(value) for value in values]
