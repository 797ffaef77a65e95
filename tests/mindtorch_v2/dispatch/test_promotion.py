"""Types of results for all pairs of types, against what PyTorch answered."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch

from ..oracle import harness, promotion_cases

WANT = harness.load("promotion")
KEYS = sorted({key.split()[0] for key in WANT["codes"]})
# Where the wording of an error names PyTorch's kernel, or the order of its checks shows; errors are errors here too.
OTHER_TEXT = {"clamp", "clamp_min_"}


@pytest.fixture(scope="module")
def got() -> dict[str, Any]:
    return promotion_cases.answers(torch)


def _ignored(key: str, operands: str, want: str) -> bool:
    """Half-precision complex numbers do not exist here, and copy_ takes tensors only."""
    if "float16" in operands and ("complex" in operands or "1j" in operands) or "ComplexHalf" in want:
        return True
    return key in ("copy_ tn", "copy_ zn", "out tn", "out zn")


@pytest.mark.parametrize("name", KEYS)
def test_types_as_pytorch(name: str, got: dict[str, Any]) -> None:
    wrong = []
    for key, codes in WANT["codes"].items():
        if key.split()[0] != name:
            continue
        for index in range(len(codes)):
            want, have = promotion_cases.explain(WANT, key, index), promotion_cases.explain(got, key, index)
            operands = promotion_cases.operands_of(key, index)
            if name in OTHER_TEXT and "Error: " in want and "Error: " in have:
                continue
            if want != have and not _ignored(key, operands, want):
                wrong.append(f"{key}({operands}): {have}, PyTorch {want}")
    assert not wrong, "\n".join(wrong[:20])


def test_result_type_of_three_classes() -> None:
    dims, zero = torch.ones(2, dtype=torch.int32), torch.tensor(1.0, dtype=torch.float64)
    assert torch.result_type(dims, zero) is torch.float64  # a higher category wins, in its own width
    assert torch.result_type(torch.ones(2), zero) is torch.float32  # the same category does not
    assert (dims + zero + 1j).dtype is torch.complex128
    assert (torch.ones(2) + torch.tensor(1j, dtype=torch.complex128)).dtype is torch.complex64
    assert (torch.ones(2, dtype=torch.uint8) + 300).dtype is torch.uint8


def test_gradients_have_the_types_of_their_inputs() -> None:
    a = torch.ones(2, dtype=torch.float64, requires_grad=True)
    b = torch.ones(2, dtype=torch.float32, requires_grad=True)
    c = torch.ones((), dtype=torch.complex64, requires_grad=True)
    torch.view_as_real(a * b * c).sum().backward()
    assert (a.grad.dtype, b.grad.dtype, c.grad.dtype) == (torch.float64, torch.float32, torch.complex64)
