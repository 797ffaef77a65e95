"""Calls that take a short cut while nobody watches: the answers are those of the steps that a profile shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile

_SIZES = [(0,), (), (1,), (3,), (4,), (15,), (16,), (17,), (3, 7), (5, 16), (2, 3, 40)]
_TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def _seeded(call: Callable[[], Any]) -> tuple[Any, Any]:
    """What a call gives after a seed and a draw of an odd count, and what the generator gives next."""
    torch.manual_seed(7)
    torch.randn(3, dtype=torch.float64)
    return call(), torch.randn(5)


def _same(call: Callable[[], Any]) -> None:
    alone, after = _seeded(call)
    with profile():
        watched, then = _seeded(call)
    for made, want in ((alone, watched), (after, then)):
        assert (made.dtype, made.shape, made.stride()) == (want.dtype, want.shape, want.stride())
        assert (
            made.contiguous().view(-1).view(torch.uint8).tolist()
            == want.contiguous().view(-1).view(torch.uint8).tolist()
        )


@pytest.mark.parametrize("dtype", _TYPES, ids=str)
@pytest.mark.parametrize("size", _SIZES, ids=str)
def test_draws(size: tuple[int, ...], dtype: torch.dtype) -> None:
    like = torch.ones(size, dtype=dtype)
    _same(lambda: torch.rand(size, dtype=dtype))
    _same(lambda: torch.randn(size, dtype=dtype))
    _same(lambda: torch.normal(0.0, 0.3, size, dtype=dtype))
    _same(lambda: torch.normal(-0.0, 1e31, size, dtype=dtype))
    _same(lambda: torch.normal(0.5, 0.0, size, dtype=dtype))
    _same(lambda: torch.randint(-3, 9, size, dtype=dtype))
    _same(lambda: torch.rand_like(like))
    _same(lambda: torch.randn_like(like))
    _same(lambda: torch.bernoulli(like * 0.4))
    _same(lambda: torch.nn.functional.dropout(like, 0.3))


def test_draws_like_tensors_in_other_orders() -> None:
    for like in (torch.ones(3, 4).t(), torch.ones(2, 6)[:, ::2], torch.ones(1, 4).expand(3, 4)):
        _same(lambda like=like: torch.rand_like(like))
        _same(lambda like=like: torch.randn_like(like))
        _same(lambda like=like: torch.randn_like(like, dtype=torch.float64))
        _same(lambda like=like: torch.randn_like(like, memory_format=torch.contiguous_format))
        _same(lambda like=like: torch.bernoulli(like * 0.4))


@pytest.mark.parametrize("wrong", [-0.5, 1.5, float("nan")])
def test_a_probability_must_be_one(wrong: float) -> None:
    p = torch.tensor([0.5, wrong, 0.25])
    with pytest.raises(RuntimeError, match="p_in >= 0"):
        torch.bernoulli(p)
    assert torch.bernoulli(torch.tensor([0.0, 1.0])).tolist() == [0, 1] and torch.bernoulli(p[:0]).shape == (0,)


def test_numbers_left_over_from_a_pair() -> None:
    """Small normals come in pairs: of an odd count, the next call begins with what is left."""
    torch.manual_seed(1)
    whole = torch.randn(12, dtype=torch.float64)
    torch.manual_seed(1)
    parts = [torch.randn(n, dtype=torch.float64) for n in (1, 1, 3, 4, 2, 1)]
    assert np.array_equal(torch.cat(parts).numpy(), whole.numpy())


def test_one_hot() -> None:
    for classes in (torch.tensor([2, 0, 1, 2]), torch.tensor(3), torch.tensor([[0], [4]]), torch.arange(6)[::2]):
        _same(lambda classes=classes: torch.nn.functional.one_hot(classes))
        _same(lambda classes=classes: torch.nn.functional.one_hot(classes, 7))
    for wrong, count, words in (
        ([1, -1], 3, "non-negative"),
        ([1, 3], 3, "smaller than num_classes"),
        ([1], 0, "small"),
    ):
        with pytest.raises(RuntimeError, match=words):
            torch.nn.functional.one_hot(torch.tensor(wrong), count)


@pytest.mark.parametrize("dtype", [*_TYPES, torch.int64, torch.bool], ids=str)
def test_pad(dtype: torch.dtype) -> None:
    image = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).to(dtype)
    for source in (image, image.to(memory_format=torch.channels_last), image[:, :, ::2].transpose(2, 3), image[:0]):
        for pad in ((1, 2), (0, 3, 1, 0), (-1, 2, 1, -2), (0, 0), (-1, -1), (0, 0, 0, 0, 2, 1), (3, -2)):
            _same(lambda source=source, pad=pad: torch.nn.functional.pad(source, pad))
            _same(lambda source=source, pad=pad: torch.nn.functional.pad(source, pad, value=1))
    assert torch.nn.functional.pad(torch.tensor([1, 2]), (1, -1), value=9).tolist() == [9, 1]


def test_pad_in_a_graph() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    made = torch.nn.functional.pad(x, (1, -1, 0, 1), value=5.0)
    assert made.tolist() == [[5, 1, 1], [5, 1, 1], [5, 5, 5]] and made._version == 0
    made.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[1, 1, 0], [1, 1, 0]]


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "i4", "f2"])
def test_topk_of_short_rows(dtype: str) -> None:
    """Of equal values the first ones come first, and NaN is greater than every number."""
    rng = np.random.default_rng(3)
    for n in (1, 2, 7, 17, 48):
        rows = rng.integers(-4, 5, (6, n)).astype(dtype)
        if rows.dtype.kind == "f":
            rows[0], rows[1, ::3], rows[2, ::2], rows[3, :2] = np.nan, np.nan, -np.inf, np.inf
            rows[4][rows[4] == 0] = -0.0
        for k in {1, min(3, n), min(16, n), n}:
            for largest in (True, False):
                keys = np.where(np.isnan(rows), np.inf, np.clip(rows.astype("f8"), -1e300, 1e300))
                order = np.argsort(-keys if largest else keys, axis=1, kind="stable")[:, :k]
                for view, dim in (
                    (torch.tensor(rows), 1),
                    (torch.tensor(rows.T.copy()), 0),
                    (torch.tensor(rows.T).t(), 1),
                ):
                    values, found = view.topk(k, dim, largest)
                    want = order if dim == 1 else order.T
                    assert found.tolist() == want.tolist()
                    assert np.array_equal(values.numpy(), np.take_along_axis(view.numpy(), want, dim), equal_nan=True)
                    assert values.is_contiguous() and found.is_contiguous()


def test_einsum_keeps_what_it_found_out_by_equation_and_shapes() -> None:
    """Calls of one equation with other shapes, which change what is summed early, each twice."""
    for _ in range(2):
        for m, n, k in ((2, 3, 4), (1, 3, 4), (2, 1, 4), (2, 3, 1), (0, 3, 4), (2, 0, 4)):
            a, b = np.arange(m * n).reshape(m, n), np.arange(n * k).reshape(n, k) - 2
            for equation in ("ij,jk->ik", "ij,jk->ki", "ij,jk", "ij,jk->i", "ij,jk->", "...j,jk->...k"):
                made = torch.einsum(equation, torch.tensor(a), torch.tensor(b))
                assert made.tolist() == np.einsum(equation, a, b).tolist()
        one = torch.einsum("ij,jk->ik", torch.tensor([[2], [3]]), torch.tensor([[1], [10], [100]]))
        assert one.tolist() == [[222], [333]]  # a size of 1 is spread
        with pytest.raises(RuntimeError, match="does not broadcast"):
            torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(4, 5))
        assert torch.einsum("iij->ij", torch.arange(8).view(2, 2, 2)).tolist() == [[0, 1], [6, 7]]


@pytest.mark.parametrize("shape", [(8, 16), (2, 1), (31, 16), (511, 1), (8, 64), (3, 5, 1), (4, 3, 8)], ids=str)
def test_batch_norm(shape: tuple[int, ...]) -> None:
    """Without a third dimension a shorter way is taken, with the answers of the general one."""
    x = torch.randn(shape, dtype=torch.float64)
    mean, variance = torch.zeros(shape[1], dtype=x.dtype), torch.ones(shape[1], dtype=x.dtype)

    def call() -> Any:
        return torch.nn.functional.batch_norm(x, mean.clone(), variance.clone(), training=True)

    _same(call)
    axes = (0, *range(2, x.dim()))
    values, made = x.numpy(), call().numpy()
    want = values - values.mean(axes, keepdims=True)
    want /= np.sqrt(values.var(axes, keepdims=True) + 1e-5)
    bound = 64 * np.finfo(np.float64).eps * max(1.0, float(np.abs(want).max()))  # a few roundings for each element
    assert np.abs(made - want).max() <= bound
