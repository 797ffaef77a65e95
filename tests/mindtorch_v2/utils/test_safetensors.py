"""Safetensors files, written and read here and by the format's own numpy front."""
from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils import safetensors as st

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
