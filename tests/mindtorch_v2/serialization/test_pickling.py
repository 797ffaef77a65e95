"""Functions, types and formats of the public modules travel by name: plain pickle, copy and deepcopy give the same
object.
"""

from __future__ import annotations

import copy
import importlib
import pickle
import types

import pytest

import mindtorch_v2 as torch

MODULES = (
    "",
    "nn.functional",
    "linalg",
    "special",
    "nn.init",
    "nn",
    "optim",
    "optim.lr_scheduler",
    "autograd",
    "utils.data",
    "nn.utils",
)


def _public(module):
    for name in dir(module):
        value = None if name.startswith("_") else getattr(module, name)
        if callable(value) or isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            yield name, value


def _unfaithful(owner, named):
    found = []
    for name, value in named:
        try:
            copies = [pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)]
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            found.append(f"{owner}.{name}: {error}")
        else:
            found += [f"{owner}.{name}: {c!r}" for c in copies if c is not value][:1]
    return found


@pytest.mark.parametrize("name", MODULES)
def test_public_names_pickle(name):
    module = importlib.import_module(f"mindtorch_v2.{name}" if name else "mindtorch_v2")
    assert (
        _unfaithful(
            name,
            [(n, v) for n, v in _public(module) if not isinstance(v, types.ModuleType) and n not in ("aten", "public")],
        )
        == []
    )


def test_methods_pickle():
    named = [(n, getattr(torch.Tensor, n)) for n in dir(torch.Tensor) if not n.startswith("_")]
    assert _unfaithful("Tensor", [(n, v) for n, v in named if callable(v)]) == []


def test_one_function_has_one_object_wherever_it_is_shown():
    for name in ("conv2d", "avg_pool1d", "pairwise_distance", "relu_", "pixel_shuffle"):
        assert getattr(torch.nn.functional, name) is getattr(torch, name)


def test_modules_that_hold_functions_pickle():
    class Layer:
        def __init__(self):
            self.activation, self.kind = torch.nn.functional.gelu, torch.bool

    made = copy.deepcopy(Layer())
    assert made.activation is torch.nn.functional.gelu and made.kind is torch.bool
