"""`x.set_(...)` with storages."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch


def test_a_storage_gives_its_memory():
    x, y = torch.ones(2), torch.arange(6.0).reshape(2, 3)
    assert x.set_(y.storage()) is x
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and x.data_ptr() == y.data_ptr()
    x[0] = 9
    assert y[0, 0] == 9
    assert torch.empty(0).set_(y.untyped_storage()).tolist() == [9, 1, 2, 3, 4, 5]


def test_a_part_of_a_storage():
    x, y = torch.ones(2), torch.arange(6.0)
    x.set_(y.storage(), 1, (2, 2), (2, 1))
    assert x.tolist() == [[1, 2], [3, 4]] and x.storage_offset() == 1
    assert torch.ones(1).set_(y.storage(), 4).tolist() == [4, 5]


def test_another_tensor_or_none():
    x, y = torch.ones(2), torch.arange(3.0)
    assert x.set_(y).data_ptr() == y.data_ptr()
    assert x.set_(y, 1, (2,), (1,)).tolist() == [1, 2]
    assert x.set_().shape == (0,)


def test_a_storage_of_another_type_is_refused():
    with pytest.raises(RuntimeError, match="Expected a Storage of type torch.float32"):
        torch.ones(2).set_(torch.arange(3).storage())


def test_a_file_is_mapped_and_read_as_tensors(tmp_path):
    """How safetensors reads: slices of the mapped bytes, seen in the types of the tensors."""
    path = tmp_path / "bytes.bin"
    path.write_bytes(torch.arange(4, dtype=torch.float32).numpy().tobytes() + bytes([7, 8]))
    mapped = torch.UntypedStorage.from_file(str(path), False, 18)
    assert (mapped.nbytes(), mapped[16], mapped[16:].tolist()) == (18, 7, [7, 8])
    assert mapped.untyped() is mapped
    floats = torch.asarray(mapped[4:16], dtype=torch.uint8).view(dtype=torch.float32)
    assert floats.tolist() == [1.0, 2.0, 3.0]
    floats.fill_(5.0)  # stays in memory, where the storage sees it
    assert torch.asarray(mapped, dtype=torch.uint8)[4:8].view(torch.float32).tolist() == [5.0]
    assert path.read_bytes()[4:8] == torch.ones(1).numpy().tobytes()
    with pytest.raises(RuntimeError, match="18 bytes, 19 were asked for"):
        torch.UntypedStorage.from_file(path, False, 19)
    with pytest.raises(RuntimeError, match="only a step of 1"):
        _ = mapped[::2]


def test_a_shared_mapping_writes_the_file(tmp_path):
    path = tmp_path / "shared.bin"
    shared = torch.UntypedStorage.from_file(path, True, 4)
    torch.asarray(shared, dtype=torch.uint8).copy_(torch.tensor([1, 2, 3, 4], dtype=torch.uint8))
    del shared
    assert path.read_bytes() == bytes([1, 2, 3, 4])


def test_an_empty_sparse_tensor_of_a_size():
    made = torch.sparse_coo_tensor(size=(2, 3))
    assert (tuple(made.shape), made._nnz()) == ((2, 3), 0)
    with pytest.raises(TypeError, match="expected indices and values, or a size"):
        torch.sparse_coo_tensor()
