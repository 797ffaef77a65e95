"""DLPack: memory exchanged with numpy in both directions, without copies."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import mindtorch_v2 as torch

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: x.T,
    "rows": lambda x: x[1:],
    "columns": lambda x: x[:, 1::2],
    "scalar": lambda x: x[0, 0],
    "empty": lambda x: x[:0],
    "row": lambda x: x[2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", DTYPES)
def test_to_numpy(name: str, layout: str) -> None:
    t = LAYOUTS[layout](torch.arange(12).reshape(3, 4).to(getattr(torch, name)))
    a = np.from_dlpack(t)
    assert a.dtype == name and a.shape == tuple(t.shape) and a.tolist() == t.tolist()
    if t.numel():
        assert a.__array_interface__["data"][0] == t.data_ptr()
        assert [s // a.itemsize for s in a.strides] == list(t.stride())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", DTYPES)
def test_from_numpy(name: str, layout: str) -> None:
    base = np.arange(12).reshape(3, 4).astype(name)
    a = np.asarray(LAYOUTS[layout](base))
    if layout == "scalar":  # numpy makes a copy when it reads one element
        a = base.reshape(-1)[:1].reshape(())
    t = torch.from_dlpack(a)
    assert t.dtype is getattr(torch, name) and t.shape == a.shape and t.tolist() == a.tolist()
    if a.size:
        assert t.data_ptr() == a.__array_interface__["data"][0] and t.storage_offset() == 0


def test_writes_are_seen_on_both_sides() -> None:
    a = np.zeros(3)
    t = torch.from_dlpack(a)
    t[0] = 1
    a[1] = 2
    assert a.tolist() == t.tolist() == [1, 2, 0]
    x = torch.zeros(3)
    b = np.from_dlpack(x)
    x[0] = 1
    if b.flags.writeable:
        b[1] = 2
        assert x.tolist() == [1, 2, 0]
    assert b[0] == 1


def test_memory_lives_as_long_as_either_side() -> None:
    x = torch.arange(3.0)
    a = np.from_dlpack(x)
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None and a.tolist() == [0, 1, 2]
    t = torch.from_dlpack(np.arange(3.0))
    gc.collect()
    assert t.tolist() == [0, 1, 2]


def test_tensors_and_capsules() -> None:
    x = torch.arange(3.0)
    again = torch.from_dlpack(x)
    assert again is not x and again.data_ptr() == x.data_ptr()
    capsule = torch.utils.dlpack.to_dlpack(x)
    assert type(capsule).__name__ == "PyCapsule" == type(torch.to_dlpack(x)).__name__
    taken = torch.utils.dlpack.from_dlpack(capsule)
    taken[1] = 7
    assert x.tolist() == [0, 7, 2] and taken.data_ptr() == x.data_ptr()
    with pytest.raises((ValueError, RuntimeError)):
        torch.from_dlpack(capsule)  # it has been consumed
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert torch.from_dlpack(x, device="cpu").data_ptr() == x.data_ptr()


def test_the_device_is_told() -> None:
    assert torch.zeros(1).__dlpack_device__() == (1, 0)
    assert torch.zeros(1).__dlpack_device__()[0] is torch.utils.dlpack.DLDeviceType.kDLCPU
    with pytest.raises(ValueError, match="Unknown device type meta"):
        torch.zeros(1, device="meta").__dlpack_device__()


def test_what_cannot_be_exchanged() -> None:
    with pytest.raises(BufferError, match="require gradient"):
        np.from_dlpack(torch.ones(1, requires_grad=True))
    with pytest.raises(BufferError, match="Cannot pack tensors on meta"):
        torch.ones(1, device="meta").__dlpack__()
    with pytest.raises(AssertionError, match="stream should be None on cpu"):
        torch.ones(1).__dlpack__(stream=1)
    with pytest.raises(RuntimeError, match="invalid capsule"):
        torch.from_dlpack([1, 2])
    with pytest.raises(ValueError, match="negative"):
        torch.from_dlpack(np.arange(3)[::-1])
    with pytest.raises(BufferError):
        torch.from_dlpack(np.array(["a"]))


def test_an_expanded_tensor_keeps_its_strides() -> None:
    a = np.from_dlpack(torch.arange(3).expand(2, 3))
    assert a.strides == (0, 8) and a.tolist() == [[0, 1, 2]] * 2


def test_detached_tensors_are_exchanged() -> None:
    g = torch.ones(2, requires_grad=True)
    assert np.from_dlpack(g.detach()).tolist() == [1, 1]
