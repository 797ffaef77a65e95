"""Maps along one dimension: what they read, and that their transposes are transposes."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch_v2._backends.cpu.axis_maps import apply_map, apply_transpose, make_tap, padding_taps, resizing_taps

MAPS = {
    "reflection": (padding_taps("reflection_pad", 5, 3, 2), 5),
    "replication": (padding_taps("replication_pad", 4, 6, 1), 4),
    "cut": (padding_taps("replication_pad", 6, -2, -1), 6),
    "nearest up": (resizing_taps("nearest", 3, 8, False, None, True), 3),
    "nearest down": (resizing_taps("nearest", 9, 4, False, None, True), 9),
    "exact": (resizing_taps("exact", 5, 7, False, 1.4, True), 5),
    "linear": (resizing_taps("linear", 4, 11, False, None, True), 4),
    "corners": (resizing_taps("linear", 4, 11, True, None, True), 4),
    "cubic": (resizing_taps("cubic", 5, 8, False, None, True), 5),
    "scattered": ((make_tap(np.array([3, 0, 3, 1, 2, 0, 3])),), 4),
}


@pytest.mark.parametrize("axis", (-1, -2))
@pytest.mark.parametrize("name", MAPS)
def test_transpose(name, axis):
    taps, size = MAPS[name]
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, size, 3) if axis == -2 else (2, 3, size))
    y = apply_map(x, axis, taps)
    g = rng.standard_normal(y.shape)
    back = apply_transpose(g, axis, taps, size)
    assert back.shape == x.shape
    np.testing.assert_allclose(np.vdot(y, g), np.vdot(x, back))


def test_reads():
    x = np.arange(4.0)
    assert apply_map(x, -1, padding_taps("reflection_pad", 4, 2, 1)).tolist() == [2, 1, 0, 1, 2, 3, 2]
    assert apply_map(x, -1, padding_taps("replication_pad", 4, 2, 1)).tolist() == [0, 0, 0, 1, 2, 3, 3]
    assert apply_map(x, -1, resizing_taps("nearest", 4, 8, False, None, True)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert apply_map(x, -1, resizing_taps("linear", 4, 7, True, None, True)).tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3]


def test_infinities_stay_where_they_are():
    x = np.array([1.0, np.inf, 2.0, 3.0])
    assert np.isfinite(apply_map(x, -1, resizing_taps("linear", 4, 4, False, None, True))[[0, 2, 3]]).all()
