"""Recurrent networks, written with other ops.

The projections of the inputs of all time steps are one product; only the recurrence itself is a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from ... import _accelerators
from ... import _dtype as dt
from ..._dispatch import aten, modes
from ..._dispatch.registry import composite
from ..._python.creation import tensor

Hidden = tuple[Any, ...]  # (h,) or (h, c)
Step = Callable[[Any, Hidden, "Weights"], Hidden]


class Weights:
    """The parameters of one layer in one direction."""

    __slots__ = ("w_ih", "w_hh", "b_ih", "b_hh", "w_hr")

    def __init__(self, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None, w_hr: Any = None) -> None:
        self.w_ih, self.w_hh, self.b_ih, self.b_hh, self.w_hr = w_ih, w_hh, b_ih, b_hh, w_hr


def gather_weights(params: Sequence[Any], has_biases: bool, projected: bool) -> list[Weights]:
    """The flat list of parameters, by layer and direction."""
    per = 2 + 2 * has_biases + projected
    if len(params) % per:
        raise RuntimeError(f"got an incorrect number of RNN parameters: {len(params)} is not a multiple of {per}")
    out = []
    for start in range(0, len(params), per):
        one = list(params[start : start + per])
        w_hr = one.pop() if projected else None
        b_ih, b_hh = one[2:] if has_biases else (None, None)
        out.append(Weights(one[0], one[1], b_ih, b_hh, w_hr))
    return out


# --- one step: the projected input and the hidden state give the next hidden state ----------------------------------
def lstm_step(projected: Any, hidden: Hidden, w: Weights) -> Hidden:
    """i, f, o = sigmoid, g = tanh of their gates; c' = f c + i g; h' = o tanh(c')."""
    h, c = hidden
    gates = aten.add_(aten.linear(h, w.w_hh, w.b_hh), projected)
    i, f, g, o = aten.unsafe_chunk(gates, 4, 1)
    i, f, g, o = aten.sigmoid_(i), aten.sigmoid_(f), aten.tanh_(g), aten.sigmoid_(o)
    cell = aten.add_(aten.mul(f, c), aten.mul(i, g))
    out = aten.mul(o, aten.tanh(cell))
    return (out if w.w_hr is None else aten.linear(out, w.w_hr)), cell


def gru_step(projected: Any, hidden: Hidden, w: Weights) -> Hidden:
    """r, z = sigmoid of their gates; n = tanh(x_n + r h_n); h' = n + z (h - n)."""
    h = hidden[0]
    from_input = aten.unsafe_chunk(projected, 3, 1)
    from_hidden = aten.unsafe_chunk(aten.linear(h, w.w_hh, w.b_hh), 3, 1)
    reset = aten.sigmoid_(aten.add_(from_hidden[0], from_input[0]))
    update = aten.sigmoid_(aten.add_(from_hidden[1], from_input[1]))
    new = aten.tanh_(aten.add(from_input[2], aten.mul_(from_hidden[2], reset)))
    return (aten.add_(aten.mul_(aten.sub(h, new), update), new),)


def tanh_step(projected: Any, hidden: Hidden, w: Weights) -> Hidden:
    """h' = tanh(W_ih x + W_hh h + b)."""
    return (aten.tanh(aten.add_(aten.linear(hidden[0], w.w_hh, w.b_hh), projected)),)


def relu_step(projected: Any, hidden: Hidden, w: Weights) -> Hidden:
    """h' = relu(W_ih x + W_hh h + b)."""
    return (aten.relu(aten.add_(aten.linear(hidden[0], w.w_hh, w.b_hh), projected)),)


LSTM_MODE = 2  # the count of an LSTM among the kinds of recurrent layers
STEPS: dict[str, Step] = {"lstm": lstm_step, "gru": gru_step, "rnn_tanh": tanh_step, "rnn_relu": relu_step}


# --- one direction of one layer --------------------------------------------------------------------------------------
def run_padded(step: Step, input: Any, hidden: Hidden, w: Weights, reverse: bool) -> tuple[Any, Hidden]:
    """All steps of (T, N, F): the outputs (T, N, H) and the last hidden state."""
    steps = aten.unbind(aten.linear(input, w.w_ih, w.b_ih), 0)
    outputs = []
    for projected in reversed(steps) if reverse else steps:
        hidden = step(projected, hidden, w)
        outputs.append(hidden[0])
    return aten.stack(outputs[::-1] if reverse else outputs, 0), hidden


def run_lstm_layer(input: Any, hidden: Hidden, w: Weights, reverse: bool) -> tuple[Any, Hidden]:
    """`run_padded` of an LSTM as a single operator."""
    has_biases = w.b_ih is not None
    b_ih = w.b_ih if has_biases else aten.zeros(w.w_ih.shape, dtype=input.dtype, device=input.device)
    b_hh = w.b_hh if has_biases else aten.zeros(w.w_hh.shape, dtype=input.dtype, device=input.device)
    out, h, c, _ = aten.mkldnn_rnn_layer(
        input,
        w.w_ih,
        w.w_hh,
        b_ih,
        b_hh,
        hidden[0],
        hidden[1],
        reverse,
        (),
        LSTM_MODE,
        w.w_hh.shape[1],
        1,
        has_biases,
        False,
        False,
        modes.grad_enabled(),
    )
    return out, (h, c)


def run_packed(
    step: Step, data: Any, sizes: Sequence[int], hidden: Hidden, w: Weights, reverse: bool
) -> tuple[Any, Hidden]:
    """All steps of a packed sequence. Sequences that end (or, in reverse, begin) at a step leave (join) the batch."""
    steps = aten.split_with_sizes(aten.linear(data, w.w_ih, w.b_ih), list(sizes), 0)
    if reverse:
        return _packed_backwards(step, steps, sizes, hidden, w)
    outputs, ended = [], []
    current, size = tuple(aten.narrow(x, 0, 0, sizes[0]) for x in hidden), sizes[0]
    for projected, now in zip(steps, sizes):
        if now < size:
            ended.append(tuple(aten.narrow(x, 0, now, size - now) for x in current))
            current, size = tuple(aten.narrow(x, 0, 0, now) for x in current), now
        current = step(projected, current, w)
        outputs.append(current[0])
    ended.append(current)
    last = tuple(aten.cat(list(parts), 0) for parts in zip(*reversed(ended)))
    return aten.cat(outputs, 0), last


def _packed_backwards(
    step: Step, steps: Sequence[Any], sizes: Sequence[int], hidden: Hidden, w: Weights
) -> tuple[Any, Hidden]:
    size = sizes[-1]
    current = tuple(aten.narrow(x, 0, 0, size) for x in hidden)
    outputs = []
    for projected, now in zip(reversed(steps), reversed(sizes)):
        if now > size:
            joined = tuple(aten.narrow(x, 0, size, now - size) for x in hidden)
            current, size = tuple(aten.cat([a, b], 0) for a, b in zip(current, joined)), now
        current = step(projected, current, w)
        outputs.append(current[0])
    return aten.cat(outputs[::-1], 0), current


# --- all layers
def run_layers(
    step: Step,
    input: Any,
    sizes: Sequence[int] | None,
    states: Iterator[Hidden],
    weights: list[Weights],
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Any, list[Any]]:
    """The output of the last layer, and the last hidden states of all layers and directions, stacked."""
    directions = 2 if bidirectional else 1
    if len(weights) != num_layers * directions:
        raise RuntimeError(f"expected the weights of {num_layers * directions} layers, got {len(weights)}")
    last: list[Hidden] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            w, hidden = weights[layer * directions + direction], next(states)
            if (
                sizes is None
                and step is lstm_step
                and w.w_hr is None
                and input.dtype is dt.float32
                and not _accelerators.avoids(input._keys, "mkldnn_rnn_layer")
            ):
                out, state = run_lstm_layer(input, hidden, w, direction == 1)
            elif sizes is None:
                out, state = run_padded(step, input, hidden, w, direction == 1)
            else:
                out, state = run_packed(step, input, sizes, hidden, w, direction == 1)
            outputs.append(out)
            last.append(state)
        input = outputs[0] if directions == 1 else aten.cat(outputs, -1)
        if dropout != 0 and train and layer < num_layers - 1:
            input = aten.dropout(input, dropout, True)
    return input, [aten.stack(list(parts), 0) for parts in zip(*last)]


def _states(hx: Any, is_lstm: bool) -> Iterator[Hidden]:
    """The initial states, one per layer and direction."""
    return zip(*(aten.unbind(x, 0) for x in (hx if is_lstm else (hx,))))


def _selected_states(hx: Any) -> Iterator[Hidden]:
    """The initial states of a fused LSTM, taken one by one as PyTorch's kernel takes them."""
    return (tuple([aten.select(x, 0, k) for x in hx]) for k in range(hx[0].shape[0]))


def _has_projection(hx: Any) -> bool:
    """Whether the hidden state of an LSTM has another size than its cell state."""
    return bool(hx[0].shape[2] != hx[1].shape[2])


def _register_padded(name: str) -> None:
    step, is_lstm = STEPS[name], name == "lstm"

    @composite(f"{name}.input")
    def padded(
        input: Any,
        hx: Any,
        params: Any,
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        x = aten.transpose(input, 0, 1) if batch_first else input
        if x.shape[0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        is_projected = is_lstm and _has_projection(hx)
        fused = is_lstm and not is_projected and x.dtype is dt.float32
        states = _selected_states(hx) if fused else _states(hx, is_lstm)
        x = aten.contiguous(x) if fused and not x.is_contiguous() else x
        out, last = run_layers(
            step,
            x,
            None,
            states,
            gather_weights(params, has_biases, is_projected),
            num_layers,
            dropout,
            train,
            bidirectional,
        )
        return (aten.transpose(out, 0, 1) if batch_first else out, *last)


def _register_packed(name: str) -> None:
    step, is_lstm = STEPS[name], name == "lstm"

    @composite(f"{name}.data")
    def packed(
        data: Any,
        batch_sizes: Any,
        hx: Any,
        params: Any,
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> Any:
        out, last = run_layers(
            step,
            data,
            batch_sizes.tolist(),
            _states(hx, is_lstm),
            gather_weights(params, has_biases, is_lstm and _has_projection(hx)),
            num_layers,
            dropout,
            train,
            bidirectional,
        )
        return (out, *last)


def _register_cell(name: str) -> None:
    step, is_lstm = STEPS[name], name == "lstm"

    @composite(f"{name}_cell")
    def cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
        weights = Weights(w_ih, w_hh, b_ih, b_hh)
        made = step(aten.linear(input, w_ih, b_ih), tuple(hx) if is_lstm else (hx,), weights)
        return made if is_lstm else made[0]


for _name in STEPS:
    _register_padded(_name)
    _register_packed(_name)
    _register_cell(_name)


# --- padding
@composite("_pad_packed_sequence")
def pad_packed_sequence(data: Any, batch_sizes: Any, batch_first: bool, padding_value: float, total_length: int) -> Any:
    """The padded tensor and the lengths of the sequences."""
    sizes = batch_sizes.tolist()
    steps, batch = len(sizes), sizes[0]
    if total_length > 0:
        if total_length < steps:
            raise RuntimeError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    out = aten.full((steps, batch, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    start = step = 0
    for size, run in groupby(sizes):  # steps with as many sequences are copied at once
        n = len(list(run))
        part = aten.slice(data, 0, start, start + n * size)
        aten.copy_(
            aten.slice(aten.slice(out, 0, step, step + n), 1, 0, size), aten.view(part, (n, size, *data.shape[1:]))
        )
        start, step = start + n * size, step + n
    lengths = [sum(size > i for size in sizes) for i in range(batch)]
    return (aten.transpose(out, 0, 1) if batch_first else out), tensor(lengths)


@composite("pad_sequence")
def pad_sequence(sequences: Any, batch_first: bool, padding_value: float, padding_side: str) -> Any:
    """Sequences of (L, *) stacked to (longest, batch, *) or (batch, longest, *)."""
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError("Expected padding_side to be one of left or right, but got " + padding_side + ".")
    longest = max(s.shape[0] for s in sequences)
    first = sequences[0]
    head = (len(sequences), longest) if batch_first else (longest, len(sequences))
    out = aten.full((*head, *first.shape[1:]), padding_value, dtype=first.dtype, device=first.device)
    for i, sequence in enumerate(sequences):
        length = sequence.shape[0]
        start = longest - length if padding_side == "left" else 0
        target = aten.narrow(out, 1 if batch_first else 0, start, length)
        aten.copy_(aten.select(target, 0 if batch_first else 1, i), sequence)
    return out
