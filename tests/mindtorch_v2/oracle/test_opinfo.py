"""Samples of PyTorch's operator tables give PyTorch's values, types, shapes and gradients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mindtorch_v2 as torch

from . import opinfo

# Names in the tables of what gives other numbers on purpose or by chance, and why (docs/differences-from-pytorch.md).
DIFFERENT: dict[str, str] = {
    **dict.fromkeys(("empty", "empty_like", "empty_permuted"), "the memory's old content"),
    "as_strided_scatter": "no gradient goes to what is overwritten",
    "linalg.householder_product": "the gradient of a product of no reflections is zero, PyTorch's is None",
    "nn.functional.group_norm": "a gradient that is zero, of which PyTorch keeps roundings of the sum",
    "nn.functional.layer_norm": "a gradient that is zero, of which PyTorch keeps roundings of the sum",
}
# The inputs are of order 10, sums have up to 70 terms, and inverses of small random matrices are conditioned to 1e2
# or so: a hundred roundings of the largest element are what correct answers may differ by.
ROUNDINGS = 100
SAMPLES = opinfo.load()


def _compare(got, want, where):
    assert (got is None) == (want is None), f"{where}: got {got}, PyTorch {want}"
    if want is None:
        return
    assert str(got.dtype) == f"torch.{want['d']}", f"{where}: {got.dtype}, PyTorch {want['d']}"
    assert list(got.shape) == want["s"], f"{where}: shape {list(got.shape)}, PyTorch {want['s']}"
    expected = opinfo.array(want)
    wide = got.detach().to(torch.complex128 if got.is_complex() else torch.float64)
    actual = wide.numpy().reshape(-1) if expected.dtype.kind in "fc" else got.detach().numpy().reshape(-1)
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(actual, expected, err_msg=where)
        return
    unit = max(torch.finfo(got.dtype).eps, 2.0**-30)  # nine digits are recorded
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(float(finite.max(initial=0.0)), 1.0)
    np.testing.assert_allclose(actual, expected, rtol=ROUNDINGS * unit, atol=ROUNDINGS * unit * scale, err_msg=where)


@pytest.mark.parametrize("name", [n for n in SAMPLES if n not in DIFFERENT])
def test_samples(name):
    for number, (path, args, named, outputs, gradients) in enumerate(SAMPLES[name]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, grads = opinfo.run(torch, path, args, named)
        assert len(got) == len(outputs), f"sample {number}: {len(got)} outputs, PyTorch {len(outputs)}"
        for i, (g, w) in enumerate(zip(got, outputs)):
            _compare(g, w, f"sample {number}, output {i}")
        assert len(grads) == len(gradients), f"sample {number}: {len(grads)} gradients, PyTorch {len(gradients)}"
        for i, (g, w) in enumerate(zip(grads, gradients)):
            _compare(g, w, f"sample {number}, gradient {i}")


def test_differences_are_of_operators_in_the_tables():
    assert DIFFERENT.keys() <= SAMPLES.keys()
