"""Checkpoints: PyTorch's files are read, ours have its layout, hostile and damaged ones are refused without running
anything.
"""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import pickle
import pickletools
import random
import zipfile
from collections import OrderedDict

import pytest

import mindtorch_v2 as torch

FROM_PYTORCH = (
    pathlib.Path(__file__).parents[1] / "data" / "from_pytorch.pt"
)  # made by scripts/oracle/record_checkpoint.py


def saved(obj) -> bytes:
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    return buffer.getvalue()


def again(obj, **options):
    return torch.load(io.BytesIO(saved(obj)), **options)


def test_a_file_of_pytorch():
    d = torch.load(FROM_PYTORCH)
    assert d["a"].tolist() == torch.arange(12.0).reshape(3, 4).tolist()
    assert (d["t"].stride(), d["view"].storage_offset()) == ((1, 4), 4)
    d["a"][1, 0] = 99
    assert d["view"][0, 0].item() == 99 and d["t"][0, 1].item() == 99, "views share their storage"
    assert isinstance(d["p"], torch.nn.Parameter) and d["p"].requires_grad
    assert [d[k].dtype for k in ("i", "b", "c", "half", "zero")] == [
        torch.int64,
        torch.bool,
        torch.complex64,
        torch.float16,
        torch.float32,
    ]
    assert d["size"] == torch.Size([3, 4]) and d["dtype"] is torch.float16 and d["device"] == torch.device("cpu")
    assert d["plain"] == [1, 2.5, "x", None, b"by", (1,)] and d["od"] == OrderedDict(k=1) and d["empty"].shape == (0,)


def test_a_model_and_an_optimizer_of_pytorch_go_on_here():
    d = torch.load(FROM_PYTORCH)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    model.load_state_dict(d["model"])
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.load_state_dict(d["optimizer"])
    assert optimizer.state[model[0].weight]["step"].item() == 1.0
    assert model[1].num_batches_tracked.item() == 1


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"],
)
def test_round_trip_of_every_type(dtype):
    t = torch.tensor([[0, 1], [1, 0]]).to(getattr(torch, dtype))
    back = again(t)
    assert back.dtype is t.dtype and back.tolist() == t.tolist()


def test_sharing_and_layout_survive():
    base = torch.arange(6.0).reshape(2, 3)
    back = again([base, base[1], base.t()])
    back[0][1, 0] = -1
    assert back[1][0].item() == -1 and back[2].stride() == (1, 3) and back[2][0, 1].item() == -1


def test_the_pickle_names_only_what_pytorch_knows():
    with zipfile.ZipFile(
        io.BytesIO(saved({"w": torch.nn.Parameter(torch.ones(2)), "s": torch.Size([2]), "d": torch.float32}))
    ) as z:
        data = z.read("archive/data.pkl")
        assert z.read("archive/version") == b"3\n" and z.read("archive/byteorder") == b"little"
        for info in z.infolist():
            z.fp.seek(info.header_offset)
            header = z.fp.read(30)
            name_length, extra_length = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
            assert (info.header_offset + 30 + name_length + extra_length) % 64 == 0, f"{info.filename} is not aligned"
    names = {arg.replace(" ", ".") for op, arg, _ in pickletools.genops(data) if op.name == "GLOBAL"}
    assert names == {
        "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_parameter",
        "torch.FloatStorage",
        "torch.Size",
        "torch.float32",
        "collections.OrderedDict",
    }


class Malicious:
    def __reduce__(self):
        return os.system, ("touch /tmp/mindtorch_v2_was_here",)


def _archive(pickled: bytes, **records: bytes) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as z:
        z.writestr("archive/data.pkl", pickled)
        for name, data in records.items():
            z.writestr(f"archive/data/{name.removeprefix('r')}", data)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize(
    "pickled",
    [
        pickle.dumps(Malicious(), 2),
        b"cos\nsystem\n(S'true'\ntR.",
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cmindtorch_v2\n__builtins__\n.",
        b"ctorch._utils\n_rebuild_tensor_v2\n(cos\nsystem\nI0\n(I1\nt(I1\nttR.",
    ],
)
def test_hostile_pickles_run_nothing(pickled, monkeypatch):
    ran = []
    monkeypatch.setattr(os, "system", lambda *a: ran.append(a))
    with pytest.raises(pickle.UnpicklingError):
        torch.load(_archive(pickled))
    assert not ran


def test_an_unknown_global_is_named_and_can_be_allowed():
    with pytest.raises(
        pickle.UnpicklingError, match="Unsupported global: GLOBAL fractions.Fraction was not an allowed global"
    ):
        again_fraction()
    from fractions import Fraction

    with torch.serialization.safe_globals([Fraction]):
        assert again_fraction() == Fraction(1, 3)
    assert torch.serialization.get_safe_globals() == []


def again_fraction():
    from fractions import Fraction

    return torch.load(_archive(pickle.dumps(Fraction(1, 3), 2)))


def _tensor_pickle(offset: int, size: int, stride: int, numel: int) -> bytes:
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n((Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI%d\ntQI%d\n(I%d\nt(I%d\ntI00\nccollections\n"
        b"OrderedDict\n)RtR." % (numel, offset, size, stride)
    )


@pytest.mark.parametrize(
    "offset, size, stride, numel", [(0, 5, 1, 4), (3, 2, 1, 4), (0, 2, 100, 4), (0, 4, 1, 400), (-1, 2, 1, 4)]
)
def test_geometry_outside_the_storage_is_refused(offset, size, stride, numel):
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        torch.load(_archive(_tensor_pickle(offset, size, stride, numel), r0=b"\0" * 16))


def test_geometry_inside_the_storage_is_read():
    assert torch.load(_archive(_tensor_pickle(1, 2, 2, 4), r0=b"\0\0\x80?" * 4)).tolist() == [1.0, 1.0]


def test_files_that_are_no_checkpoints(tmp_path):
    for content in (b"", b"hello", pickle.dumps({"a": 1})):
        path = tmp_path / "x.pt"
        path.write_bytes(content)
        with pytest.raises(RuntimeError, match="is not a PyTorch checkpoint"):
            torch.load(path)


def test_random_damage_is_an_error_or_harmless(tmp_path):
    good = saved({"w": torch.arange(50.0), "n": [1, "two"]})
    dice = random.Random(0)
    for _ in range(1500):
        bad = bytearray(good)
        for _ in range(dice.randint(1, 4)):
            bad[dice.randrange(len(bad))] = dice.randrange(256)
        if dice.random() < 0.3:
            del bad[dice.randrange(len(bad)) :]
        with contextlib.suppress(RuntimeError, pickle.UnpicklingError):
            torch.load(io.BytesIO(bytes(bad)))


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"a": 1}, path)
    with pytest.raises(Exception, match="pickle|local"):
        torch.save({"a": lambda: None}, path)
    assert torch.load(path) == {"a": 1} and [p.name for p in tmp_path.iterdir()] == ["model.pt"]


def test_map_location():
    assert again(torch.ones(2), map_location="cpu").device.type == "cpu"
    assert again(torch.ones(2), map_location="meta").device.type == "meta"
    data = saved(torch.ones(2)).replace(b"X\x03\x00\x00\x00cpu", b"X\x03\x00\x00\x00xpu")
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torch.load(io.BytesIO(data))


def test_whole_modules_need_trust():
    model = torch.nn.Linear(2, 2)
    data = saved(model)
    with pytest.raises(pickle.UnpicklingError, match="torch.nn.modules.linear.Linear"):
        torch.load(io.BytesIO(data))
    back = torch.load(io.BytesIO(data), weights_only=False)
    assert back.weight.tolist() == model.weight.tolist()


def _saved(*tensors):
    file = io.BytesIO()
    torch.save(list(tensors), file)
    file.seek(0)
    return file


def test_map_location_may_be_a_function():
    x = torch.arange(4.0)
    asked = []

    def where(storage, location):
        asked.append((location, storage.nbytes(), storage.device.type))
        return storage if location == "cpu" and storage.nbytes() == 16 else None

    a, b, c = torch.load(_saved(x, x[1:3], torch.ones(3)), map_location=where)
    assert asked == [("cpu", 16, "cpu"), ("cpu", 12, "cpu")]  # once for each storage
    assert a.tolist() == [0.0, 1.0, 2.0, 3.0] and b.tolist() == [1.0, 2.0] and c.tolist() == [1.0, 1.0, 1.0]
    b[0] = 9.0
    assert a[1].item() == 9.0


def test_map_location_may_give_another_storage():
    (a,) = torch.load(
        _saved(torch.ones(2)), map_location=lambda storage, location: torch.tensor([3.0, 4.0]).untyped_storage()
    )
    assert a.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    "function, error, text",
    [
        (
            lambda storage, location: 3,
            TypeError,
            "map_location must return a storage of 8 bytes, or None, but returned int",
        ),
        (lambda storage, location: torch.ones(1).untyped_storage(), TypeError, "returned one of 4 bytes"),
        (lambda storage: storage, TypeError, "takes 1 positional argument but 2 were given"),
        (lambda storage, location: {}["mine"], KeyError, "mine"),
    ],
)
def test_errors_of_map_location_are_the_users(function, error, text):
    with pytest.raises(error, match=text):
        torch.load(_saved(torch.ones(2)), map_location=function)


def _sparse_tensors():
    coo = torch.sparse_coo_tensor(torch.tensor([[0, 2], [1, 0]]), torch.tensor([1.0, 2.0]), (3, 4))
    return {"coo": coo, "sorted": coo.coalesce(), "csr": coo.to_sparse_csr(), "csc": coo.to_sparse_csc()}


@pytest.mark.parametrize("weights_only", [True, False])
def test_sparse_tensors_come_back_in_their_layouts(tmp_path, weights_only):
    saved = _sparse_tensors()
    torch.save(saved, tmp_path / "sparse.pt")
    loaded = torch.load(tmp_path / "sparse.pt", weights_only=weights_only)
    for name, tensor in saved.items():
        assert loaded[name].layout is tensor.layout
        assert loaded[name].shape == tensor.shape
        assert torch.equal(loaded[name].to_dense(), tensor.to_dense())
    assert not loaded["coo"].is_coalesced()
    assert loaded["sorted"].is_coalesced()


def test_a_sparse_tensor_of_a_file_must_have_its_indices_within_its_size(tmp_path):
    outside = torch.sparse_coo_tensor(torch.tensor([[5]]), torch.tensor([1.0]), (3,))
    compressed = torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([7]), torch.tensor([1.0]), (1, 3))
    for tensor, words in ((outside, "size is inconsistent with indices"), (compressed, "0 <= col_indices < 3")):
        torch.save(tensor, tmp_path / "outside.pt")
        with pytest.raises(RuntimeError, match=words):
            torch.load(tmp_path / "outside.pt")
