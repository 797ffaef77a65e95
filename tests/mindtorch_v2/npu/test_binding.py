"""What can be said about the binding without a device."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import abi, clocks, loader, ops, row_helpers


def test_every_operator_has_a_known_code():
    assert len(abi.OPERATORS) == 243
    for name, code in abi.OPERATORS.items():
        assert re.fullmatch(r"[tsIBLluib?dfD]+", code), name


def test_widths_that_earlier_bindings_got_wrong():
    assert abi.OPERATORS["Subs"] == "tsst"  # with alpha
    assert abi.OPERATORS["ConvolutionBackward"][9] == "i"  # groups: 32 bits
    assert abi.OPERATORS["Convolution"][8] == "l"  # groups: 64 bits
    assert abi.OPERATORS["EmbeddingDenseBackward"][2:4] == "uu"
    assert abi.OPERATORS["InplaceUniform"][-2:] == "uu"


def test_records_have_the_vendors_layout():
    assert abi.RECORD_LAYOUTS[abi.KIND_KERNEL].itemsize == 52
    for kind, size in abi.RECORD_SIZES.items():
        assert abi.RECORD_LAYOUTS[kind].itemsize <= size


class Anything:
    """Stands for every argument of a row."""

    _array = property(lambda self: self)
    shape = (2, 3)
    ndim = size = 2
    dtype = torch.float32
    device = "npu"
    index = 0

    def __bool__(self):
        return True

    def __iter__(self):
        return iter(())

    def __rmod__(self, other):
        return 0

    __mod__ = __rand__ = __and__ = __rmod__

    def __eq__(self, other):
        return True

    __hash__ = None


# helpers of rows that would look at their arguments
QUIET = {
    "cube": lambda: 0,
    "draw": lambda t, g: (0, 0),
    "class_weights": lambda w, s: w,
    "as_type": lambda v, t: v,
    "only": lambda fits, x: x,
    "zeros": lambda x: (),
    "numbers": lambda dim: (),
    "whole": lambda x: 0,
    "accumulation": lambda x: 0,
    "int": lambda x: 0,
}


def test_rows_have_as_many_operands_as_their_operators():
    from mindtorch_v2._backends.npu.rows import Row
    from mindtorch_v2._ops.table import find

    anything = Anything()
    before, row_helpers.HELPERS = row_helpers.HELPERS, {**row_helpers.HELPERS, **QUIET}
    try:
        for name, text in ops.ROWS.items():
            op = find(name)
            count = 0 if op.writes else len(op.schema.returns)
            for part in text.split("|"):
                row = Row(part, op, count)
                operands = row.operands(*[anything] * (len(op.schema.params) + count))
                assert len(operands) == len(abi.OPERATORS[row.name]), name
    finally:
        row_helpers.HELPERS = before


def test_every_operator_is_used():
    folder = pathlib.Path(ops.__file__).parent
    named = {name for text in ops.ROWS.values() for name in re.findall(r"(\w+):", text)}
    for path in folder.glob("*.py"):
        if path.name != "operator_codes.py":
            named |= set(re.findall(r'"(\w+)"', path.read_text()))
    assert set(abi.OPERATORS) - named == {
        "Permute",
        "InplaceMaskedFillTensor",
        "InplaceOne",
        "Mean",
        "DropoutGenMask",
        "DropoutDoMask",
        "Embedding",
    }  # other operators compute what these would


def test_the_search_leaves_stubs_out_and_changes_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(tmp_path / "stub"))
    monkeypatch.setenv("MINDTORCH_NPU_LIB", f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    folders = loader.search_folders()
    assert folders[:3] == [tmp_path / "a", tmp_path / "b", tmp_path / "lib64"]
    assert not any("stub" in f.parts for f in folders)


def test_clocks_are_aligned_by_pairs():
    def pair(host, error):
        device = (host - 5_000_000) / (1 + 40e-6)
        return clocks.Pair(host - error, device, device, host + error)

    groups = [
        [pair(1_000_000 + i * 1000, 300 + i) for i in range(8)],
        [pair(1_000_000_000 + i * 1000, 300 + i) for i in range(8)],
    ]
    found = clocks.Alignment(groups)
    assert found.bound <= 300
    middle = 500_000_000
    assert found.host(np.array([(middle - 5_000_000) / (1 + 40e-6)])) == pytest.approx([middle], abs=found.bound)
    assert found.slope * 1e6 == pytest.approx(40, abs=1)


def test_clocks_that_count_from_1970_keep_their_nanoseconds():
    began, offset = 1_700_000_000_123_456_789, 1_699_999_999_000_000_001
    pairs = [
        clocks.Pair(device - offset - 7, device, device, device - offset + 7) for device in (began, began + 10_001)
    ]
    found = clocks.Alignment([pairs])
    assert found.bound == 7
    assert found.host(np.array([began, began + 1, began + 12_345])).tolist() == [
        began - offset + i for i in (0, 1, 12_345)
    ]


def test_without_a_library_everything_answers():
    script = (
        "import mindtorch_v2 as torch; n = torch.npu; assert not n.is_available() and n.device_count() == 0 and "
        "n.memory_stats() == {}\n"
        "n.empty_cache(); n.manual_seed_all(1); print(n.why_unavailable())\n"
        "try: n.synchronize()\nexcept RuntimeError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={
            "PYTHONPATH": ":".join(sys.path),
            "PATH": "/usr/bin:/bin",
            **{name: os.environ[name] for name in ("LD_PRELOAD", "ASAN_OPTIONS") if name in os.environ},
        },
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("libascendcl.so") == 2


def test_asking_for_the_device_names_the_reason():
    if not torch.npu.is_available():
        with pytest.raises(RuntimeError, match="device 'npu' is not usable"):
            torch.ones(1, device="npu")
        with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
            torch.ones(1).pin_memory()


def test_the_simulator_is_advised_only_where_it_can_be_had(monkeypatch, tmp_path):
    from mindtorch_v2._backends.npu import simulator

    monkeypatch.delenv("MINDTORCH_NPU_SIM", raising=False)
    monkeypatch.delenv("MINDTORCH_NPU_SIM_SOURCE", raising=False)
    assert "set MINDTORCH_NPU_SIM=1" in simulator.how_to_get()  # a checkout
    monkeypatch.setattr(
        simulator, "__file__", str(tmp_path / "site-packages" / "mindtorch_v2" / "_backends" / "npu" / "simulator.py")
    )
    assert "does not contain it" in simulator.how_to_get() and "MINDTORCH_NPU_SIM_SOURCE" in simulator.how_to_get()
    assert "does not contain it" in simulator.build()[1] and "ascend_sim/" in simulator.build()[1]
    monkeypatch.setenv("MINDTORCH_NPU_SIM_SOURCE", str(tmp_path))
    assert f"MINDTORCH_NPU_SIM_SOURCE={tmp_path} has no build.py" in simulator.build()[1]
    (tmp_path / "build.py").write_text("")
    assert "set MINDTORCH_NPU_SIM=1" in simulator.how_to_get()
    monkeypatch.setenv("MINDTORCH_NPU_SIM", "1")
    assert simulator.how_to_get() == ""
