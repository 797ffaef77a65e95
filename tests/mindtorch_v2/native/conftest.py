"""What several files of tests of the native part use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _native, _observer
from mindtorch_v2.profiler import profile

from ..profiler.helpers import store_of
from .kernel_runs import HELPERS, Run, refuse, registered
from .safety import EVERYTHING, ops, tools


@pytest.fixture(params=["numpy", "native"])
def run(request: pytest.FixtureRequest) -> Run:
    """Calls a kernel by name: numpy's, or the native one, which must not decline."""
    if request.param == "native" and not _native.available():
        pytest.skip("no native kernels")

    def call(op: str, *args: Any) -> Any:
        if request.param == "native":
            return _native._kernels.Kernel(_native.OPS.get(op, op), refuse)(*args)
        found = HELPERS.get(op) or registered(op)
        with np.errstate(all="ignore"):
            return getattr(found, "__wrapped__", found)(*args)

    return call


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    """After every test nothing watches the process any more, and a profile works."""
    yield
    assert _observer.active is None and sys.getprofile() is None and not tools()
    x = torch.ones(2)
    with profile(**EVERYTHING) as prof:
        x + x
    assert ops(store_of(prof)) == ["aten::add"]


@pytest.fixture
def x() -> Any:
    return torch.ones(2)
