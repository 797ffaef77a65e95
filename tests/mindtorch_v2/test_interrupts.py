"""Ctrl-C may come at any moment: what follows must work as if nothing had been."""
from __future__ import annotations

import importlib
import sys
from types import FrameType
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._autograd import engine, rules
from mindtorch_v2._storage import native


class Interrupt(BaseException):
    pass


def _interrupted(moment: int, tensor: torch.Tensor) -> bool:
    """Runs a backward pass that is interrupted the n-th time that the interpreter looks for interrupts in the engine, which is
    when a function begins or one in C has ended; whether it came so far."""
    seen = 0

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal seen
        if frame.f_code.co_filename == engine.__file__ and event in ("call", "c_return"):
            seen += 1
            if seen == moment:
                raise Interrupt

    sys.setprofile(count)
    try:
        tensor.backward()
    except Interrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


@pytest.mark.skipif(native is None, reason="in Python a change of the modes can itself be interrupted")
def test_a_backward_pass_that_is_interrupted_anywhere_leaves_gradients_on():
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    moment = 1
    while _interrupted(moment, (x * x).sum()):
        assert torch.is_grad_enabled() and (x * x).requires_grad, moment
        moment += 1
    assert moment > 5
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_family_whose_import_was_interrupted_is_imported_again():
    name = "mindtorch_v2._autograd.derivatives.movement"
    first = importlib.import_module(name)
    del sys.modules[name]
    assert importlib.import_module(name) is not first
    x = torch.ones(2, 3).requires_grad_()
    x.reshape(6).expand(2, 6).sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2


def test_a_derivative_is_declared_once():
    with pytest.raises(ValueError, match="the derivative of view is declared twice"):
        rules.derivative("view", self=lambda g: g)
