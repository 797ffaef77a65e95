"""Checkpoints on disk: PyTorch's format, read and written; damaged ones and those of earlier versions."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.distributed.checkpoint import (
    CheckpointException,
    DefaultLoadPlanner,
    FileSystemReader,
    HuggingFaceStorageReader,
    HuggingFaceStorageWriter,
    async_save,
    load,
    load_state_dict,
    save,
    save_state_dict,
)
from mindtorch_v2.distributed.checkpoint.format_utils import dcp_to_torch_save
from mindtorch_v2.distributed.checkpoint.metadata import BytesStorageMetadata, TensorStorageMetadata
from mindtorch_v2.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from mindtorch_v2.utils.safetensors import NAMES as SAFETENSORS_NAMES
from mindtorch_v2.utils.safetensors import load_file

# Written by PyTorch 2.13 in two processes: rows and columns are DTensors, Shard(0) and Shard(1) of (3, 2) and (2, 3).
RECORDED = Path(__file__).parent / "data" / "torch_checkpoint"


def _counting(*shape: int) -> Any:
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)


def _blank() -> dict[str, Any]:
    return {
        "rows": torch.zeros(3, 2),
        "columns": torch.zeros(2, 3),
        "half": torch.zeros(2, dtype=torch.bfloat16),
        "number": torch.tensor(0),
        "state": {0: {"list": [torch.zeros(1), {"a": ""}], "plain": None, "empty": {}}},
    }


def _check(state: dict[str, Any]) -> None:
    assert torch.equal(state["rows"], _counting(3, 2))
    assert torch.equal(state["columns"], _counting(2, 3))
    assert state["half"].tolist() == [1.0, 2.0] and state["number"].item() == 7
    inner = state["state"][0]
    assert inner["list"][0].tolist() == [1.0] and inner["list"][1] == {"a": "x"}
    assert inner["plain"] == [1, 2] and inner["empty"] == {}


def test_a_checkpoint_of_pytorch_is_read(tmp_path: Path) -> None:
    state = _blank()
    load(state, checkpoint_id=RECORDED)
    _check(state)
    found = FileSystemReader(RECORDED).read_metadata().state_dict_metadata
    assert isinstance(found["columns"], TensorStorageMetadata)
    assert [(tuple(c.offsets), tuple(c.sizes)) for c in found["columns"].chunks] == [((0, 0), (2, 2)), ((0, 2), (2, 1))]
    assert found["half"].properties.dtype is torch.bfloat16
    assert isinstance(found["state.0.plain"], BytesStorageMetadata)
    dcp_to_torch_save(RECORDED, tmp_path / "whole.pt")
    assert torch.equal(torch.load(tmp_path / "whole.pt")["columns"], _counting(2, 3))


def test_a_checkpoint_is_written_under_the_names_of_pytorch(tmp_path: Path) -> None:
    state = _blank()
    load(state, checkpoint_id=RECORDED)
    save(state, checkpoint_id=tmp_path)

    class Names(pickle.Unpickler):
        """Collects what a pickle names."""

        def find_class(self, module: str, name: str) -> Any:
            found.add((module, name))
            return super().find_class(module.replace("torch", "mindtorch_v2", 1), name)

    names = []
    for folder in (RECORDED, tmp_path):
        found: set[tuple[str, str]] = set()
        with open(folder / ".metadata", "rb") as file:
            Names(file).load()
        names.append(found - {("pathlib", "PosixPath")})  # PyTorch keeps the folder as a path
    assert names[0] == names[1]
    again = _blank()
    load(again, checkpoint_id=tmp_path)
    _check(again)
    dcp_to_torch_save(tmp_path, tmp_path / "whole.pt")
    assert list(torch.load(tmp_path / "whole.pt")["state"]) == [0]  # not "0"


def test_a_view_is_written_without_the_memory_around_it(tmp_path: Path) -> None:
    save({"part": torch.zeros(1_000_000)[3:5]}, checkpoint_id=tmp_path)
    (file,) = tmp_path.glob("*.distcp")
    assert file.stat().st_size < 10_000


def test_what_a_checkpoint_lacks_stays_with_allow_partial_load() -> None:
    state = {"rows": torch.zeros(3, 2), "other": 5}
    with pytest.raises(CheckpointException, match="Missing key in checkpoint state_dict: other"):
        load(dict(state), checkpoint_id=RECORDED)
    load(state, checkpoint_id=RECORDED, planner=DefaultLoadPlanner(allow_partial_load=True))
    assert state["other"] == 5 and torch.equal(state["rows"], _counting(3, 2))


def test_planners_that_nobody_would_call_are_refused(tmp_path: Path) -> None:
    class Mine(DefaultLoadPlanner):
        pass

    with pytest.raises(NotImplementedError, match="got Mine"):
        load({}, checkpoint_id=RECORDED, planner=Mine())
    with pytest.raises(NotImplementedError, match="got DefaultLoadPlanner"):
        save({}, checkpoint_id=tmp_path, planner=DefaultLoadPlanner())
    with pytest.raises(NotImplementedError, match="got object"):
        async_save({}, checkpoint_id=tmp_path, planner=object())


def test_the_older_functions(tmp_path: Path) -> None:
    save_state_dict({"a": torch.ones(2)}, torch.distributed.checkpoint.FileSystemWriter(tmp_path), no_dist=True)
    state = {"a": torch.zeros(2)}
    load_state_dict(state, FileSystemReader(tmp_path))
    assert state["a"].tolist() == [1.0, 1.0]


class _Harmful:
    def __reduce__(self) -> Any:
        return print, ("run by the checkpoint",)


def test_metadata_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value in (_Harmful(), [1], {"a": 1}):
        (tmp_path / ".metadata").write_bytes(pickle.dumps(value))
        with pytest.raises(CheckpointException, match="is damaged, or no checkpoint's"):
            load({"a": 1}, checkpoint_id=tmp_path)
    assert capsys.readouterr().out == ""


def test_every_cut_of_the_metadata_is_an_error(tmp_path: Path) -> None:
    shutil.copytree(RECORDED, tmp_path, dirs_exist_ok=True)
    data = (RECORDED / ".metadata").read_bytes()
    for length in range(0, len(data), 37):
        (tmp_path / ".metadata").write_bytes(data[:length])
        with pytest.raises(CheckpointException):
            load(_blank(), checkpoint_id=tmp_path)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    shutil.copytree(RECORDED, tmp_path, dirs_exist_ok=True)
    (tmp_path / "__0_0.distcp").write_bytes(b"\0" * 3154)
    with pytest.raises(CheckpointException, match=r"__0_0.distcp' of the checkpoint is damaged"):
        load(_blank(), checkpoint_id=tmp_path)
    (tmp_path / "__0_0.distcp").write_bytes(b"")
    with pytest.raises(CheckpointException, match=r"__0_0.distcp' of the checkpoint is cut off"):
        load(_blank(), checkpoint_id=tmp_path)
    (tmp_path / "__0_0.distcp").unlink()
    with pytest.raises(CheckpointException, match=r"__0_0.distcp' of the checkpoint cannot be read"):
        load(_blank(), checkpoint_id=tmp_path)


def test_the_first_format_of_this_package_is_read(tmp_path: Path) -> None:
    rows = torch.arange(6, dtype=torch.int16)
    data = rows._array.tobytes()
    save({"n": 3}, checkpoint_id=tmp_path / "new")
    (value,) = (tmp_path / "new").glob("*.distcp")
    (tmp_path / "0.distcp").write_bytes(data[:8] + data[8:])
    shutil.copy(value, tmp_path / "1.distcp")
    pieces = [
        {"file": "0.distcp", "at": 0, "nbytes": 8, "first": 0, "rows": 2},
        {"file": "0.distcp", "at": 8, "nbytes": 4, "first": 2, "rows": 1},
    ]
    whole = {"file": "1.distcp", "at": 0, "nbytes": value.stat().st_size, "first": 0, "rows": 1}
    entries = {
        "t": {"path": ["t"], "dtype": "int16", "shape": [3, 2], "spread": True, "lists": [], "pieces": pieces},
        "n": {"path": ["n"], "dtype": "", "shape": [], "spread": False, "pieces": [whole]},
    }
    (tmp_path / ".metadata").write_text(json.dumps({"format": 1, "entries": entries}))
    state = {"t": torch.zeros(3, 2, dtype=torch.int16), "n": 0}
    load(state, checkpoint_id=tmp_path)
    assert state["t"].tolist() == [[0, 1], [2, 3], [4, 5]] and state["n"] == 3


def _trained() -> tuple[Any, Any]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    net[1].bias.requires_grad = False
    groups = [{"params": [net[1].weight], "lr": 0.5}, {"params": [net[0].weight, net[0].bias]}]
    optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return net, optimizer


@pytest.mark.parametrize("flat", [False, True])
def test_states_of_optimizers_call_parameters_by_name(flat: bool) -> None:
    net, optimizer = _trained()
    options = StateDictOptions(flatten_optimizer_state_dict=flat)
    state = get_optimizer_state_dict(net, optimizer, options=options)
    if flat:
        assert state["param_groups.1.weight.lr"] == 0.5
        assert torch.equal(state["state.0.bias.momentum_buffer"], optimizer.state[net[0].bias]["momentum_buffer"])
    else:
        assert [group["params"] for group in state["param_groups"]] == [["1.weight"], ["0.weight", "0.bias"]]
        assert sorted(state["state"]) == ["0.bias", "0.weight", "1.weight"]
    other = torch.optim.SGD([*net[0].parameters(), net[1].weight], lr=3.0, momentum=0.1)
    if flat:
        set_optimizer_state_dict(net, other, state, options=options)
        assert other.param_groups[0]["lr"] == 0.1 and other.param_groups[0]["momentum"] == 0.9
    else:
        again = torch.optim.SGD(
            [{"params": [net[1].weight]}, {"params": list(net[0].parameters())}], lr=3.0, momentum=0.1
        )
        set_optimizer_state_dict(net, again, state, options=options)
        assert [group["lr"] for group in again.param_groups] == [0.5, 0.1]
        other = again
    for p in (net[0].weight, net[0].bias, net[1].weight):
        assert torch.equal(other.state[p]["momentum_buffer"], optimizer.state[p]["momentum_buffer"])
    with pytest.raises(RuntimeError, match="no parameter '0.weight'"):
        set_optimizer_state_dict(net, other, {"state": {}, "param_groups": [{"params": ["1.weight"]}]})


def test_states_of_models() -> None:
    net, _ = _trained()
    names = sorted(get_model_state_dict(net, options=StateDictOptions(ignore_frozen_params=True)))
    assert names == ["0.bias", "0.weight", "1.weight"]

    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = net  # not a wrapper

    assert sorted(get_model_state_dict(Holder()))[0] == "module.0.bias"
    assert sorted(get_model_state_dict(nn.DataParallel(net)))[0] == "0.bias"
    with pytest.raises(NotImplementedError, match="submodules"):
        get_model_state_dict(net, submodules={net[0]})


def test_safetensors_files(tmp_path: Path) -> None:
    state = {
        "a.weight": _counting(3, 2),
        "b": {"half": torch.ones(2, dtype=torch.bfloat16), "flag": torch.tensor([True, False])},
        "n": torch.tensor(5, dtype=torch.uint8),
        "none": torch.zeros(0, 3),
    }
    writer = HuggingFaceStorageWriter(tmp_path, {"b.half": 2})
    save(state, storage_writer=writer)
    header = (tmp_path / "model-00002-of-00002.safetensors").read_bytes()
    size = int.from_bytes(header[:8], "little")
    told = {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}
    assert json.loads(header[8 : 8 + size]) == {"__metadata__": {"format": "pt"}, "b.half": told}
    assert header[8 + size :] == b"\x80\x3f\x80\x3f" and size % 8 == 0
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == 24 + 4 + 2 + 1
    assert index["weight_map"]["n"] == "model-00001-of-00002.safetensors"
    blank = {
        "a.weight": torch.zeros(3, 2),
        "b": {"half": torch.zeros(2), "flag": torch.tensor([False, False])},
        "n": torch.tensor(0),
        "none": torch.ones(0, 3),
    }
    load(blank, storage_reader=HuggingFaceStorageReader(tmp_path))
    assert torch.equal(blank["a.weight"], state["a.weight"]) and blank["b"]["half"].tolist() == [1, 1]
    assert blank["b"]["flag"].tolist() == [True, False] and blank["n"].item() == 5


def test_what_safetensors_files_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(CheckpointException, match="'n': safetensors files hold tensors only, got int"):
        save({"n": 3}, storage_writer=HuggingFaceStorageWriter(tmp_path))
    with pytest.raises(NotImplementedError, match="enable_consolidation"):
        HuggingFaceStorageWriter(tmp_path, save_distributed=True)
    with pytest.raises(NotImplementedError, match="written by save alone"):
        async_save({}, storage_writer=HuggingFaceStorageWriter(tmp_path))
    with pytest.raises(CheckpointException, match="no safetensors files"):
        load({}, storage_reader=HuggingFaceStorageReader(tmp_path))
    for content in (b"\xff" * 8, b"", (4).to_bytes(8, "little") + b"[1]]", (2).to_bytes(8, "little") + b"[]"):
        (tmp_path / "model.safetensors").write_bytes(content)
        with pytest.raises(CheckpointException, match="is no safetensors file, or is damaged"):
            load({}, storage_reader=HuggingFaceStorageReader(tmp_path))


def _safetensors(text: str, data: bytes = b"") -> bytes:
    return len(text).to_bytes(8, "little") + text.encode() + data


@pytest.mark.parametrize(
    "header",
    [
        "[" * 100_000,
        '{"a":' * 3_000 + "1" + "}" * 3_000,
        '{"a":{"dtype":"F32","shape":[1e400],"data_offsets":[0,4]}}',
        '{"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}}',
        '{"a":{"dtype":"F32","shape":[true],"data_offsets":[0,4]}}',
        '{"a":{"dtype":"F32","shape":[-1],"data_offsets":[4,0]}}',
        '{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}',
        '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}',
        '{"a":{"dtype":["F32"],"shape":[1],"data_offsets":[0,4]}}',
        '{"a":{"dtype":"F32","shape":[4611686018427387905,4],"data_offsets":[0,16]}}',
        '{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,4]}}',
    ],
)
def test_hostile_safetensors_files(tmp_path: Path, header: str) -> None:
    (tmp_path / "model.safetensors").write_bytes(_safetensors(header, bytes(16)))
    with pytest.raises(CheckpointException, match="is no safetensors file, or is damaged"):
        load({"a": torch.zeros(1)}, storage_reader=HuggingFaceStorageReader(tmp_path))


@pytest.mark.parametrize("dtype", SAFETENSORS_NAMES)
def test_types_have_the_names_of_the_format(tmp_path: Path, dtype: torch.dtype) -> None:
    """The format's own library reads them."""
    save({"a": torch.ones(3).to(dtype)}, storage_writer=HuggingFaceStorageWriter(tmp_path))
    found = load_file(tmp_path / "model-00001-of-00001.safetensors")["a"]
    assert found.dtype is dtype and found.to(torch.float32).tolist() == [1, 1, 1]
    blank = {"a": torch.zeros(3).to(dtype)}
    load(blank, storage_reader=HuggingFaceStorageReader(tmp_path))
    assert blank["a"].to(torch.float32).tolist() == [1, 1, 1]


def test_names_of_types_that_earlier_versions_wrote(tmp_path: Path) -> None:
    header = (
        '{"a":{"dtype":"F8_E4M3FN","shape":[2],"data_offsets":[0,2]},'
        '"c":{"dtype":"C128","shape":[],"data_offsets":[2,18]}}'
    )
    (tmp_path / "model.safetensors").write_bytes(_safetensors(header, b"\x38\x38" + bytes(16)))
    blank = {"a": torch.zeros(2), "c": torch.tensor(1j, dtype=torch.complex128)}
    load(blank, storage_reader=HuggingFaceStorageReader(tmp_path))
    assert blank["a"].tolist() == [1, 1] and blank["c"].item() == 0
    with pytest.raises(CheckpointException, match="'c' has type torch.complex128, which safetensors files do not have"):
        save(blank, storage_writer=HuggingFaceStorageWriter(tmp_path))
