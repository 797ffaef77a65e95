"""Whole objects are written under the paths that PyTorch has, and read from them."""

from __future__ import annotations

import copy
import importlib
import io
import pickletools
import zipfile
from typing import Any

import pytest

import mindtorch_v2 as torch

nn, optim = torch.nn, torch.optim
HOMES = {
    "torch.nn.modules.activation": [nn.MultiheadAttention],
    "torch.nn.modules.batchnorm": [nn.BatchNorm1d, nn.LazyBatchNorm1d, nn.LazyBatchNorm3d],
    "torch.nn.modules.container": [nn.Sequential, nn.ParameterList, nn.ParameterDict],
    "torch.nn.modules.conv": [nn.Conv2d, nn.LazyConv1d, nn.LazyConvTranspose3d],
    "torch.nn.modules.instancenorm": [nn.LazyInstanceNorm2d],
    "torch.nn.modules.linear": [nn.Linear, nn.LazyLinear],
    "torch.nn.parameter": [nn.UninitializedParameter],
    "torch.optim": [optim.Adafactor, optim.Muon],
    "torch.optim.adam": [optim.Adam],
    "torch.optim.adamw": [optim.AdamW],
    "torch.optim.asgd": [optim.ASGD],
    "torch.optim.rmsprop": [optim.RMSprop],
    "torch.optim.lr_scheduler": [
        optim.lr_scheduler.StepLR,
        optim.lr_scheduler.OneCycleLR,
        optim.lr_scheduler.LRScheduler,
    ],
    "torch.distributions.transforms": [torch.distributions.ExpTransform, torch.distributions.ComposeTransform],
}


def globals_in(value: Any) -> set[str]:
    """What the pickle of a saved value names, as "module name"."""
    written = io.BytesIO()
    torch.save(value, written)
    pickle = zipfile.ZipFile(written).read("archive/data.pkl")
    return {str(argument) for code, argument, _ in pickletools.genops(pickle) if code.name == "GLOBAL"}


@pytest.mark.parametrize("home, kind", [(home, kind) for home, kinds in HOMES.items() for kind in kinds])
def test_classes_are_written_under_their_homes(home: str, kind: type) -> None:
    assert globals_in(kind) == {f"{home} {kind.__name__}"}
    assert getattr(importlib.import_module(home.replace("torch", "mindtorch_v2", 1)), kind.__name__) is kind


@pytest.mark.parametrize("kind", [kind for kinds in HOMES.values() for kind in kinds])
def test_what_was_written_is_read(kind: type) -> None:
    written = io.BytesIO()
    torch.save([kind], written)
    written.seek(0)
    assert torch.load(written, weights_only=False) == [kind]


def test_settings_have_the_state_that_pytorch_gives_them() -> None:
    settings = nn.modules.linear_cross_entropy_options.LinearCrossEntropyOptions(batch_chunk_size=2)
    assert settings.__getstate__() == [False, 2, "auto", "auto", None]  # type: ignore[operator]


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_layers_have_the_state_that_pytorch_reads(kind: type) -> None:
    layer = kind(2, 3)
    state = layer.__getstate__()
    assert [id(w) for w in state["_flat_weights"]] == [id(p) for p in layer.parameters()]
    copied = copy.deepcopy(layer)
    assert "_flat_weights" not in vars(copied)
    assert torch.equal(copied(torch.ones(1, 2))[0], layer(torch.ones(1, 2))[0])
