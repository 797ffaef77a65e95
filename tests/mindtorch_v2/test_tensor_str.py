"""Tensors print as in PyTorch, character by character."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._python import tensor_str

from .oracle import harness, tensor_str_cases

TEXTS = harness.load("tensor_str")


@pytest.mark.parametrize("expression, options", tensor_str_cases.CASES, ids=lambda v: str(v))
def test_text_is_pytorchs(expression: str, options: dict[str, Any]) -> None:
    want = TEXTS[f"{expression} {options}"]
    assert tensor_str_cases.show(torch, expression, options) == want


def test_options_are_restored_by_the_context() -> None:
    before = tensor_str.get_printoptions()
    with tensor_str.printoptions(precision=1):
        assert repr(torch.tensor([0.25])) == "tensor([0.2])"
    assert tensor_str.get_printoptions() == before


def test_contents_can_be_replaced() -> None:
    assert tensor_str.tensor_repr(torch.zeros(2), contents="...") == "tensor(...)"


def test_format_of_a_tensor_with_dimensions_takes_no_spec() -> None:
    with pytest.raises(TypeError):
        format(torch.ones(2), ".2f")
