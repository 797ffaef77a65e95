"""Convolution on arrays: against a plain loop, and its two transposes against the map itself."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mindtorch_v2._backends.cpu import conv_arrays
from mindtorch_v2._backends.cpu.conv_arrays import correlate, input_gradient, tap_slices, weight_gradient

CHANNELS = [(2, 3, 1), (4, 2, 1), (4, 6, 2), (4, 4, 4), (3, 6, 3)]  # in, out, groups
# kernel, stride, ...
FORMS = [(1, 1, 0, 1), (1, 2, 0, 1), (3, 1, 1, 1), (3, 2, 1, 1), (2, 1, 0, 2), (2, 2, 0, 1), (3, 3, 2, 2)]


def plain(x, weight, out, stride, padding, dilation, groups):
    """The definition: every output channel sums over the inputs of its group and the kernel."""
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    result = np.zeros((x.shape[0], weight.shape[0], *out))
    per_group, taken = weight.shape[0] // groups, weight.shape[1]
    for o in range(weight.shape[0]):
        group = o // per_group
        image = padded[:, group * taken : (group + 1) * taken]
        for tap, window in tap_slices(weight.shape[2:], out, stride, dilation):
            result[:, o] += np.einsum("nc...,c->n...", image[(..., *window)], weight[(o, slice(None), *tap)])
    return result


@pytest.mark.parametrize("rank, channels, form", [*product((1, 2, 3), CHANNELS, FORMS)])
def test_map_and_transposes(rank, channels, form, monkeypatch):
    monkeypatch.setattr(conv_arrays, "COLUMN_BYTES", 4096)  # the batch is taken in pieces
    (taken, made, groups), (k, s, p, d) = channels, form
    rng = np.random.default_rng(rank)
    size = (7, 6, 5)[:rank]
    kernel, stride, padding, dilation = ((n,) * rank for n in (k, s, p, d))
    out = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n in size)
    x, direction = rng.standard_normal((2, 3, taken, *size))
    weight, turn = rng.standard_normal((2, made, taken // groups, *kernel))
    options = stride, padding, dilation, groups
    y = correlate(x, weight, out, *options)
    np.testing.assert_allclose(y, plain(x, weight, out, *options), atol=1e-10)
    g = rng.standard_normal(y.shape)
    to_x = input_gradient(g, weight, size, *options)
    to_weight = weight_gradient(g, x, weight.shape, *options)
    assert to_x.shape == x.shape and to_weight.shape == weight.shape
    np.testing.assert_allclose(np.vdot(to_x, direction), np.vdot(g, plain(direction, weight, out, *options)))
    np.testing.assert_allclose(np.vdot(to_weight, turn), np.vdot(g, plain(x, turn, out, *options)))
    assert all(a.flags.c_contiguous for a in (y, to_x, to_weight))


def test_input_gradient_of_a_larger_input():
    """With output padding, a transposed convolution writes more than the forward map reads: zeros."""
    g, weight = np.ones((1, 1, 2, 2)), np.ones((1, 1, 2, 2))
    made = input_gradient(g, weight, (5, 5), (2, 2), (0, 0), (1, 1), 1)
    assert made[0, 0, :4, :4].all() and not made[0, 0, 4].any() and not made[0, 0, :, 4].any()


def test_sizes_of_lines_may_be_one_object():
    two, x, w = (2,), np.ones((1, 4, 13), np.float32), np.ones((4, 1, 5), np.float32)
    out = correlate(x, w, (5,), two, two, two, 4)
    assert out.shape == (1, 4, 5) and out[0, 0].tolist() == [4, 5, 5, 5, 4]
    grad = input_gradient(np.ones_like(out), w, (13,), two, two, two, 4)
    assert grad.sum() == out.sum()  # of ones both count the pairs of an element and a tap
