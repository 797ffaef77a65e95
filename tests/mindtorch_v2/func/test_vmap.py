"""vmap: what it gives is what a loop over the batch gives, for operators of every kind."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._dispatch import modes
from mindtorch_v2.func import vmap

F = nn.functional
close = torch.testing.assert_close
torch.manual_seed(0)
INPUTS = {
    "a": torch.randn(2, 3, 4),
    "b": torch.rand(2, 3, 4) + 0.5,
    "v": torch.randn(2, 4),
    "s": torch.randn(2),
    "c": torch.randn(2, 3, 4, 8, 8),
    "i": torch.tensor([[0, 2], [1, 1]]),
    "k": torch.tensor([0, 2]),
    "w": torch.randn(2, 4, 4, 3, 3),
    "m": torch.randn(2, 4, 4),
}
# Operators with rules: no warning.
RULED = """
a + b | a * v | a - s | s * 2 + a | torch.where(a > 0, a, v) | a.clamp(-1, 1) | torch.atan2(a, b) | a ** 2 | b ** s | (a > v).float() | -a | a / b
torch.add(a, b, alpha=2) | torch.lerp(a, b, 0.3) | torch.addcmul(a, b, b) | a.exp().log1p() | F.gelu(a) | F.relu(a) | a.to(torch.float64) | a.long()
a.sum() | a.sum(0) | a.sum((0, 1)) | a.mean() | a.mean(-1, keepdim=True) | a.amax(1) | a.max() | a.max(0) | a.argmax() | a.argmax(-1) | b.prod(0)
a.var() | a.std(0) | a.var(1, keepdim=True) | a.logsumexp(0) | a.norm() | a.norm(dim=1) | a.cumsum(0) | (a > 0).any() | (a > 0).all(1) | a.min(1)[1]
a.softmax(-1) | a.log_softmax(0) | a.sort(1) | a.topk(2, 0) | a.flip(0) | a.roll(1, 1) | a.tril() | a.diagonal() | a.abs().sqrt()
a.reshape(-1) | a.view(4, 3) | a.t() | a.transpose(0, 1) | a.permute(1, 0) | a.unsqueeze(0) | a.unsqueeze(-1).squeeze() | a.expand(5, 3, 4) | v.repeat(2, 3)
a.flatten() | a[0] | a[:, 1:3] | a[..., -1] | a[None] | a.select(1, 0) | a.narrow(1, 1, 2) | a.chunk(2, 1) | a.split(1) | a.unbind(0)
torch.cat([a, b]) | torch.cat([a, x], 1) | torch.stack([a, b], 1) | torch.movedim(c, 0, 1) | s.unsqueeze(0) | a.clone() | a.detach() | a.contiguous()
a @ v | a @ m | v @ m | v @ v | m @ m | torch.mm(a, m) | torch.mv(a, v) | torch.dot(v, v) | a @ x.t() | torch.einsum('ij,kj->ik', a, a) | F.linear(a, m)
F.linear(a, y, o) | torch.addmm(v, a, m) | torch.bmm(c[:, 0], c[:, 1]) | torch.outer(v, v) | c @ c | torch.linalg.inv(m) | torch.det(m)
a[k] | a[i] | x[i] | a[:, k] | a.index_select(0, i) | a.gather(1, i[:, None].expand(2, 4).clamp(max=2)) | F.embedding(i, x) | F.embedding(i, a)
F.conv2d(c, u) | F.conv2d(c, w) | F.conv2d(q, w, padding=1) | F.max_pool2d(c, 2) | F.avg_pool2d(c, 2) | F.layer_norm(a, (4,)) | F.layer_norm(a, (4,), z, z)
F.mse_loss(a, b) | F.mse_loss(a, b, reduction='none') | F.cross_entropy(a, j) | F.cross_entropy(a, j, reduction='sum') | F.binary_cross_entropy_with_logits(a, b)
F.scaled_dot_product_attention(c, c, c) | torch.zeros_like(a) + a | a.new_zeros(2) + s | torch.full_like(a, 2.0) | F.normalize(a) | a.add_(1).mul_(b)
""".replace("\n", "|").split("|")
# Operators that run once for each sample, and say so.
LOOPED = ["torch.histc(v, 4)", "a.index_put((i[0],), v)", "torch.index_fill(a, 0, i, 1.0)"]
OTHERS = {
    "x": torch.randn(3, 4),
    "y": torch.randn(5, 4),
    "z": torch.randn(4),
    "o": torch.randn(5),
    "u": torch.randn(2, 4, 3, 3),
    "q": torch.randn(3, 4, 8, 8),
    "j": torch.tensor([0, 1, 3]),
}
SPACE = {"torch": torch, "F": F}


def _names(code: str) -> list[str]:
    used = compile(code.strip(), "case", "eval").co_names
    return [n for n in INPUTS if n in used]


def _same_as_a_loop(code: str) -> None:
    names = _names(code)
    want = [eval(code.strip(), {**SPACE, **OTHERS, **{n: INPUTS[n][i].clone() for n in names}}) for i in range(2)]

    def function(*given: Any) -> Any:
        return eval(code.strip(), {**SPACE, **OTHERS, **dict(zip(names, given))})

    got = vmap(function)(*[INPUTS[n].clone() for n in names])
    if isinstance(got, torch.Tensor):
        got, want = (got,), [(w,) for w in want]
    for k, found in enumerate(got):
        close(found, torch.stack([w[k] for w in want]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("code", [c for c in RULED if c.strip()])
def test_as_a_loop(code: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _same_as_a_loop(code)


@pytest.mark.parametrize("code", LOOPED)
def test_operators_without_a_rule_warn(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from mindtorch_v2.func import _batching

    monkeypatch.setattr(_batching, "_warned", set())
    with pytest.warns(
        UserWarning,
        match="There is a performance drop because we have not yet implemented the batching rule for aten::",
    ):
        _same_as_a_loop(code)


def test_dimensions_of_arguments_and_results() -> None:
    a, b = torch.randn(3, 2), torch.randn(2, 4)
    close(vmap(torch.mul, in_dims=(1, None))(a, torch.ones(3)), a.t())
    close(
        vmap(torch.outer, in_dims=(1, 0), out_dims=1)(a, b),
        torch.stack([torch.outer(a[:, i], b[i]) for i in range(2)], 1),
    )
    close(
        vmap(lambda d: (d["a"] + d["b"][0], d["a"]), in_dims=({"a": 0, "b": None},), out_dims=(0, -1))(
            {"a": b, "b": [torch.ones(4)]}
        ),
        (b + 1, b.t()),
    )
    close(
        vmap(vmap(torch.mul, in_dims=(0, None)), in_dims=(None, 0))(torch.arange(3.0), torch.arange(2.0)),
        torch.outer(torch.arange(2.0), torch.arange(3.0)),
    )
    close(vmap(lambda t: torch.tensor(3.0))(b), torch.tensor([3.0, 3.0]))
    close(vmap(lambda t, k=None: t * k)(b, k=b), b * b)
    close(torch.vmap(lambda t: t.sum(), chunk_size=1)(b), b.sum(1))


def test_random_numbers() -> None:
    x = torch.zeros(4)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(lambda t: t + torch.randn(()))(x)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(F.dropout)(torch.ones(2, 3))
    assert vmap(lambda t: t + torch.randn(()), randomness="different")(x).unique().numel() == 4
    assert vmap(lambda t: t + torch.randn(()), randomness="same")(x).unique().numel() == 1
    torch.manual_seed(0)
    same = vmap(F.dropout, randomness="same")(torch.ones(5, 40))
    assert torch.equal(same[0].expand(5, 40), same)
    assert not torch.equal(*vmap(F.dropout, randomness="different")(torch.ones(2, 40)))
    assert vmap(torch.randn_like, randomness="different")(x).unique().numel() == 4


def test_misuse_is_named_in_pytorchs_words() -> None:
    x = torch.randn(3)
    for error, text, call in (
        (
            ValueError,
            "Got in_dim=0 for an input but the input is of type <class 'float'>",
            lambda: vmap(torch.sum)(1.0),
        ),
        (ValueError, "got no inputs", lambda: vmap(torch.sum)()),
        (
            ValueError,
            "Expected all tensors to have the same size in the mapped dimension, got sizes \\[3, 4\\]",
            lambda: vmap(torch.add)(x, torch.randn(4)),
        ),
        (
            ValueError,
            "Got in_dim=2 for some input, but that input is a Tensor of dimensionality 1",
            lambda: vmap(torch.sum, in_dims=2)(x),
        ),
        (
            ValueError,
            "in_dims is not compatible with the structure of `inputs`",
            lambda: vmap(torch.sum, in_dims=(0, 1))(x),
        ),
        (ValueError, "expected `in_dims` to be int or a", lambda: vmap(torch.sum, in_dims=None)(x)),
        (ValueError, "must only return Tensors, got type <class 'int'>", lambda: vmap(lambda t: 1)(x)),
        (ValueError, "out_dims is not compatible", lambda: vmap(lambda t: t, out_dims=(0, 1))(x)),
        (RuntimeError, r"calling .item\(\) on a Tensor", lambda: vmap(lambda t: t.item())(x)),
        (RuntimeError, "data-dependent control flow", lambda: vmap(lambda t: t if t > 0 else -t)(x)),
        (RuntimeError, "no single array of values", lambda: vmap(lambda t: t.numpy())(x)),
        (RuntimeError, "inplace arithmetic", lambda: vmap(lambda t: torch.zeros(()).add_(t))(x)),
        (RuntimeError, "Only allowed values for randomness", lambda: vmap(torch.sum, randomness="maybe")),
        (ValueError, "chunk_size should be None or greater than 0", lambda: vmap(torch.sum, chunk_size=0)),
    ):
        with pytest.raises(error, match=text):
            call()
    assert modes.SPACE["_mode"] == 0 and modes.state.batching is None


def test_a_batched_tensor_shows_one_sample() -> None:
    seen = []

    def look(t: Any) -> Any:
        seen.append((t.shape, t.dim(), t.device.type, t.dtype, isinstance(t, torch.Tensor), t.requires_grad, t.is_cpu))
        return t

    vmap(look)(torch.zeros(5, 2, 3))
    assert seen == [((2, 3), 2, "cpu", torch.float32, True, False, True)]


def test_other_threads_are_not_mapped() -> None:
    def function(t: Any) -> Any:
        found = []
        thread = threading.Thread(target=lambda: found.append(torch.randn(2)))
        thread.start()
        thread.join()
        assert found
        return t

    vmap(function)(torch.zeros(2))
