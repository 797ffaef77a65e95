"""The native part can be absent or switched off, and survives a fork."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mindtorch_v2 import _native

SRC = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(_native.__file__))))


def _python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": SRC, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_switched_off() -> None:
    said = _python(
        "import mindtorch_v2 as t; from mindtorch_v2 import _native; print(_native.available(), _native.available(), "
        "t.relu(t.tensor([-1.0, 2.0])).tolist())",
        MINDTORCH_NATIVE="0",
    )
    assert said.split("\n")[0] == "False False [0.0, 2.0]" and "native" not in said


def test_says_once_that_it_is_missing() -> None:
    code = """
import sys, warnings
sys.modules["mindtorch_v2._native._kernels"] = None
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as said:
    import mindtorch_v2 as t
    x = t.randn(10, 10, requires_grad=True)
    t.nn.functional.gelu(x).softmax(-1).sum().backward()
    from mindtorch_v2 import _native
    print(_native.available(), len(said), "without its native part" in str(said[0].message))
"""
    assert _python(code, MINDTORCH_NATIVE="1").strip() == "False 1 True"


@pytest.mark.parametrize(
    "variables, want",
    [
        ({"OMP_NUM_THREADS": "1"}, "1"),
        ({"OMP_NUM_THREADS": "3"}, "3"),
        ({"OMP_NUM_THREADS": "", "OPENBLAS_NUM_THREADS": "1"}, "1"),
    ],
)
def test_number_of_threads_follows_the_environment(variables: dict[str, str], want: str) -> None:
    assert _python("import mindtorch_v2 as t; print(t.get_num_threads())", **variables).strip() == want


def test_setting_the_number_reaches_blas_where_products_are_not_shared() -> None:
    """With native kernels its products are shared by the package's threads, and it works on one itself."""
    code = (
        "import mindtorch_v2 as t; from mindtorch_v2._native.blas_threads import get_blas_threads as now\n"
        "t.set_num_threads(2); second = now(); t.set_num_threads(1)\n"
        "print(second, now(), t.get_num_threads())"
    )
    variables = {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "1"}
    anything_else = "None None 1"  # numpy has another BLAS
    assert _python(code, MINDTORCH_NATIVE="0", **variables).strip() in ("2 1 1", anything_else)
    wanted = "1 1 1" if _native.available() else "2 1 1"
    assert _python(code, **variables).strip() in (wanted, anything_else)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork_with_threads() -> None:
    code = """
import os, warnings
warnings.simplefilter("ignore")
import mindtorch_v2 as t
t.set_num_threads(3)
x = t.ones(1000, 1000)
want = t.nn.functional.gelu(x).sum().item()
for _ in range(5):
    child = os.fork()
    if child == 0:
        os._exit(0 if t.nn.functional.gelu(x).sum().item() == want else 1)
    assert os.waitpid(child, 0)[1] == 0
print(t.nn.functional.gelu(x).sum().item() == want)
"""
    assert _python(code).strip() == "True"


_INSIDE = """
import importlib.util
spec = importlib.util.spec_from_file_location("mindtorch_v2._native._kernels", PATH)
try:
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
except ImportError as error:
    print(error, flush=True)
"""
_OTHER_INTERPRETER = """
try:
    import _interpreters as interpreters
    made = interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    made = interpreters.create(isolated=False)
interpreters.run_string(made, INSIDE)
interpreters.destroy(made)
"""


@pytest.mark.skipif(not _native.available(), reason="the native part was not built or is switched off")
def test_other_interpreters_are_refused() -> None:
    path = sys.modules["mindtorch_v2._native._kernels"].__file__
    inside = _INSIDE.replace("PATH", repr(path))
    said = _python(_OTHER_INTERPRETER.replace("INSIDE", repr(inside)))
    assert said.strip() == "the native part of mindtorch_v2 works in the main interpreter only"
