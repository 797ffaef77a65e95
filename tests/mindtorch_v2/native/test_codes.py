"""Codes that stand in C and in Python are the same: C exports what it has, and every enum of C is looked at here."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

import numpy as np
import pytest

from mindtorch_v2 import _native, _observer
from mindtorch_v2._backends.npu import blocks, plans, statistics
from mindtorch_v2._dispatch import native_call
from mindtorch_v2._native.sources import FOLDER as NATIVE_FOLDER
from mindtorch_v2.distributed import _repeated, _status
from mindtorch_v2.nn import _reduction
from mindtorch_v2.profiler.export import rows
from mindtorch_v2.profiler.load import collected, collector, native_reader, nesting
from mindtorch_v2.profiler.record import native_recorder, row_format, stacks
from mindtorch_v2.profiler.record.kinds import Kind

FOLDER = pathlib.Path(NATIVE_FOLDER)
pytestmark = pytest.mark.skipif(not _native.available(), reason="the native part is not built")


def of(module: object, names: str) -> dict[str, int]:
    """The values of a module's constants; their names may begin with an underscore."""
    return {name: int(getattr(module, name, getattr(module, f"_{name}", -1))) for name in names.split()}


def test_recorder() -> None:
    core = _native.native_module("_core")
    assert of(row_format, "SHAPES STACKS MODULES LISTENERS TENSORS REFERENCES ARGUMENT_BITS") == core.DETAIL_BITS
    assert {name: int(Kind[name]) for name in ("NODE", "BACKWARD", "SCOPE", "FUNCTION", "RUNTIME")} == core.ROW_KINDS
    classes = of(stacks, "USER LIBRARY INTERNAL") | of(native_recorder, "IMPORTS HIDDEN_FUNCTION")
    assert classes == core.CODE_CLASSES
    assert core.NODE_PREFIX == _observer.NODE_PREFIX


def test_calls() -> None:
    """The enums of plans are compared in dispatch/test_call_plans.py, key bits in test_key_bits.py."""
    assert _native.native_module("_core").CallLimits == {"MAX_PARAMS": native_call._MOST}


def test_trace_writer() -> None:
    writer = _native.native_module("_trace_writer")
    assert of(rows, "TEXT PICK NUMBER MICRO IF") == writer.SEGMENTS
    assert writer.MAX_SEGMENTS == rows._MOST_NATIVE


def test_trace_reader() -> None:
    reader = _native.native_module("_trace_reader")
    assert of(collector, "BEGINS LACKS EQUALS") == reader.NAME_TESTS
    assert of(native_reader, "HOST PYTHON_CALL DEVICE") == reader.READINGS
    assert of(nesting, "LEAVES STEP YIELDS LAUNCHES") == reader.ROLES
    assert tuple(reader.COLUMNS) == collected.ROW and list(reader.COLUMNS.values()) == list(range(len(collected.ROW)))
    assert {name: np.dtype(kind).itemsize for name, kind in native_reader._TYPES.items()} == reader.WIDTHS
    asked = [name.removeprefix("_") for name in native_reader.NativeCollector.__init__.__code__.co_names]
    assert [name for name in asked if name in reader.DESCRIPTIONS] == list(reader.DESCRIPTIONS)
    assert list(reader.DESCRIPTIONS.values()) == list(range(len(reader.DESCRIPTIONS)))


def test_messages() -> None:
    messages = _native.native_module("_messages")
    notes = {"HEAD": _status._HEAD.size, **of(_status, "SLOT HISTORY COUNT_BITS DONE")}
    assert notes == messages.NOTES
    assert of(_repeated, "DONE REFUSED") == {name: messages.ENDS[name] for name in ("DONE", "REFUSED")}


def test_npu() -> None:
    launch = _native.native_module("_npu_launch")
    assert of(plans, "FROM_ARGUMENT FROM_OUTPUT CONSTANT") == launch.ORIGINS
    assert of(plans, "BY_VALUE BY_TYPE") == launch.COUNTED
    assert {"ARGUMENTS": plans._MOST_ARGUMENTS, "OUTPUTS": plans._MOST_OUTPUTS} == launch.LIMITS
    assert dict(statistics._POOLS) == launch.POOLS and launch.POOLS["all"] == blocks._ALL
    assert tuple(launch.GROUPS) == blocks.COUNTED and list(launch.GROUPS.values()) == [0, 1, 2]
    assert {name: code for code, name in enumerate(statistics._WORDS)} == launch.WORDS
    assert len(launch.WORDS) == blocks._WORDS


def test_kernels() -> None:
    assert _native.native_module("_kernels").REDUCTIONS == _reduction._NUMBERS


# Enums that only C has, by their first member: limits, results of functions, numpy's and oneDNN's published values. An
# enum that Python has too does not belong here: export it (EXPORT_CODES of common/enums.h) and compare it above.
ONLY_IN_C = {
    "common": {"ARRAY_C_CONTIGUOUS", "KEY_FIRST"},
    "core": {"FALLBACK", "SET_HANDLER", "ROOM", "ATTEMPTS", "MOST", "NEW_FROM_DESCR", "FLOAT_ID", "SAME_SHAPE"}
    | {"WANTED", "MOST_CHOICES", "MOST_IDLE", "HALF_NUM"},
    "kernels": {"MOST_ARRAYS", "MACHINE_BASELINE", "ROW_MAJOR"},
    "messages": {"ASKS_WITH_LOCK"},
    "npu": {"UNWATCHED", "ELSEWHERE"},
    "onednn": {"OP_PRODUCT", "CAPACITY", "OP_ELEMENTWISE", "OP_FORWARD", "MAX_VIEWS", "DIMS", "ENGINE_CPU", "TYPE_F16"}
    | {"QUERY_NAME", "REPLACED_COUNT", "FORWARD_TRAINING", "CONVOLUTION_DIRECT", "ARG_SRC"},
    "recorder": {"ATTEMPTS", "MAX_WORDS", "TENSOR", "KEPT_ENDS", "LEAST_BASELINE_NS", "KEPT_CHUNKS", "RECENT_FUNCTIONS"}
    | {"BY_HANDLE", "RECENT_NAMES", "CHUNK_SHIFT", "ARGUMENTS"},
    "trace": {"DONE", "MAX_DEPTH", "E_PH", "A_EXTERNAL", "MAX_ARGUMENTS", "MAX_RULES", "MEMORY_WIDTH"},
}
# Exported, by room and first member.
EXPORTED = {
    "common": {"KEY_BITS"},
    "core": {"MAX_PARAMS", "ARGUMENT_KINDS", "MAKES", "RESULT_TYPES", "SAVED_KINDS", "STEPS_KINDS"},
    "kernels": {"REDUCE_NONE"},
    "messages": {"NOTE_HEAD", "IS_DONE"},
    "npu": {"FROM_ARGUMENT", "BY_VALUE", "ALLOCATIONS", "SMALL", "CURRENT"},
    "onednn": set(),
    "recorder": {"SHAPES", "KIND_NODE", "USER", "TENSORS", "ARGUMENT_BITS"},
    "trace": {"TEXT", "BEGINS", "OF_SLICE", "HOST", "EXTERNAL", "LEAVES"},
}


def enums(room: str) -> Iterator[str]:
    """The first member of every enum in a room's files."""
    for path in sorted((FOLDER / room).iterdir()):
        if path.suffix in (".c", ".h", ".inc"):
            yield from re.findall(r"\benum\s*\w*\s*\{\s*(\w+)", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("room", sorted(path.name for path in FOLDER.iterdir() if any(path.glob("*.[ch]"))))
def test_every_enum_of_c_is_known(room: str) -> None:
    assert set(enums(room)) == ONLY_IN_C[room] | EXPORTED[room]
