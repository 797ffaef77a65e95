"""inf and nan are results: numpy warns about none of our computations, on no thread, and the user's settings stay
his own.
"""

from __future__ import annotations

import contextvars
import os
import pathlib
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dispatch import aten
from mindtorch_v2._ops import table
from mindtorch_v2._ops.schema import NO_DEFAULT
from mindtorch_v2._quiet import quiet

SPECIAL = [0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 1e38, -3e38, 1e-38, 2.5]


def _operands(kind):
    values = torch.tensor(SPECIAL, dtype=torch.float64).to(kind)
    return values.reshape(-1, 1).expand(-1, len(SPECIAL)).clone(), values.expand(len(SPECIAL), -1).clone()


ELEMENTWISE = sorted(
    op.name
    for op in table.all_ops()
    if op.rule is not None
    and op.rule.elementwise
    and 1 <= len([p for p in op.schema.params if p.default is NO_DEFAULT]) <= 2
    and all(p.is_tensor and not p.is_list for p in op.schema.params if p.default is NO_DEFAULT)
)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_operators_on_special_values(name):
    op = table.find(name)
    count = sum(p.default is NO_DEFAULT for p in op.schema.params)
    with np.errstate(all="raise"):
        for kind in (torch.float16, torch.float32, torch.float64):
            try:
                aten.overload(name)(*_operands(kind)[:count])
            except (RuntimeError, NotImplementedError, TypeError):
                continue  # the operator refuses the type, or the in-place form its result


def _training(results):
    with np.errstate(all="raise"):
        x = torch.tensor([[0.0, 1e38], [float("inf"), 2.0]], requires_grad=True)
        w = torch.tensor([[1e38, 0.0], [0.0, 1e-38]], requires_grad=True)
        loss = ((x @ w).softmax(-1) / x).log().sum() + (x * w).mean() + x.double().pow(3).float().sum()
        loss.backward()
        torch.optim.Adam([x, w], lr=1e30).step()
        results.append((float(torch.ones(1) / torch.zeros(1)), torch.tensor([1e300]).item(), np.geterr()["divide"]))


@pytest.mark.parametrize("threaded", [False, True])
def test_training_with_overflows_while_numpy_raises(threaded):
    results: list[tuple[float, float, str]] = []
    if threaded:
        thread = threading.Thread(target=_training, args=(results,))
        thread.start()
        thread.join()
    else:
        _training(results)
    assert results == [(float("inf"), float("inf"), "raise")]


def test_the_user_is_warned_about_his_own_arrays():
    torch.ones(3) / torch.zeros(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.ones(3) / np.zeros(3)
        torch.ones(3) / torch.zeros(3)
    assert [str(w.message) for w in caught] == ["divide by zero encountered in divide"]


def test_importing_changes_no_setting():
    program = "import numpy as np; before = np.geterr(); import mindtorch_v2 as t; t.ones(2) / t.zeros(2); print(before == np.geterr())"
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[2] / "src")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore:mindtorch_v2 runs", "-c", program],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_quiet_functions_nest_raise_and_keep_the_callers_context():
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")
    variable.set(3)

    @quiet
    def inner(x):
        if x is None:
            raise ValueError("nothing")
        return np.float64(1) / x

    outer = quiet(lambda x: inner(x) + (np.float64(1) / x))
    with np.errstate(all="raise"):
        assert outer(np.float64(0)) == np.inf
        for _ in range(3):
            with pytest.raises(ValueError, match="nothing"):
                outer(None)
        with pytest.raises(FloatingPointError):
            np.float64(1) / np.float64(0)
    assert variable.get() == 3 and inner.__name__ == "inner"
