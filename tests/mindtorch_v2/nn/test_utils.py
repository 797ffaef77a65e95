"""nn.utils: parametrizations, fusion, sequences, vectors."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn.utils import parametrize
from mindtorch_v2.nn.utils.parametrizations import spectral_norm, weight_norm


class Symmetric(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, x: Any) -> Any:
        return x.triu()


def test_a_parametrized_weight_is_computed_and_trained() -> None:
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert torch.equal(layer.weight, layer.weight.t()) and parametrize.is_parametrized(layer, "weight")
    assert [n for n, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    assert type(layer).__name__ == "ParametrizedLinear"
    layer(torch.ones(1, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    layer.weight = torch.eye(3)
    assert torch.equal(layer.weight, torch.eye(3))
    with parametrize.cached():
        assert layer.weight is layer.weight
    parametrize.remove_parametrizations(layer, "weight")
    assert (
        type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter) and torch.equal(layer.weight, torch.eye(3))
    )


def test_parametrizations_must_keep_shape_and_type() -> None:
    class First(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[0]

    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(layer, "weight", First())
    assert not parametrize.is_parametrized(layer)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer"):
        parametrize.register_parametrization(layer, "nothing", First())


def test_weight_norm_keeps_the_value_and_splits_it() -> None:
    layer = nn.Linear(3, 2)
    before = layer.weight.detach().clone()
    weight_norm(layer)
    assert torch.allclose(layer.weight, before)
    assert layer.parametrizations.weight.original0.shape == (2, 1)
    layer(torch.ones(1, 3)).sum().backward()
    assert layer.parametrizations.weight.original1.grad is not None


def test_spectral_norm_bounds_the_largest_singular_value() -> None:
    torch.manual_seed(0)
    layer = spectral_norm(nn.Linear(5, 4), n_power_iterations=20)
    layer(torch.ones(1, 5))
    layer.eval()
    assert torch.linalg.svdvals(layer.weight.detach())[0].item() == pytest.approx(1, abs=1e-3)


def test_fusion_keeps_the_output() -> None:
    torch.manual_seed(0)
    conv, bn = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
    bn(conv(torch.randn(4, 3, 6, 6)))
    conv.eval(), bn.eval()
    x = torch.randn(2, 3, 6, 6)
    assert torch.allclose(nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5)
    linear, bn1 = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval()
    bn1.running_mean.add_(2)
    y = torch.randn(5, 3)
    assert torch.allclose(nn.utils.fuse_linear_bn_eval(linear, bn1)(y), bn1(linear(y)), atol=1e-5)


def test_skip_init() -> None:
    layer = nn.utils.skip_init(nn.Linear, 3, 2)
    assert layer.weight.shape == (2, 3) and not layer.weight.is_meta


def test_packed_sequences_round_trip() -> None:
    rnn = nn.utils.rnn
    parts = [torch.arange(float(n)).unsqueeze(1) for n in (2, 4, 3)]
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 3, 2, 1] and packed.double().data.dtype is torch.float64
    for got, want in zip(rnn.unpack_sequence(packed), parts):
        assert torch.equal(got, want)


def test_gradients_flow_through_packing() -> None:
    x = torch.ones(3, 2, 1, requires_grad=True)
    packed = nn.utils.rnn.pack_padded_sequence(x, [3, 1])
    nn.utils.rnn.pad_packed_sequence(packed)[0].sum().backward()
    assert x.grad.squeeze(-1).tolist() == [[1, 1], [1, 0], [1, 0]]


def test_clip_warns_about_an_empty_generator() -> None:
    with pytest.warns(UserWarning, match="empty generator"):
        nn.utils.clip_grad_norm_((p for p in ()), 1.0)


def test_clip_without_foreach_agrees() -> None:
    norms = []
    for foreach in (True, False):
        p = nn.Parameter(torch.ones(3))
        p.grad = torch.tensor([1.0, 2.0, 2.0])
        norms.append((nn.utils.clip_grad_norm_([p], 1.0, foreach=foreach).item(), p.grad.tolist()))
    assert norms[0] == norms[1] and norms[0][0] == 3
