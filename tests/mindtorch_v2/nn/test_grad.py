"""Gradients of convolutions as functions, normalisation over channels, causal masks, copies between devices."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn.attention.bias import CausalBias, causal_lower_right, causal_upper_left
from mindtorch_v2.nn.parallel import comm


@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_convolutions_are_those_of_backward(n: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 4, *[7] * n, dtype=torch.float64, requires_grad=True)
    w = torch.randn(6, 2, *[3] * n, dtype=torch.float64, requires_grad=True)
    options = (2, 1, 1, 2)
    y = getattr(nn.functional, f"conv{n}d")(x, w, None, *options)
    g = torch.randn_like(y)
    to_x, to_w = torch.autograd.grad(y, (x, w), g)
    assert torch.equal(getattr(nn.grad, f"conv{n}d_input")(x.shape, w, g, *options), to_x)
    assert torch.equal(getattr(nn.grad, f"conv{n}d_weight")(x, w.shape, g, *options), to_w)


def test_normalisation_over_channels_gives_what_pytorch_gives() -> None:
    x = torch.arange(1.0, 7).view(1, 6, 1, 1)
    recorded = [0.7377879619598389, 1.0372215509414673, 1.0606601238250732, 1.0305347442626953, 0.9786062836647034]
    found = nn.CrossMapLRN2d(3, alpha=0.3)(x).flatten()
    assert found.tolist() == pytest.approx([*recorded, 1.3650603294372559], rel=1e-6)
    with pytest.raises(ValueError, match="Expected input to be 4D, got 2D"):
        nn.CrossMapLRN2d(3)(torch.ones(2, 2))


def test_causal_masks() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 1, 2, 4), torch.randn(1, 1, 3, 4), torch.randn(1, 1, 3, 4)
    lower, upper = causal_lower_right(2, 3), causal_upper_left(2, 3)
    assert isinstance(lower, CausalBias)
    assert lower._materialize().tolist() == [[True, True, False], [True, True, True]]
    assert repr(upper) == "tensor([[ True, False, False],\n        [ True,  True, False]])"
    attend = nn.functional.scaled_dot_product_attention
    assert torch.equal(attend(q, k, v, upper), attend(q, k, v, is_causal=True))
    assert torch.equal(attend(q, k, v, attn_mask=lower), attend(q, k, v, attn_mask=lower._materialize()))
    assert type(attend(q, k, v, lower)) is torch.Tensor
    with pytest.raises(ValueError, match="should not be used with causal=True"):
        attend(q, k, v, lower, is_causal=True)
    with pytest.warns(UserWarning, match="will produce NaNs"):
        causal_lower_right(4, 2)


def test_copies_between_devices() -> None:
    x = torch.arange(6.0).requires_grad_()
    a, b = comm.scatter(x, ["cpu", "cpu"], [4, 2])
    comm.gather([a * 2, b * 3]).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2, 2, 2, 3, 3]
    assert [t.tolist() for t in comm.reduce_add_coalesced([[a, b], [a, b]])] == [[0, 2, 4, 6], [8, 10]]
    with pytest.raises(RuntimeError, match="Exactly one of 'devices' and 'out'"):
        comm.broadcast(x)
    with pytest.raises(RuntimeError, match="none is available"):
        comm.broadcast(x, [0])


def test_conversions_of_modules_replace_parameters_as_the_switches_say() -> None:
    module = nn.Linear(2, 1)
    module(torch.ones(1, 2)).sum().backward()
    weight = module.weight
    module.double()
    assert module.weight is weight and weight.grad is not None and weight.grad.dtype is torch.float64
    switches = torch.__future__
    switches.set_overwrite_module_params_on_conversion(True)
    try:
        module.float()
    finally:
        switches.set_overwrite_module_params_on_conversion(False)
    assert module.weight is not weight and weight.dtype is torch.float64
    assert module.weight.dtype is torch.float32 and module.weight.grad is not None
    weight = module.weight
    switches.set_swap_module_params_on_conversion(True)
    try:
        module.double()
    finally:
        switches.set_swap_module_params_on_conversion(False)
    assert module.weight is weight and weight.dtype is torch.float64
    assert weight.grad is not None and weight.grad.dtype is torch.float64


def test_copies_under_the_names_of_functions_have_gradients() -> None:
    from mindtorch_v2.nn.parallel import _functions

    x = torch.ones(2, requires_grad=True)
    copies = _functions.Broadcast.apply(["cpu", "cpu"], x, 2 * x)
    sums = _functions.ReduceAddCoalesced.apply("cpu", 2, *copies)
    assert [t.tolist() for t in sums] == [[2, 2], [4, 4]]
    _functions.Gather.apply("cpu", 0, *_functions.Scatter.apply(["cpu", "cpu"], None, 0, sums[1])).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [4, 4]
    assert _functions._get_stream("cpu") is None  # type: ignore[func-returns-value]
