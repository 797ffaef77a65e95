"""`torch.nn.utils.spectral_norm`, the form with hooks."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn.utils import remove_spectral_norm, spectral_norm


def test_the_weight_has_norm_one():
    torch.manual_seed(0)
    m = spectral_norm(nn.Linear(4, 3), n_power_iterations=200)
    assert sorted(m.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    m(torch.ones(1, 4)).sum().backward()
    assert torch.linalg.svdvals(m.weight)[0].item() == pytest.approx(1.0, rel=1e-4)
    assert m.weight_orig.grad is not None
    sigma = torch.linalg.svdvals(m.weight_orig)[0]
    assert torch.allclose(m.weight * sigma, m.weight_orig, rtol=1e-4)


def test_transposed_convolutions_count_outputs_in_the_second_dimension():
    m = spectral_norm(nn.ConvTranspose2d(2, 5, 3))
    assert (m.weight_u.shape, m.weight_v.shape) == ((5,), (2 * 9,))


def test_evaluation_does_not_move_the_vectors():
    m = spectral_norm(nn.Linear(4, 3)).eval()
    before = m.weight_u.clone()
    m(torch.ones(1, 4))
    assert torch.equal(before, m.weight_u)
    m.train()(torch.ones(1, 4))
    assert not torch.equal(before, m.weight_u)


def test_removing_leaves_the_weight_as_it_was_used():
    m = spectral_norm(nn.Linear(4, 3))
    out = m.train()(torch.ones(1, 4))
    remove_spectral_norm(m)
    assert torch.allclose(m(torch.ones(1, 4)), out)
    assert sorted(dict(m.named_parameters())) == ["bias", "weight"]
    assert not list(m.buffers()) and not m._forward_pre_hooks and not m._state_dict_hooks
    with pytest.raises(ValueError, match="spectral_norm of 'weight' not found in"):
        remove_spectral_norm(m)


def test_checkpoints():
    source, target = spectral_norm(nn.Linear(4, 3)), spectral_norm(nn.Linear(4, 3))
    source(torch.ones(1, 4))
    state = source.state_dict()
    assert state._metadata[""]["spectral_norm"] == {"weight.version": 1}
    target.load_state_dict(state)
    x = torch.randn(2, 4)
    assert torch.equal(target.eval()(x), source.eval()(x))
    old = {key: value.clone() for key, value in state.items() if key != "weight_v"}
    old["weight"] = source.weight.detach().clone()  # as before v was kept
    other = spectral_norm(nn.Linear(4, 3))
    other.load_state_dict(old)
    assert torch.allclose(other.eval()(x), source(x), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: spectral_norm(spectral_norm(nn.Linear(1, 1))),
            RuntimeError,
            "Cannot register two spectral_norm hooks on",
        ),
        (
            lambda: spectral_norm(nn.Linear(1, 1), n_power_iterations=0),
            ValueError,
            "Expected n_power_iterations to be pos",
        ),
        (
            lambda: spectral_norm(nn.Linear(1, 1, bias=False), "bias"),
            ValueError,
            "cannot be applied as parameter `bias`",
        ),
        (lambda: spectral_norm(nn.LazyLinear(1)), ValueError, "can't have uninitialized parameters"),
    ],
)
def test_misuse(call, error, text):
    with pytest.raises(error, match=text):
        call()
