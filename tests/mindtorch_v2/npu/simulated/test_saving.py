"""Checkpoints of tensors on the device: what shared memory shares it again."""

from __future__ import annotations

import io
import zipfile

import pytest

import mindtorch_v2 as torch


def saved() -> tuple[bytes, dict[str, torch.Tensor]]:
    x = torch.arange(12.0).npu().reshape(3, 4)
    state = {
        "x": x,
        "row": x[1],
        "turned": x.t(),
        "odd": x.reshape(-1)[1::2],
        "bits": x.view(torch.int32),
        "other": torch.ones(3).npu(),
        "weight": torch.nn.Parameter(x[2]),
        "nothing": torch.empty(0).npu(),
    }
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue(), state


def test_a_shared_storage_is_written_once():
    data, _ = saved()
    sizes = {
        i.filename.rpartition("/")[2]: i.file_size
        for i in zipfile.ZipFile(io.BytesIO(data)).infolist()
        if "/data/" in i.filename
    }
    assert sorted(sizes.values()) == [0, 12, 48]


@pytest.mark.parametrize("where, device", [(None, "npu:0"), ("cpu", "cpu"), ("npu:1", "npu:1")])
def test_views_are_views_again(where, device):
    data, state = saved()
    loaded = torch.load(io.BytesIO(data), map_location=where)
    for name, t in state.items():
        assert str(loaded[name].device) == device and loaded[name].stride() == t.stride()
        assert loaded[name].tolist() == t.tolist()
        assert loaded[name].storage_offset() == t.storage_offset()
    loaded["row"].fill_(7.0)
    assert loaded["x"].tolist() == [[0.0, 1.0, 2.0, 3.0], [7.0] * 4, [8.0, 9.0, 10.0, 11.0]]
    assert [r[1] for r in loaded["turned"].tolist()] == [7.0] * 4
    assert loaded["odd"].tolist() == [1.0, 3.0, 7.0, 7.0, 9.0, 11.0]
    assert isinstance(loaded["weight"], torch.nn.Parameter) and loaded["weight"].requires_grad
    assert loaded["other"].tolist() == [1.0] * 3


def test_from_the_device_over_the_cpu_back_to_the_device():
    data, _ = saved()
    file = io.BytesIO()
    torch.save(torch.load(io.BytesIO(data), map_location="cpu"), file)
    back = torch.load(io.BytesIO(file.getvalue()), map_location="npu")
    back["x"].zero_()
    assert back["row"].tolist() == [0.0] * 4 and back["x"].device == torch.device("npu:0")


def test_tied_weights_of_a_model_stay_tied():
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.head = torch.nn.Embedding(5, 3), torch.nn.Linear(3, 5, bias=False)
            self.head.weight = self.embedding.weight

    model = Tied().npu()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    assert sum("/data/" in n for n in zipfile.ZipFile(io.BytesIO(file.getvalue())).namelist()) == 1
    loaded = torch.load(io.BytesIO(file.getvalue()))
    assert loaded["embedding.weight"].data_ptr() == loaded["head.weight"].data_ptr()
