"""Parameters without a shape and the layers that have them."""

from __future__ import annotations

import contextlib
import copy
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn

LAYERS = [
    (lambda: nn.LazyLinear(3), lambda: nn.Linear(4, 3), (2, 4)),
    (lambda: nn.LazyLinear(3, bias=False), lambda: nn.Linear(4, 3, bias=False), (4,)),
    (lambda: nn.LazyConv1d(4, 3, groups=2), lambda: nn.Conv1d(6, 4, 3, groups=2), (1, 6, 5)),
    (lambda: nn.LazyConv2d(4, 3, padding="same"), lambda: nn.Conv2d(2, 4, 3, padding="same"), (2, 2, 5, 5)),
    (lambda: nn.LazyConv2d(4, 3), lambda: nn.Conv2d(2, 4, 3), (2, 5, 5)),
    (lambda: nn.LazyConv3d(2, 2, bias=False), lambda: nn.Conv3d(3, 2, 2, bias=False), (1, 3, 3, 3, 3)),
    (lambda: nn.LazyConvTranspose1d(4, 3), lambda: nn.ConvTranspose1d(2, 4, 3), (1, 2, 5)),
    (lambda: nn.LazyConvTranspose2d(4, 3, 2, 1, 1), lambda: nn.ConvTranspose2d(2, 4, 3, 2, 1, 1), (1, 2, 5, 5)),
    (lambda: nn.LazyConvTranspose3d(2, 2), lambda: nn.ConvTranspose3d(3, 2, 2), (1, 3, 3, 3, 3)),
    (nn.LazyBatchNorm1d, lambda: nn.BatchNorm1d(4), (3, 4)),
    (nn.LazyBatchNorm2d, lambda: nn.BatchNorm2d(4), (3, 4, 2, 2)),
    (lambda: nn.LazyBatchNorm3d(affine=False), lambda: nn.BatchNorm3d(4, affine=False), (3, 4, 2, 2, 2)),
    (nn.LazyInstanceNorm1d, lambda: nn.InstanceNorm1d(4, affine=True, track_running_stats=True), (3, 4, 5)),
    (lambda: nn.LazyInstanceNorm2d(track_running_stats=False), lambda: nn.InstanceNorm2d(4, affine=True), (3, 4, 5, 5)),
    (
        lambda: nn.LazyInstanceNorm3d(affine=False, track_running_stats=False),
        lambda: nn.InstanceNorm3d(4),
        (3, 4, 2, 2, 2),
    ),
]


@pytest.mark.parametrize(("lazy", "plain", "shape"), LAYERS)
def test_the_first_call_makes_the_ordinary_layer(lazy, plain, shape):
    x = torch.randn(shape)
    torch.manual_seed(1)
    expected = plain()
    made = lazy()
    assert type(made) is not type(expected)
    torch.manual_seed(1)
    result = made(x)
    assert type(made) is type(expected)
    assert repr(made) == repr(expected)
    assert torch.equal(result, expected(x))
    state = expected.state_dict()
    assert made.state_dict().keys() == state.keys()
    assert all(torch.equal(value, state[key]) for key, value in made.state_dict().items())
    assert not made._forward_pre_hooks and not made._load_state_dict_pre_hooks


@pytest.mark.parametrize(("lazy", "plain", "shape"), LAYERS)
def test_loading_a_state_gives_shapes(lazy, plain, shape):
    source = plain()
    made = lazy()
    made.load_state_dict(source.state_dict())
    x = torch.randn(shape)
    assert torch.equal(made.eval()(x), source.eval()(x))
    assert repr(made) == repr(source)


def test_what_an_uninitialized_parameter_answers_and_refuses():
    p = nn.UninitializedParameter(dtype=torch.float64)
    assert isinstance(p, nn.Parameter) and nn.parameter.is_lazy(p)
    assert (p.requires_grad, p.dtype, str(p.device), p.grad, p.is_leaf) == (True, torch.float64, "cpu", None, True)
    assert repr(p) == "<UninitializedParameter>"
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
        _ = p.shape
    for use in (lambda: p + 1, lambda: torch.relu(p), p.numel, p.dim, lambda: len(p), lambda: p.view(1)):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
            use()
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized parameter or buffer"):
        p.share_memory_()
    for other in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert nn.parameter.is_lazy(other) and other.dtype is torch.float64
    p.materialize((2, 3))
    assert type(p) is nn.Parameter and p.shape == (2, 3) and not nn.parameter.is_lazy(p)
    (p * 0 + 1).sum().backward()
    assert p.grad.shape == (2, 3)
    b = nn.UninitializedBuffer(persistent=False)
    assert isinstance(b, nn.Buffer) and not b.requires_grad
    b.materialize((2,), dtype=torch.int64)
    assert type(b) is torch.Tensor and b.dtype is torch.int64


@pytest.mark.parametrize("observed", [False, True])
def test_modules_before_the_first_call(observed):
    with torch.profiler.profile() if observed else contextlib.nullcontext():
        layer = nn.LazyLinear(3).double()
    assert layer.has_uninitialized_params()
    assert list(layer.state_dict()) == ["weight", "bias"]
    assert layer.weight.dtype is torch.float64
    other = nn.LazyLinear(3)
    other.load_state_dict(layer.state_dict())
    assert nn.parameter.is_lazy(other.weight)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
        nn.Linear(2, 3).load_state_dict(layer.state_dict())
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert copied(torch.ones(1, 2, dtype=torch.float64)).shape == (1, 3)
        assert type(copied) is nn.Linear
    assert type(layer) is nn.LazyLinear, "copies are independent"
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    layer(torch.ones(1, 5, dtype=torch.float64)).sum().backward()
    before = layer.weight.clone()
    optimizer.step()
    assert torch.allclose(layer.weight, before - 0.1)


def test_own_lazy_modules():
    class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, x, *, power=1):
            if self.has_uninitialized_params():
                self.weight.materialize(x.shape[-1:])
                nn.init.constant_(self.weight, power)

        def forward(self, x, *, power=1):
            return self.weight * x

    class Forgetful(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, *args):
            pass

    assert nn.Sequential(Scale())(torch.ones(2, 3)).tolist() == [[1.0] * 3] * 2
    assert Scale()(torch.ones(3), power=4).tolist() == [4.0] * 3
    with pytest.raises(RuntimeError, match="module Forgetful has not been fully initialized"):
        Forgetful()(torch.ones(1))
    with pytest.raises(
        RuntimeError, match="Expected 3D .unbatched. or 4D .batched. input to LazyConv2d, but got input of size"
    ):
        nn.LazyConv2d(1, 1)(torch.ones(3))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.LazyConv2d(4, 1, groups=2)(torch.ones(1, 3, 2, 2))
