"""Automatic mixed precision: what is cast where, what is kept, what a profile shows; the scaling of gradients."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._dispatch import autocast as casting
from mindtorch_v2._dispatch import modes

F = nn.functional


def names(function: Any) -> list[str]:
    with torch.profiler.profile() as prof:
        function()
    return [e.name for e in prof.events()]


X = torch.arange(8.0).reshape(2, 4) / 7
# What PyTorch 2.13 gives inside torch.autocast("cpu", torch.bfloat16) for float32 inputs, unless the expression says
# otherwise.
TYPES = {
    "torch.mm(x, x.t())": torch.bfloat16,
    "x @ x.t()": torch.bfloat16,
    "torch.matmul(x[0], x[0])": torch.bfloat16,
    "F.linear(x, x)": torch.bfloat16,
    "torch.einsum('ij,kj->ik', x, x)": torch.bfloat16,
    "torch.tensordot(x, x, dims=([1], [1]))": torch.bfloat16,
    "F.conv1d(x[None], torch.ones(2, 2, 1))": torch.bfloat16,
    "F.prelu(x, torch.ones(1))": torch.bfloat16,
    "F.scaled_dot_product_attention(x[None], x[None], x[None])": torch.bfloat16,
    "nn.LSTM(4, 4)(x)[0]": torch.bfloat16,
    "torch.cat([x, x.bfloat16()])": torch.float32,
    "torch.stack([x.bfloat16(), x.bfloat16()])": torch.bfloat16,
    "F.mse_loss(x.bfloat16(), x.bfloat16())": torch.float32,
    "F.cross_entropy(x.bfloat16(), torch.tensor([0, 1]))": torch.float32,
    "F.binary_cross_entropy(x.bfloat16().sigmoid(), x.sigmoid())": torch.float32,
    "x.bfloat16().prod()": torch.float32,
    "torch.cdist(x.bfloat16(), x.bfloat16())": torch.float32,
    "x.bfloat16().softmax(-1)": torch.bfloat16,
    "F.layer_norm(x.bfloat16(), (4,))": torch.bfloat16,
    "torch.mv(x, x[0])": torch.float32,
    "torch.dot(x[0], x[0])": torch.float32,
    "nn.GRUCell(4, 4)(x)": torch.float32,
    "nn.Bilinear(4, 4, 2)(x, x)": torch.float32,
    "x.double() @ x.double().t()": torch.float64,
    "torch.zeros(2, 2).addmm_(x, x.t())": torch.float32,
    "torch.mm(x, x.t(), out=torch.zeros(2, 2))": torch.float32,
    "x + x.bfloat16()": torch.float32,
    "x * 2": torch.float32,
}


@pytest.mark.parametrize("code", TYPES)
def test_types_inside_a_region(code: str) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        assert eval(code, {"torch": torch, "nn": nn, "F": F, "x": X}).dtype is TYPES[code]


def test_the_lists_name_operators_once_and_cover_what_is_here() -> None:
    from mindtorch_v2._ops.table import OPS

    for where, policy in (("cpu", casting._CPU), ("accelerator", casting._ACCELERATOR)):
        words = [name for lists in policy.values() for name in lists.split()]
        assert len(words) == len(set(words)), where
    assert {
        "linear",
        "matmul",
        "conv2d",
        "mse_loss",
        "cat",
        "scaled_dot_product_attention",
    } <= OPS.keys() & casting.POLICIES["cpu"].keys()


def test_regions_nest_and_end() -> None:
    assert not torch.is_autocast_enabled("cpu")
    with torch.autocast("cpu", torch.bfloat16):
        assert (
            torch.is_autocast_enabled("cpu")
            and not torch.is_autocast_enabled()
            and torch.get_autocast_dtype("cpu") is torch.bfloat16
        )
        with torch.autocast("cpu", enabled=False):
            assert (X @ X.t()).dtype is torch.float32
        with torch.autocast("cpu", torch.float16):
            assert (X @ X.t()).dtype is torch.float16
        assert (X @ X.t()).dtype is torch.bfloat16
    with pytest.raises(ZeroDivisionError), torch.autocast("cpu"):
        1 / 0  # noqa: B018
    assert (X @ X.t()).dtype is torch.float32 and modes.SPACE["_mode"] == 0 and modes.state.autocast_depth == 0


def test_other_threads_are_not_cast() -> None:
    found = []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append((X @ X.t()).dtype))
        thread.start()
        thread.join()
    assert found == [torch.float32]


def test_decorated_functions_run_inside() -> None:
    @torch.autocast("cpu", torch.float16)
    def product(depth: int) -> Any:
        return X @ X.t() if depth == 0 else product(depth - 1)

    assert product(2).dtype is torch.float16 and product.__name__ == "product"


def test_casts_are_shown_inside_the_operator() -> None:
    layer = nn.Linear(4, 4)
    cast = ["aten::to", "aten::_to_copy", "aten::empty_strided", "aten::copy_"]
    inner = [
        "aten::linear",
        "aten::t",
        "aten::transpose",
        "aten::addmm",
        "aten::expand",
        "aten::resolve_conj",
        "aten::resolve_conj",
    ]
    plain = [n for n in names(lambda: layer(X.bfloat16().float())) if n not in cast]
    with torch.autocast("cpu", torch.bfloat16):
        assert names(lambda: layer(X)) == ["aten::linear", *3 * cast, *plain]
        narrow = layer(X)
        assert names(lambda: layer(narrow)) == plain  # nothing to cast: the weights' casts are kept
    assert set(plain) <= set(inner)


def test_casts_of_weights_are_kept_until_the_region_ends_or_the_weight_changes() -> None:
    weight = nn.Parameter(torch.ones(4, 4))
    with torch.autocast("cpu"):
        with torch.no_grad():
            assert not F.linear(X, weight).requires_grad
        first = F.linear(X, weight)
        assert first.requires_grad
        with torch.no_grad():
            weight.mul_(2)
        assert torch.equal(F.linear(X, weight), first * 2)
        assert modes.state.autocast_casts
        with torch.autocast("cpu", cache_enabled=False):
            assert "aten::to" in names(lambda: F.linear(X.bfloat16(), weight))
    assert not modes.state.autocast_casts


def test_gradients_arrive_in_the_weights_type() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    copied = copy.deepcopy(model)
    with torch.autocast("cpu", torch.bfloat16):
        loss = F.mse_loss(model(X), torch.ones(2, 1))
    loss.backward()
    F.mse_loss(copied(X), torch.ones(2, 1)).backward()
    assert loss.dtype is torch.float32
    for p, q in zip(model.parameters(), copied.parameters()):
        assert p.grad.dtype is torch.float32
        torch.testing.assert_close(p.grad, q.grad, rtol=0.05, atol=0.05)


def test_settings_outside_of_blocks() -> None:
    torch.set_autocast_enabled("cpu", True)
    torch.set_autocast_dtype("cpu", torch.float16)
    try:
        assert (X @ X.t()).dtype is torch.float16
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    assert (X @ X.t()).dtype is torch.float32 and modes.SPACE["_mode"] == 0
    assert torch.is_autocast_cache_enabled() and torch.get_autocast_gpu_dtype() is torch.float16
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        torch.get_autocast_dtype("nowhere")
    with pytest.raises(TypeError, match=r"argument 'dtype' \(position 2\) must be torch.dtype, not int"):
        torch.set_autocast_dtype("cpu", 1)


def test_what_cannot_be_cast_for_is_said() -> None:
    with pytest.warns(UserWarning, match="CUDA is not available or torch_xla is imported. Disabling autocast."):
        region = torch.autocast("cuda")
    with region:
        assert (X @ X.t()).dtype is torch.float32
    with pytest.warns(
        UserWarning, match="CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
    ):
        torch.autocast("cpu", torch.float32)
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(torch.device("cpu"))
    with pytest.raises(RuntimeError, match="Unexpected floating ScalarType"), torch.autocast("cpu"):
        torch.stack([X.half(), X.bfloat16()])
    with pytest.warns(FutureWarning, match="torch.cpu.amp.autocast"), torch.cpu.amp.autocast():
        assert (X @ X.t()).dtype is torch.bfloat16


def test_custom_functions_choose_their_type() -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            assert not torch.is_autocast_enabled("cpu")
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, grad: Any) -> Any:
            a, b = ctx.saved_tensors
            assert not torch.is_autocast_enabled("cpu")
            return grad @ b.t(), a.t() @ grad

    a = X.bfloat16().requires_grad_()
    with torch.autocast("cpu"):
        out = Product.apply(a, X.t())
        assert out.dtype is torch.float32
        out.sum().backward()
    assert a.grad.dtype is torch.bfloat16


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_run_again_as_they_ran(reentrant: bool) -> None:
    from mindtorch_v2.utils.checkpoint import checkpoint

    weight = nn.Parameter(torch.ones(4, 4))
    seen = []

    def part(x: Any) -> Any:
        seen.append(torch.is_autocast_enabled("cpu"))
        return F.linear(x, weight)

    with torch.autocast("cpu"):
        out = checkpoint(part, X.clone().requires_grad_(), use_reentrant=reentrant)
    out.float().sum().backward()
    assert seen == [True, True] and weight.grad.dtype is torch.float32


# --- gradient scaling
def _scaler(**options: Any) -> Any:
    return torch.amp.GradScaler("cpu", **options)


def test_scaled_steps_are_those_without_scaling() -> None:
    weight = nn.Parameter(torch.ones(2))
    optimizer, scaler = torch.optim.SGD([weight], lr=0.1), _scaler(init_scale=1024.0, growth_interval=2)
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale((weight * torch.tensor([1.0, 3.0])).sum()).backward()
        assert scaler.get_scale() == weight.grad[0].item()
        scaler.step(optimizer)
        scaler.update()
    torch.testing.assert_close(weight.detach(), torch.tensor([0.7, 0.1]))
    assert scaler.state_dict() == {
        "scale": 2048.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2,
        "_growth_tracker": 1,
    }


def test_steps_with_infinite_gradients_are_left_out() -> None:
    weight = nn.Parameter(torch.ones(2))
    optimizer, scaler = torch.optim.SGD([weight], lr=0.1), _scaler()
    scaler.scale(weight.sum())
    weight.grad = torch.tensor([float("inf"), 1.0])
    assert scaler.step(optimizer) is None
    scaler.update()
    assert weight.tolist() == [1.0, 1.0] and scaler.get_scale() == 32768.0


def test_misuse_is_named_in_pytorchs_words() -> None:
    weight = nn.Parameter(torch.ones(2))
    optimizer, scaler = torch.optim.SGD([weight], lr=0.1), _scaler()
    for name, call in (("step", scaler.step), ("unscale_", scaler.unscale_)):
        with pytest.raises(AssertionError, match=f"Attempted {name} but _scale is None"):
            call(optimizer)
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        scaler.load_state_dict({})
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) has already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled"):
        pickle.dumps(scaler)
    scaler.update()
    half = nn.Parameter(torch.ones(2).half())
    half.grad = torch.ones(2).half()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients."):
        scaler.unscale_(torch.optim.SGD([half], lr=0.1))
    with pytest.raises(AssertionError, match="The growth factor must be > 1.0."):
        _scaler(growth_factor=1.0)


def test_state_travels() -> None:
    first, second = _scaler(), _scaler()
    first.scale(torch.ones(1))
    first.update(512.0)
    second.load_state_dict(first.state_dict())
    third = pickle.loads(pickle.dumps(first))
    assert second.get_scale() == third.get_scale() == 512.0
    assert second.scale([torch.ones(1), (torch.ones(1),)])[1][0].item() == 512.0


def test_disabled_and_absent_devices_do_nothing() -> None:
    weight = nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for scaler in (_scaler(enabled=False), torch.amp.GradScaler()):
            assert (
                not scaler.is_enabled()
                and scaler.scale(3) == 3
                and scaler.get_scale() == 1.0
                and scaler.state_dict() == {}
            )
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
    assert weight.tolist() == [0.0, 0.0]


def test_fused_optimizers_unscale_themselves() -> None:
    weight, plain = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    fused, scaler = torch.optim.AdamW([weight], lr=0.1, fused=True), _scaler(init_scale=64.0)
    scaler.scale((weight**2).sum()).backward()
    scaler.step(fused)
    scaler.update()
    (plain**2).sum().backward()
    torch.optim.AdamW([plain], lr=0.1).step()
    torch.testing.assert_close(weight.detach(), plain.detach())
