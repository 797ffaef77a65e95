"""Safetensors files, written and read here and by the format's own numpy front."""

from __future__ import annotations

import contextlib
import json
import random
import struct

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils import safetensors as st

from ..profiler.load.damage import damaged

safetensors = pytest.importorskip("safetensors")
library = pytest.importorskip("safetensors.numpy")


def test_round_trip(tmp_path):
    tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2, dtype=torch.int64), "c": torch.tensor([True])}
    st.save_file(tensors, tmp_path / "x.safetensors", {"made": "here"})
    back = st.load_file(tmp_path / "x.safetensors")
    assert {k: (v.tolist(), v.dtype) for k, v in back.items()} == {k: (v.tolist(), v.dtype) for k, v in tensors.items()}
    assert library.load_file(tmp_path / "x.safetensors")["a"].tolist() == tensors["a"].tolist()


def test_a_transposed_tensor_is_refused(tmp_path):
    with pytest.raises(ValueError, match="non contiguous tensor: `t`"):
        st.save_file({"t": torch.ones(2, 3).t()}, tmp_path / "x.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"]
)
def test_every_type_and_shape_is_read_by_the_library(tmp_path, dtype):
    tensors = {
        "scalar": torch.tensor(1).to(getattr(torch, dtype)),
        "none": torch.ones(0, 3).to(getattr(torch, dtype)),
        "some": torch.arange(3).to(getattr(torch, dtype)),
        "wide": torch.ones(2, dtype=torch.float64),
    }
    st.save_file(tensors, tmp_path / "x.safetensors")
    theirs = library.load_file(tmp_path / "x.safetensors")
    assert {k: (v.tolist(), v.shape) for k, v in theirs.items()} == {
        k: (v.tolist(), tuple(v.shape)) for k, v in tensors.items()
    }


def _file(path, kind: str, size: int) -> None:
    header = json.dumps(
        {
            "fine": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
            "model.weight": {"dtype": kind, "shape": [4], "data_offsets": [4, 4 + 4 * size]},
        }
    ).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4 + 4 * size))


@pytest.mark.parametrize(
    ("kind", "size", "name"),
    [
        ("BF16", 2, "bfloat16"),
        ("F8_E4M3", 1, "float8_e4m3fn"),
        ("F8_E5M2", 1, "float8_e5m2"),
        ("U16", 2, "uint16"),
        ("U32", 4, "uint32"),
        ("U64", 8, "uint64"),
    ],
)
def test_types_beyond_numpys_are_read(tmp_path, kind, size, name):
    _file(tmp_path / "x.safetensors", kind, size)
    found = st.load_file(tmp_path / "x.safetensors")["model.weight"]
    assert found.dtype is getattr(torch, name) and found.float().tolist() == [0.0] * 4 and found.element_size() == size


def test_types_that_the_format_lacks_are_refused(tmp_path):
    with pytest.raises(ValueError, match="`z` has type torch.complex128, which the format does not have"):
        st.save_file({"z": torch.ones(1, dtype=torch.complex128)}, tmp_path / "x.safetensors")
    assert not list(tmp_path.iterdir())


def test_damage_is_one_kind_of_error(tmp_path):
    st.save_file(
        {"a": torch.arange(6.0), "b": torch.ones(2, dtype=torch.int64)}, tmp_path / "x.safetensors", {"k": "v"}
    )
    data, rng = (tmp_path / "x.safetensors").read_bytes(), random.Random(3)
    for _ in range(300):
        (tmp_path / "y.safetensors").write_bytes(damaged(data, rng))
        with contextlib.suppress(safetensors.SafetensorError, NotImplementedError):
            st.load_file(tmp_path / "y.safetensors")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    st.save_file({"a": torch.ones(2)}, tmp_path / "x.safetensors")
    before = (tmp_path / "x.safetensors").read_bytes()
    monkeypatch.setattr(torch.Tensor, "cpu", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        st.save_file({"a": torch.zeros(2)}, tmp_path / "x.safetensors")
    assert (tmp_path / "x.safetensors").read_bytes() == before and [p.name for p in tmp_path.iterdir()] == [
        "x.safetensors"
    ]
