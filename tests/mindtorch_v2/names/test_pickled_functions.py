"""What is public can be handed to another process: functions, classes and dtypes are pickled by their names."""

from __future__ import annotations

import pickle
import types
from typing import Any

import pytest

import mindtorch_v2 as torch

ROOMS = {
    "torch": torch,
    "nn": torch.nn,
    "nn.functional": torch.nn.functional,
    "nn.init": torch.nn.init,
    "linalg": torch.linalg,
    "special": torch.special,
    "fft": torch.fft,
    "optim": torch.optim,
    "optim.lr_scheduler": torch.optim.lr_scheduler,
    "autograd": torch.autograd,
    "func": torch.func,
    "distributions": torch.distributions,
    "profiler": torch.profiler,
}


@pytest.mark.parametrize("room", ROOMS)
def test_public_functions_classes_and_dtypes_come_back_as_themselves(room: str) -> None:
    kinds = (types.FunctionType, types.BuiltinFunctionType, type, torch.dtype, torch.layout, torch.memory_format)
    lost: list[Any] = []
    for name in dir(ROOMS[room]):
        value = getattr(ROOMS[room], name)
        if name.startswith("_") or not isinstance(value, kinds):
            continue
        try:
            if pickle.loads(pickle.dumps(value)) is not value:
                lost.append(name)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            lost.append((name, error))
    assert lost == []
