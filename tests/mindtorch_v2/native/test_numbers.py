"""Numbers that stand in C and in Python are the same: C exports what it has."""

from __future__ import annotations

import pytest

from mindtorch_v2 import _native
from mindtorch_v2.profiler.record import native_recorder, row_format, stacks
from mindtorch_v2.profiler.record.kinds import Kind

pytestmark = pytest.mark.skipif(not _native.available(), reason="the native part is not built")


def test_bits_of_details() -> None:
    core = _native.native_module("_core")
    names = ("SHAPES", "STACKS", "MODULES", "LISTENERS", "TENSORS", "REFERENCES", "ARGUMENT_BITS")
    assert {name: getattr(row_format, name) for name in names} == core.DETAIL_BITS


def test_kinds_of_rows() -> None:
    core = _native.native_module("_core")
    assert {name: int(Kind[name]) for name in ("NODE", "BACKWARD", "SCOPE", "FUNCTION", "RUNTIME")} == core.ROW_KINDS


def test_classes_of_code() -> None:
    core = _native.native_module("_core")
    wanted = {name: getattr(stacks, name) for name in ("USER", "LIBRARY", "INTERNAL")}
    assert {
        **wanted,
        "IMPORTS": native_recorder.IMPORTS,
        "HIDDEN_FUNCTION": native_recorder.HIDDEN_FUNCTION,
    } == core.CODE_CLASSES
