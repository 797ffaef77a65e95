"""Checkpoints without contents, and what a checkpoint names."""

import io

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.serialization import get_unsafe_globals_in_checkpoint, safe_globals, skip_data


def test_what_is_saved_without_contents_reads_as_zeros() -> None:
    file, whole = io.BytesIO(), io.BytesIO()
    with skip_data():
        torch.save({"a": torch.ones(3), "b": torch.ones(2, dtype=torch.int8)}, file)
    torch.save({"a": torch.ones(3), "b": torch.ones(2, dtype=torch.int8)}, whole)
    assert len(file.getvalue()) == len(whole.getvalue())
    file.seek(0)
    assert {k: v.tolist() for k, v in torch.load(file).items()} == {"a": [0, 0, 0], "b": [0, 0]}
    whole.seek(0)
    with skip_data():
        loaded = torch.load(whole)
    assert loaded["a"].shape == (3,) and loaded["b"].dtype is torch.int8
    whole.seek(0)
    assert torch.load(whole)["a"].tolist() == [1, 1, 1]


def test_names_that_the_loader_refuses() -> None:
    file = io.BytesIO()
    torch.save([nn.Linear(1, 1), torch.ones(1)], file)
    file.seek(0)
    assert get_unsafe_globals_in_checkpoint(file) == ["torch.nn.modules.linear.Linear"]
    file.seek(0)
    with safe_globals([nn.Linear]):
        assert get_unsafe_globals_in_checkpoint(file) == []
