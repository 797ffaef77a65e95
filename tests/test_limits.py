"""The limits of CONTRIBUTING hold: sizes of files and functions. The lists of exceptions only ever get shorter."""
from __future__ import annotations

import ast
import pathlib
from functools import cache

import pytest

ROOT = pathlib.Path(__file__).parents[1]
FOLDERS = ("src", "scripts", "benchmarks", "examples", "ascend_sim", "tests")
FILE, FUNCTION = 400, 40
LARGEST_FILE, LARGEST_FUNCTION = 800, 100       # no exception goes beyond these
# Files of more than FILE lines. Split one and take it out of this list; nothing may be added.
LONG_FILES = {
    "src/mindtorch_v2/_backends/sparse/functions.py",
    "src/mindtorch_v2/_backends/npu/boxing.py",
    "src/mindtorch_v2/_python/tensor_methods.py",
    "src/mindtorch_v2/nn/modules/rnn.py",
    "src/mindtorch_v2/optim/optimizer.py",
    "src/mindtorch_v2/utils/_pytree.py",
    "tests/mindtorch_v2/native/test_kernels.py",
    "tests/mindtorch_v2/native/test_recorder_safety.py",
    "tests/mindtorch_v2/npu/simulated/test_functions.py",
    "tests/mindtorch_v2/oracle/cases_nn.py",
    "tests/mindtorch_v2/profiler/test_lifecycle.py",
    "tests/mindtorch_v2/test_autograd_api.py",
    "tests/mindtorch_v2/test_properties.py",
}
# Functions of more than FUNCTION lines, likewise.
LONG_FUNCTIONS = {
    "ascend_sim/tests/test_memory.py::test_a_model_of_the_memory_agrees_with_every_answer",
    "scripts/oracle/record_generator.py::_choice_cases",
    "src/mindtorch_v2/nn/_functional/attention.py::multi_head_attention_forward",
    "src/mindtorch_v2/nn/modules/_state.py::load_state_dict",
    "src/mindtorch_v2/nn/parallel/distributed.py::__init__",
    "src/mindtorch_v2/npu/checks.py::_elementwise",
    "src/mindtorch_v2/optim/lbfgs.py::step",
    "src/mindtorch_v2/profiler/analysis/diff_features.py::_place_of_entry",
    "src/mindtorch_v2/profiler/cli/diff.py::page",
    "src/mindtorch_v2/profiler/cli/show.py::_print_rest",
    "src/mindtorch_v2/profiler/cli/show.py::summary",
    "src/mindtorch_v2/profiler/export/perfetto.py::_events",
    "src/mindtorch_v2/profiler/report/data.py::report_data",
    "src/mindtorch_v2/profiler/results/autograd_profile.py::__init__",
    "tests/mindtorch_v2/distributed/test_jobs.py::_expected",
    "tests/mindtorch_v2/interrupts.py::interrupted",
    "tests/mindtorch_v2/npu/test_binding.py::test_rows_have_as_many_operands_as_their_operators",
    "tests/mindtorch_v2/oracle/cases_nn.py::_functions",
    "tests/mindtorch_v2/oracle/cases_nn.py::_module_errors",
    "tests/mindtorch_v2/test_properties.py::_step",
}


@cache
def sources() -> dict[str, str]:
    """The text of every Python file by its path in the repository."""
    found = {path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(found)}


def native_sources() -> dict[str, int]:
    """The number of lines of every C file."""
    found = [path for pattern in ("*.c", "*.h", "*.inc") for path in (ROOT / "src").rglob(pattern)]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in found}


@cache
def functions() -> dict[str, int]:
    """The number of lines of every function, by path and name; of several of one name in a file the longest."""
    found: dict[str, int] = {}
    for path, text in sources().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{path}::{node.name}"
                found[name] = max(found.get(name, 0), (node.end_lineno or node.lineno) - node.lineno + 1)
    return found


def beyond(sizes: dict[str, int], limit: int) -> set[str]:
    return {name for name, size in sizes.items() if size > limit}


@pytest.mark.parametrize(("sizes", "limit", "exceptions"), [
    (lambda: {path: text.count("\n") for path, text in sources().items()}, FILE, LONG_FILES),
    (functions, FUNCTION, LONG_FUNCTIONS),
], ids=["files", "functions"])
def test_sizes(sizes, limit, exceptions):
    found = beyond(sizes(), limit)
    assert sorted(found - exceptions) == [], f"longer than {limit} lines: divide it by topic"
    assert sorted(exceptions - found) == [], "no longer too long: take it out of the list"


def test_nothing_is_far_too_long():
    lines = {path: text.count("\n") for path, text in sources().items()} | native_sources()
    assert sorted(beyond(lines, LARGEST_FILE)) == []
    assert sorted(beyond(functions(), LARGEST_FUNCTION)) == []
