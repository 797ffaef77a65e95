"""Matrix products that several threads share: every layout that BLAS can read and some that it cannot, compared with
products in double precision; the number of threads changes nothing but rounding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _native
from mindtorch_v2._backends.cpu import linalg
from mindtorch_v2._native.blas_threads import get_blas_threads

SIZES = [(2, 3, 4), (1, 5, 6), (6, 5, 1), (300, 70, 40), (40, 70, 300), (513, 1, 515), (33, 129, 257), (700, 16, 20)]


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def _layouts(rng: np.random.Generator, rows: int, columns: int, kind: str) -> Iterator[np.ndarray]:
    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(kind)

    yield normal(rows, columns)
    yield normal(columns, rows).T
    yield normal(rows, columns + 5)[:, 2 : 2 + columns]
    yield normal(columns + 3, rows + 2)[1 : 1 + columns, 1 : 1 + rows].T
    yield normal(rows * 2, columns * 2)[::2, ::2]
    yield normal(rows, columns)[::-1]
    yield np.broadcast_to(normal(1, columns), (rows, columns))


def _check(made: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    bound = (a.shape[-1] + 2) * np.finfo(a.dtype).eps * (np.abs(a64) @ np.abs(b64))
    assert made.dtype == a.dtype
    assert made.flags.c_contiguous
    assert np.all(np.abs(made - a64 @ b64) <= bound)


@pytest.mark.parametrize("kind", ["f", "d"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_products_of_two_matrices_in_every_layout(sizes: tuple[int, int, int], kind: str, threads: int) -> None:
    rng = np.random.default_rng(0)
    m, k, n = sizes
    for a in _layouts(rng, m, k, kind):
        for b in _layouts(rng, k, n, kind):
            _check(linalg._dot(a, b), a, b)


@pytest.mark.parametrize("kind", ["f", "d"])
@pytest.mark.parametrize("depth", [255, 257, 700])
def test_products_larger_than_the_blocks_that_are_packed(depth: int, kind: str, threads: int) -> None:
    rng = np.random.default_rng(0)
    rows, columns = 139, 1065
    a, b = rng.standard_normal((rows, depth)).astype(kind), rng.standard_normal((depth, columns)).astype(kind)
    for left in (a, a.T.copy().T):
        for right in (b, b.T.copy().T):
            _check(linalg._dot(left, right), left, right)


@pytest.mark.parametrize("rows", range(1, 18))
def test_rows_and_columns_that_fill_no_block(rows: int) -> None:
    rng = np.random.default_rng(0)
    for columns in range(1, 66):
        a, b = rng.standard_normal((rows, 9)).astype("f"), rng.standard_normal((9, columns)).astype("f")
        _check(linalg._dot(a, b), a, b)
        _check(linalg._dot(a.T.copy().T, b.T.copy().T), a, b)


@pytest.mark.parametrize("kind", ["f", "d"])
def test_infinities_and_nans_stay_in_their_rows_and_columns(kind: str) -> None:
    a, b = np.ones((20, 9), kind), np.ones((9, 37), kind)
    a[3, 2], a[4, 0], b[8, 36] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(linalg._dot(a, b), expected)


@pytest.mark.parametrize("kind", ["f", "d"])
def test_products_of_batches(kind: str, threads: int) -> None:
    rng = np.random.default_rng(1)
    a = rng.standard_normal((7, 40, 30)).astype(kind)
    b = rng.standard_normal((7, 50, 30)).astype(kind).transpose(0, 2, 1)
    for first, second in ((a, b), (a[::2], b[::-2]), (np.broadcast_to(a[:1], a.shape), b), (a[:2], b[:2])):
        _check(linalg._matmul(first, second), first, second)


def test_special_values_reach_only_their_own_row_and_column(threads: int) -> None:
    a, b = np.ones((600, 80), "f"), np.ones((80, 300), "f")
    a[5, 3], b[7, 11] = np.nan, np.inf
    made = linalg._dot(a, b)
    assert np.isnan(made[5]).all()
    assert np.isinf(np.delete(made[:, 11], 5)).all()
    assert (np.delete(np.delete(made, 5, 0), 11, 1) == 80).all()


def test_a_matrix_times_its_transpose_is_symmetric(threads: int) -> None:
    a = np.random.default_rng(2).standard_normal((300, 70)).astype("f")
    made = linalg._dot(a, a.T)
    assert np.array_equal(made, made.T)


def test_shapes_that_do_not_fit_are_refused_as_by_pytorch(threads: int) -> None:
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        torch.ones(200, 3) @ torch.ones(4, 200)


@pytest.mark.skipif(not _native.available(), reason="needs the native kernels")
def test_blas_itself_works_on_one_thread(threads: int) -> None:
    linalg._dot(np.ones((300, 300), "f"), np.ones((300, 300), "f"))
    assert get_blas_threads() in (1, None)  # None: numpy has another BLAS


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "3,2"}, 3),
        ({"MKL_NUM_THREADS": "5"}, 5),
        ({"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "5"}, 2),
        ({"OMP_NUM_THREADS": "none", "OPENBLAS_NUM_THREADS": "4"}, 4),
    ],
)
def test_the_environment_sets_the_number_of_threads(
    variables: dict[str, str], wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert _native._default_threads() == wanted


@pytest.mark.skipif(not _native.available(), reason="needs the native kernels")
@pytest.mark.parametrize(
    ("sizes", "itemsize", "left_to_blas"),
    [
        ((1024, 1024, 1024), 4, True),
        ((1024, 1024, 1024), 8, False),
        ((1024, 2048, 1024), 8, True),  # 2147 million multiplications
        ((600, 600, 600), 4, False),  # 216 million multiplications
        ((700, 700, 700), 4, True),  # 343 million
        ((4096, 320, 256), 8, False),
        ((16, 1024, 1024), 4, False),
        ((16, 1024, 1024), 8, True),  # 256 by 1024 float64 of the second matrix are 2 MB
        ((512, 1024, 1024), 8, True),
        ((513, 1024, 1024), 8, False),  # enough rows to make up for packing it
        ((16, 512, 1024), 8, False),  # 1 MB
        ((16, 513, 1024), 8, True),
        ((16, 4096, 64), 8, False),
        ((1024, 16, 1024), 4, True),  # half of each line of 32 would be padding
        ((1024, 25, 64), 4, True),
        ((1024, 26, 64), 4, False),
        ((1024, 16, 1024), 8, False),  # lines of 16
        ((1024, 12, 64), 8, True),
        ((1024, 13, 64), 8, False),
        ((64, 64, 64), 4, False),
    ],
    ids=str,
)
def test_products_left_to_an_openblas_that_uses_avx512(
    sizes: tuple[int, int, int], itemsize: int, left_to_blas: bool
) -> None:
    uses_blas = _native._kernels.uses_blas
    for core in ("SkylakeX", "SKYLAKEX", "Cooperlake", "SapphireRapids"):
        assert uses_blas(core, *sizes, itemsize) is left_to_blas
    for core in ("Haswell", "Zen", "Skylake", "Prescott", "", None):
        assert uses_blas(core, *sizes, itemsize) is False
