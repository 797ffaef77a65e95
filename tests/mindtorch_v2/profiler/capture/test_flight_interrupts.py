"""Ctrl-C while the flight recorder begins or ends leaves nothing of it behind."""

from __future__ import annotations

import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.optim import optimizer as optimizers
from mindtorch_v2.profiler import flight_recorder
from mindtorch_v2.profiler.capture import flight

from ...interrupts import assert_nothing_is_left, interrupted, lines_hit

# An interrupt inside __del__ is reported by the interpreter.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


_PARTS = 8  # every eighth line each, so that no part takes long


@pytest.mark.parametrize("part", range(_PARTS))
def test_wherever_an_interrupt_comes_it_is_off_afterwards(part, tmp_path):
    x = torch.ones(2)
    hook = sys.excepthook

    def block():
        with flight_recorder(seconds=1, directory=tmp_path):
            x + x

    block()
    moment = part
    while interrupted(moment, block):
        assert flight.current() is None, lines_hit[-1:]
        assert_nothing_is_left()
        assert (optimizers.on_step, sys.excepthook) == ([], hook), lines_hit[-1:]
        moment += _PARTS
    assert moment > 500
