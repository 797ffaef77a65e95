"""What is chosen before processes communicate: engines by name and device, and modules that are spread by themselves."""

from __future__ import annotations

import functools

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import distributed as dist
from mindtorch_v2.distributed import engines
from mindtorch_v2.distributed.fsdp import wrap
from mindtorch_v2.distributed.fsdp.fully_sharded_data_parallel import _chosen

nn = torch.nn


def test_names_of_backends_are_understood() -> None:
    assert engines.choose("gloo") == engines.Choice("gloo", {})
    assert engines.choose("cpu:gloo,cuda:nccl") == engines.Choice("gloo", {})
    with pytest.raises(RuntimeError, match="doesn't have NCCL built in"):
        engines.choose("nccl")
    with pytest.raises(ValueError, match="the backends are 'mpi' and 'gloo'"):
        engines.choose("carrier pigeon")
    both = engines.Choice("gloo", {"device": "engine"})
    assert both.name == "gloo" and both.config == "cpu:gloo,device:engine"
    assert dist.get_default_backend_for_device("cpu") == "gloo"
    assert dist.get_default_backend_for_device(torch.device("npu:1")) == "hccl"
    with pytest.raises(ValueError, match="Default backend not registered for device : meta"):
        dist.get_default_backend_for_device("meta")


def _model() -> torch.nn.Module:
    inner = nn.Sequential(nn.Linear(10, 10), nn.Linear(2, 2))  # 110 and 6 elements
    return nn.Sequential(inner, nn.ModuleList([nn.Linear(20, 10)]), nn.Linear(3, 3))  # 210 and 12 more


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        (functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=100), ["0.0", "1.0"]),
        (functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=111), ["0", "1.0"]),
        (functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={nn.Sequential}), ["0"]),
        (wrap.ModuleWrapPolicy({nn.Linear}), ["0.0", "0.1", "1.0", "2"]),
        ({nn.Linear}, ["0.0", "0.1", "1.0", "2"]),
        (wrap.CustomPolicy(lambda m: isinstance(m, nn.Linear) and m.in_features > 5), ["0.0", "1.0"]),
    ],
)
def test_policies_take_the_modules_that_pytorch_takes(policy: object, names: list[str]) -> None:
    model = _model()
    known = {id(module): name for name, module in model.named_modules()}
    assert [known[id(module)] for module in _chosen(model, policy)] == names


def test_wrap_needs_its_context() -> None:
    module = nn.Linear(2, 2)
    assert wrap.wrap(module) is module
    with wrap.enable_wrap(wrapper_cls=lambda m, **given: (m, given), a=1, b=2):
        assert wrap.wrap(module, b=3) == (module, {"a": 1, "b": 3})
