"""LSTM and GRU, of both interfaces: values against numpy, gradients against differences of the same numpy functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from oldlib import Old
from simlib import INT64, Buffer, Sim, SimError

STEPS, BATCH, INPUTS, HIDDEN = 3, 2, 4, 3
KEPT = {"LSTM": 7, "GRU": 5}
GATES = {"LSTM": 4, "GRU": 3}
Arrays = dict[str, np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def cell(kind: str, x: np.ndarray, state: tuple[np.ndarray, ...], w: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    gx, gh = x @ w[0].T + w[2], state[0] @ w[1].T + w[3]
    if kind == "GRU":
        (rx, zx, nx), (rh, zh, nh) = np.split(gx, 3, -1), np.split(gh, 3, -1)
        r, z = sigmoid(rx + rh), sigmoid(zx + zh)
        return ((1 - z) * np.tanh(nx + r * nh) + z * state[0],)
    i, f, g, o = np.split(gx + gh, 4, -1)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def network(
    kind: str, a: Arrays, layers: int, directions: int, lengths: tuple[int, ...] | None = None
) -> list[np.ndarray]:
    """Output and last states; x is [steps, batch, features]."""
    x, last = a["x"], []
    for layer in range(layers):
        outs = []
        for d in range(directions):
            at = layer * directions + d
            w = [a[f"w{at}_{k}"] for k in range(4)]
            state, out = (
                tuple(a[s][at] for s in ("h", "c")[: len(KEPT) - (kind == "GRU")]),
                np.zeros((*x.shape[:2], HIDDEN)),
            )
            for t in range(len(x))[:: -1 if d else 1]:
                alive = np.array([[t < n] for n in lengths or (len(x),) * BATCH])
                state = tuple(np.where(alive, new, old) for new, old in zip(cell(kind, x[t], state, w), state))
                out[t] = np.where(alive, state[0], 0)
            outs.append(out)
            last.append(state)
        x = np.concatenate(outs, -1)
    return [x, *(np.stack([s[k] for s in last]) for k in range(len(last[0])))]


def operands(kind: str, layers: int, directions: int) -> Arrays:
    rng = np.random.default_rng(layers * 10 + directions)
    a = {
        "x": rng.standard_normal((STEPS, BATCH, INPUTS)),
        "h": rng.standard_normal((layers * directions, BATCH, HIDDEN)),
    }
    if kind == "LSTM":
        a["c"] = rng.standard_normal(a["h"].shape)
    for at in range(layers * directions):
        inputs = INPUTS if at < directions else HIDDEN * directions
        shapes = [
            (GATES[kind] * HIDDEN, inputs),
            (GATES[kind] * HIDDEN, HIDDEN),
            (GATES[kind] * HIDDEN,),
            (GATES[kind] * HIDDEN,),
        ]
        a.update({f"w{at}_{k}": rng.standard_normal(shape) for k, shape in enumerate(shapes)})
    return a


def slopes(function: Callable[[Arrays], float], a: Arrays) -> Arrays:
    """Gradients by central differences."""
    result = {}
    for name, array in a.items():
        result[name] = np.zeros_like(array)
        for at in np.ndindex(array.shape):
            kept = array[at]
            ends = []
            for step in (1e-5, -1e-5):
                array[at] = kept + step
                ends.append(function(a))
            array[at] = kept
            result[name][at] = (ends[0] - ends[1]) / 2e-5
    return result


def close(buffer: Buffer, expected: np.ndarray) -> None:
    np.testing.assert_allclose(buffer.read().reshape(expected.shape), expected, rtol=1e-4, atol=1e-5)


class Run:
    """One forward operator on the device, with what its backward operator needs."""

    def __init__(self, sim: Sim, kind: str, a: Arrays, layers: int, directions: int, train: bool = True, first: bool = False,
                 sizes: list[int] | None = None) -> None:  # fmt: skip
        self.sim, self.kind, self.lists = sim, kind, layers * directions
        x = a["x"].swapaxes(0, 1) if first else a["x"]
        if sizes:
            x = x.reshape(STEPS * BATCH, INPUTS)
        self.x = self.up(x)
        self.sizes = sim.upload(np.array(sizes, np.int64), INT64) if sizes else None
        self.params = [self.up(a[f"w{at}_{k}"]) for at in range(self.lists) for k in range(4)]
        self.states = [self.up(a[s]) for s in ("h", "c") if s in a]
        self.kept = [
            [sim.buffer((STEPS, BATCH, HIDDEN)) for _ in range(self.lists)] if train else [] for _ in range(KEPT[kind])
        ]
        self.options = (True, layers, 0.0, train, directions == 2, first)
        out = (BATCH, STEPS, directions * HIDDEN) if first else (STEPS, BATCH, directions * HIDDEN)
        self.out = [sim.buffer(out), *(sim.buffer(a["h"].shape) for _ in self.states)]
        hx = self.states if kind == "LSTM" else self.states[0]
        sim.run(kind, self.x, self.params, hx, self.sizes, *self.options, *self.out, *self.kept)

    def up(self, array: np.ndarray) -> Buffer:
        return self.sim.upload(np.ascontiguousarray(array, np.float32))

    def backward(self, grads: list[np.ndarray]) -> tuple[list[Buffer], list[Buffer]]:
        given = [self.up(g) for g in grads]
        made = [self.sim.buffer(self.x.shape), *(self.sim.buffer(s.shape) for s in self.states)]
        params = [self.sim.buffer(p.shape) for p in self.params]
        bias, layers, dropout, train, both, first = self.options
        if self.kind == "LSTM":
            self.sim.run("LstmBackward", self.x, self.states, self.params, *given, *self.kept, self.sizes, bias, layers, dropout, train,
                         both, first, None, *made, params)  # fmt: skip
        else:
            self.sim.run("GRUBackward", self.x, self.params, self.states[0], *given, *self.kept, self.sizes, bias, layers, both, first,
                         *made, params)  # fmt: skip
        return made, params


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize(("layers", "directions"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_whole_networks_and_their_gradients(sim: Sim, kind: str, layers: int, directions: int) -> None:
    a = operands(kind, layers, directions)
    expected = network(kind, a, layers, directions)
    run = Run(sim, kind, a, layers, directions)
    for buffer, value in zip(run.out, expected):
        close(buffer, value)
    weights = [np.random.default_rng(k).standard_normal(e.shape) for k, e in enumerate(expected)]
    wanted = slopes(
        lambda b: sum(float((w * r).sum()) for w, r in zip(weights, network(kind, b, layers, directions))), a
    )
    made, params = run.backward(weights)
    for buffer, name in zip(made, ("x", "h", "c")):
        close(buffer, wanted[name])
    for at, buffer in enumerate(params):
        close(buffer, wanted[f"w{at // 4}_{at % 4}"])


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_batch_first_and_inference(sim: Sim, kind: str) -> None:
    a = operands(kind, 1, 2)
    expected = network(kind, a, 1, 2)
    close(Run(sim, kind, a, 1, 2, first=True).out[0], expected[0].swapaxes(0, 1))
    close(Run(sim, kind, a, 1, 2, train=False).out[0], expected[0])


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_sequences_of_several_lengths(sim: Sim, kind: str) -> None:
    a = operands(kind, 1, 2)
    expected = network(kind, a, 1, 2, lengths=(3, 1))
    run = Run(sim, kind, a, 1, 2, sizes=[2, 1, 1])
    for buffer, value in zip(run.out, expected):
        close(buffer, value)
    weights = [np.random.default_rng(k).standard_normal(e.shape) for k, e in enumerate(expected)]
    wanted = slopes(lambda b: sum(float((w * r).sum()) for w, r in zip(weights, network(kind, b, 1, 2, (3, 1)))), a)
    close(run.backward(weights)[0][0], wanted["x"])


def test_a_missing_parameter_and_sizes_that_grow_are_refused(sim: Sim) -> None:
    a = operands("LSTM", 1, 1)
    run = Run(sim, "LSTM", a, 1, 1)
    with pytest.raises(SimError, match="3 parameters for 1 layers need to be 4"):
        sim.run("LSTM", run.x, run.params[:3], run.states, None, *run.options, *run.out, *run.kept)
    with pytest.raises(SimError, match="batch size 2 of step 1"):
        Run(sim, "LSTM", a, 1, 1, sizes=[1, 2, 2])


def test_one_step_of_an_lstm(sim: Sim) -> None:
    a = operands("LSTM", 1, 1)
    a["x"] = a["x"][:1]
    w = [a[f"w0_{k}"] for k in range(4)]

    def up(array: np.ndarray) -> Buffer:
        return sim.upload(np.ascontiguousarray(array, np.float32))

    hy, cy, storage = (sim.buffer((BATCH, n)) for n in (HIDDEN, HIDDEN, 4 * HIDDEN))
    cx, gates = up(a["c"][0]), (a["x"][0] @ w[0].T, a["h"][0] @ w[1].T)
    sim.run("ThnnFusedLstmCell", *map(up, gates), cx, up(w[2]), up(w[3]), hy, cy, storage)
    expected = cell("LSTM", a["x"][0], (a["h"][0], a["c"][0]), w)
    close(hy, expected[0])
    close(cy, expected[1])
    dgates, dcx, dbias = sim.buffer((BATCH, 4 * HIDDEN)), sim.buffer((BATCH, HIDDEN)), sim.buffer((4 * HIDDEN,))
    dh, dc = (np.random.default_rng(k).standard_normal((BATCH, HIDDEN)) for k in range(2))
    sim.run("ThnnFusedLstmCellBackward", up(dh), up(dc), cx, cy, storage, True, dgates, dcx, dbias)

    def total(b: Arrays) -> float:
        h, c = cell("LSTM", b["x"][0], (b["h"][0], b["c"][0]), [b[f"w0_{k}"] for k in range(4)])
        return float((h * dh).sum() + (c * dc).sum())

    wanted = slopes(total, a)
    close(dcx, wanted["c"][0])
    close(dbias, wanted["w0_2"])
    np.testing.assert_allclose(dgates.read() @ w[0], wanted["x"][0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backwards", [False, True])
def test_an_lstm_of_the_older_interface(sim: Sim, backwards: bool) -> None:
    a = operands("LSTM", 1, 2)
    at = int(backwards)
    order = [0, 2, 1, 3]  # this one is told that its gates stand as i j f o
    blocks = [np.concatenate([np.split(a[f"w{at}_{k}"], 4)[o] for o in order]) for k in range(4)]
    weight, bias = np.concatenate([blocks[0].T, blocks[1].T]), blocks[2] + blocks[3]

    def up(array: np.ndarray) -> Buffer:
        return sim.upload(np.ascontiguousarray(array, np.float32))

    x, w, b, h, c = map(up, (a["x"], weight, bias, a["h"][at], a["c"][at]))
    out = [sim.buffer((STEPS, BATCH, HIDDEN)) for _ in range(8)]
    direction = "REDIRECTIONAL" if backwards else "UNIDIRECTIONAL"
    assert Old(sim).run("DynamicRNN", [x, w, b, None, h, c], out, direction=direction, gate_order="ijfo") == 0
    columns = slice(at * HIDDEN, (at + 1) * HIDDEN)
    close(out[0], network("LSTM", a, 1, 2)[0][..., columns])
    dy = np.random.default_rng(0).standard_normal(out[0].shape)
    wanted = slopes(lambda v: float((network("LSTM", v, 1, 2)[0][..., columns] * dy).sum()), a)
    zero, none = up(np.zeros((BATCH, HIDDEN))), up(np.zeros(()))
    grads = [sim.buffer(s) for s in (w.shape, b.shape, x.shape, h.shape, c.shape)]
    inputs = [x, w, b, out[0], h, c, out[1], out[2], up(dy), zero, zero, *out[3:], *([none] * 5)]
    assert Old(sim).run("DynamicRNNGrad", inputs, grads, direction=direction, gate_order="ijfo") == 0
    close(grads[2], wanted["x"])
    close(grads[3], wanted["h"][at])
    close(grads[4], wanted["c"][at])
    parts = [np.concatenate([np.split(wanted[f"w{at}_{k}"], 4)[o] for o in order]) for k in range(3)]
    close(grads[0], np.concatenate([parts[0].T, parts[1].T]))
    close(grads[1], parts[2])
