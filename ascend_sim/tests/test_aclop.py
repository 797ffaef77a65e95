"""Operators of the older interface: values against numpy. The recurrent ones are in test_ops_recurrent.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from oldlib import Old
from simlib import Buffer, Sim


def normal(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


def up(sim: Sim, array: np.ndarray) -> Buffer:
    return sim.upload(np.ascontiguousarray(array, np.float32))


def swish(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-2 * x))


def mish(x: np.ndarray) -> np.ndarray:
    return x * np.tanh(np.log1p(np.exp(x)))


@pytest.mark.parametrize(("name", "function", "given"), [("Swish", swish, {"scale": 2.0}), ("Mish", mish, {})])
def test_functions_and_their_gradients(sim: Sim, name: str, function: Callable, given: dict[str, float]) -> None:
    x, out = normal((3, 4)), sim.buffer((3, 4))
    assert Old(sim).run(name, [up(sim, x)], [out], **given) == 0
    np.testing.assert_allclose(out.read(), function(x), rtol=1e-5, atol=1e-6)
    assert Old(sim).run(f"{name}Grad", [up(sim, np.full((3, 4), 3.0)), up(sim, x)], [out], **given) == 0
    np.testing.assert_allclose(out.read(), 3 * (function(x + 1e-5) - function(x - 1e-5)) / 2e-5, rtol=1e-4, atol=1e-5)


def test_leaky_relu(sim: Sim) -> None:
    out = sim.buffer((2,))
    assert Old(sim).run("LeakyRelu", [up(sim, np.array([-2.0, 3.0]))], [out], negative_slope=0.5) == 0
    assert out.read().tolist() == [-1.0, 3.0]


@pytest.mark.parametrize("power", [1.0, 2.0, np.inf])
def test_distances_between_rows(sim: Sim, power: float) -> None:
    x, out = normal((4, 3)), sim.buffer((6,))
    assert Old(sim).run("Pdist", [up(sim, x)], [out], p=power) == 0
    expected = [np.linalg.norm(x[i] - x[j], power) for i in range(4) for j in range(i + 1, 4)]
    np.testing.assert_allclose(out.read(), expected, rtol=1e-5)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3), (2, 5, 2)])
def test_qr(sim: Sim, shape: tuple[int, ...], whole: bool) -> None:
    a = normal(shape)
    expected = np.linalg.qr(a, mode="complete" if whole else "reduced")
    q, r = sim.buffer(expected.Q.shape), sim.buffer(expected.R.shape)
    assert Old(sim).run("Qr", [up(sim, a)], [q, r], full_matrices=float(whole)) == 0
    np.testing.assert_allclose(q.read(), expected.Q, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(r.read(), expected.R, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("p", "expected"), [(2.0**31, [4, 6]), (-(2.0**31), [3, 5]), (1.0, [7, 11]), (0.0, [2, 2])])
def test_norms_in_two_steps(sim: Sim, p: float, expected: list[float]) -> None:
    between, out = sim.buffer((2,)), sim.buffer((2,))
    assert (
        Old(sim).run("LpNormReduceV2", [up(sim, np.array([[3.0, -4.0], [5.0, 6.0]]))], [between], p=p, axes=[-1]) == 0
    )
    assert Old(sim).run("LpNormUpdateV2", [between], [out], p=p) == 0
    assert out.read().tolist() == expected


def test_what_the_older_interface_does_not_have_is_named(sim: Sim) -> None:
    buffer = sim.buffer((2,))
    assert Old(sim).run("Svd", [buffer], [buffer]) == 207000
    assert "operator Svd" in (sim.message() or "")
    assert Old(sim).run("DynamicRNN", [buffer], [buffer]) == 161002
    assert Old(sim).run("Swish", [None], [buffer]) == 161002
    assert Old(sim).run("Pdist", [buffer] * 2, [buffer]) == 100000
