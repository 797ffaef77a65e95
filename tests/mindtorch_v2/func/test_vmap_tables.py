"""vmap by tables of rules: a batch gives exactly what single calls give, in order of the samples, without a loop.

The inputs are small integers and powers of two, so that sums and products are exact whatever order they are taken in;
only results of divisions and factorisations have a tolerance.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.func import grad, vmap

F = nn.functional
COUNT = torch.arange(96.0, dtype=torch.float64)
INPUTS = {
    "a": (COUNT[:24] % 7 - 3).reshape(2, 3, 4),
    "b": (COUNT[:24] % 5 + 1).reshape(2, 3, 4),
    "v": (COUNT[:8] % 3 - 1).reshape(2, 4),
    "r": (COUNT[:6] % 4).reshape(2, 3),
    "s": torch.tensor([3.0, -2.0], dtype=torch.float64),
    "c": (COUNT % 11 - 5).reshape(2, 2, 4, 2, 3),
    "m": torch.eye(4, dtype=torch.float64) * 4 + (COUNT[:32] % 3 - 1).reshape(2, 4, 4),
    "i": torch.tensor([[2, 0], [1, 2]]),
    "k": torch.tensor([[[0, 1, 2, 0]], [[2, 2, 1, 0]]]),
}
# The same for all samples.
OTHERS = {
    "x": (COUNT[:12] % 5 - 2).reshape(3, 4),
    "w": torch.tensor([1.0, 2.0, 4.0, 0.5], dtype=torch.float64),
    "j": torch.tensor([0, 2]),
    "t": torch.tensor([0, 3, 1]),
    "e": torch.tensor([-2.0, 0.0, 1.0, 3.0], dtype=torch.float64),
}
EXACT = """
a.prod() | a.prod(1) | s.prod() | a.median() | a.nanmedian() | a.median(0) | a.mode(1) | a.count_nonzero() | a.count_nonzero(0) | a.aminmax() | a.aminmax(dim=1)
s.sum() | s.sum(0) | s.sum(-1, keepdim=True) | s.max() | s.max(0) | s.all() | s.any(0) | s.cumsum(0) | s.cummax(-1) | s.cumprod(0) | s.amax(0) | s.nansum()
s.sort() | s.topk(1) | s.squeeze(0) | s.permute(()) | s.transpose(0, -1) | s.flip(0) | s.median() | s.mode() | s.var(correction=0) | s.logsumexp(0)
F.pad(a, (1, 2)) | F.pad(a, (1, 0, 2, 1), value=7.0) | F.pad(a, (1, 2), mode='reflect') | F.pad(c, (1, 1, 1, 0), mode='replicate') | F.pad(a, (3, 1), mode='circular')
torch.linalg.cross(a[:, :3], x[:, :3]) | torch.linalg.cross(a, b, dim=0) | torch.diag_embed(a) | torch.diag_embed(v, 1, 0, 1) | m.trace() | torch.vdot(v, v)
torch.addmv(r, a, v) | torch.addmv(r, a, w, beta=0, alpha=2) | torch.addr(a, r, v) | torch.addr(s, r, v, beta=2) | torch.addbmm(s, c[0], c[1].transpose(1, 2))
torch.addmm(s, a, m) | torch.addmm(v, x, m, beta=2, alpha=3) | torch.baddbmm(s, c[0], c[1].transpose(1, 2)) | torch.block_diag(a, s, v, x)
a.index_add(0, j, b[:2]) | a.index_add(0, i, x[:2], alpha=2) | x.index_add(-2, i, a[:2]) | a.index_copy(1, j, b[:, :2]) | a.index_copy(0, i, b[:2])
a.scatter(0, k, b[:1]) | a.scatter(0, k, 7.0) | x.scatter(0, k, b[:1]) | a.scatter(0, k, b[:1], reduce='add') | a.scatter(0, k, 2.0, reduce='multiply')
a.scatter_reduce(0, k, b[:1], 'amax') | a.scatter_reduce(-2, k, b[:1], 'sum', include_self=False) | a.scatter_add(0, k, x[:1]) | s.scatter(0, i[0] * 0, 5.0)
torch.complex(a, v) | torch.frexp(a) | torch.div(a, b, rounding_mode='floor') | torch.div(v, s, rounding_mode='trunc') | torch.polar(b, v * 0)
torch.bucketize(a, e) | torch.bucketize(a, b[0].sort()[0]) | torch.searchsorted(e, a, right=True) | torch.searchsorted(b.sort()[0], a) | torch.searchsorted(v.sort()[0], x)
F.huber_loss(a, b, reduction='sum', delta=2.0) | F.smooth_l1_loss(a, x, reduction='none') | F.mse_loss(a, b, reduction='sum') | F.unfold(c, (2, 2))
F.fold(F.unfold(c, (2, 2)), (2, 3), (2, 2)) | F.channel_shuffle(c, 2) | F.nll_loss(a, t, reduction='sum') | F.nll_loss(c, (c[:, 0] > 0).long(), reduction='sum')
F.nll_loss(v, i[0], weight=w) | F.grid_sample(c, (c[:, :2].permute(0, 2, 3, 1) / 4), align_corners=True, mode='nearest')
""".replace("\n", "|").split("|")
ROUNDED = """
torch.linalg.solve(m, v) | torch.linalg.solve(m, a.t()) | torch.linalg.solve(m, w) | torch.linalg.solve(torch.stack([m, m + m]), v) | torch.linalg.solve(m, x.t())
torch.linalg.solve_triangular(m, a.t(), upper=True) | torch.linalg.solve_triangular(m, x, upper=False, left=False) | torch.linalg.lstsq(m, a.t()).solution
torch.cholesky_solve(a.t(), m) | torch.cholesky_inverse(m) | torch.linalg.lu_solve(*torch.linalg.lu_factor(m), a.t()) | torch.lu_unpack(*torch.linalg.lu_factor(m))
torch.cdist(a, b) | torch.cdist(a, x, p=1.0) | a.norm(dim=0) | s.norm() | F.binary_cross_entropy(a.sigmoid(), b / 8) | F.huber_loss(a, b) | F.cross_entropy(a, t)
F.group_norm(c, 2) | F.group_norm(c, 2, v, w) | F.group_norm(c, 1, w, v) | F.batch_norm(c, None, None, training=True) | F.batch_norm(c, None, None, w, v, training=True)
F.batch_norm(c, w, w) | F.batch_norm(c, v, v + 2, v, w) | F.instance_norm(c) | F.grid_sample(c, c[:, :2].permute(0, 2, 3, 1) / 4, align_corners=True) | F.nll_loss(a, t)
""".replace("\n", "|").split("|")


def _check(code: str, change: Any = lambda function: function, **tolerance: float) -> None:
    """Compares a batch with a stack of single calls, of functions of all tensors of `INPUTS` that the code names."""
    used = compile(code, "case", "eval").co_names
    names = [n for n in INPUTS if n in used]

    def function(*given: Any) -> Any:
        return eval(code, {"torch": torch, "F": F, **OTHERS, **dict(zip(names, given))})

    changed = change(function)
    samples = [changed(*(INPUTS[n][k].clone() for n in names)) for k in range(2)]
    # The batch is the last dimension of the arguments and the second, where there are two, of the results.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = vmap(changed, in_dims=-1, out_dims=-1)(*(INPUTS[n].movedim(0, -1) for n in names))
    if isinstance(got, torch.Tensor):
        got, samples = (got,), [(one,) for one in samples]
    for k, found in enumerate(got):
        torch.testing.assert_close(found, torch.stack([one[k] for one in samples], -1), **tolerance)


@pytest.mark.parametrize("code", [c.strip() for c in EXACT if c.strip()])
def test_batch_is_exactly_its_samples(code: str) -> None:
    _check(code, rtol=0.0, atol=0.0)


@pytest.mark.parametrize("code", [c.strip() for c in ROUNDED if c.strip()])
def test_batch_is_its_samples_up_to_rounding(code: str) -> None:
    _check(code)


@pytest.mark.parametrize(
    "code",
    [
        "torch.linalg.solve(m, v)",
        "F.pad(a, (1, 2), mode='reflect') ** 2",
        "a.prod(1)",
        "F.group_norm(c, 2, v, w) ** 2",
        "F.batch_norm(c, None, None, v, w, training=True) ** 2",
        "a.index_add(0, i, b[:2]) ** 2",
        "F.huber_loss(a, b)",
        "s.cumsum(0)",
        "torch.cdist(a, b)",
        "torch.addr(a, a[:, 0], a[0]) ** 2",
    ],
)
def test_gradients_of_samples(code: str) -> None:
    _check(code, lambda function: grad(lambda *given: function(*given).sum()))


def test_gradient_of_a_batch_is_the_sum_of_gradients() -> None:
    w = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    samples = INPUTS["r"]

    def total(w: Any) -> Any:
        return vmap(lambda r: torch.addr(torch.zeros(3, 3).double(), r, w).trace())(samples).sum()

    assert grad(total)(w).tolist() == samples.sum(0).tolist()


def test_running_statistics_are_updated_only_where_they_are_batched() -> None:
    x = INPUTS["c"]
    mean, var = torch.zeros(2, 4).double(), torch.ones(2, 4).double()
    vmap(lambda x, mean, var: F.batch_norm(x, mean, var, training=True, momentum=1.0))(x, mean, var)
    torch.testing.assert_close(mean, x.mean((1, 3, 4)))
    torch.testing.assert_close(var, x.var((1, 3, 4)))
    with pytest.raises(RuntimeError, match="were not batched"):
        vmap(lambda x: F.batch_norm(x, torch.zeros(4).double(), None, training=True))(x)


def test_a_sample_that_fails_is_named() -> None:
    matrices = torch.stack([torch.eye(2), torch.zeros(2, 2)])
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\)"):
        vmap(torch.linalg.solve)(matrices, torch.ones(2, 2))
    with pytest.raises(RuntimeError, match=r"\(Batch element 1\)"):
        vmap(torch.linalg.cholesky)(matrices)
