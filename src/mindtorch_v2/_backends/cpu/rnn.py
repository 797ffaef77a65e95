"""LSTM layers as one kernel, and packing: sequences laid out time step by time step without the padding."""

from __future__ import annotations

import numpy as np

from ..._dispatch.registry import KERNELS, kernel
from ..._native import accelerated
from . import linalg as linalg  # whose products are used


def _mm(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product by the operator's own kernel, which shares it among threads and knows the fastest library."""
    product: np.ndarray = KERNELS["mm"](a, b)
    return product


# --- one LSTM layer in one direction
@kernel("mkldnn_rnn_layer")
def lstm_layer(
    input: np.ndarray,
    w_ih: np.ndarray,
    w_hh: np.ndarray,
    b_ih: np.ndarray,
    b_hh: np.ndarray,
    hx: np.ndarray,
    cx: np.ndarray,
    reverse: bool,
    batch_sizes: tuple[int, ...],
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool,
    train: bool,
) -> tuple[np.ndarray, ...]:
    """Output, last h, last c, and a workspace of the gates i, f, g, o, c and tanh(c) of every step."""
    steps, batch, features = input.shape
    n = w_hh.shape[1]
    gates = _mm(input.reshape(steps * batch, features), w_ih.T).reshape(steps, batch, 4 * n)
    if has_biases:
        gates += b_ih + b_hh
    work, out = np.empty((steps, batch, 6 * n), input.dtype), np.empty((steps, batch, n), input.dtype)
    _steps(gates, np.ascontiguousarray(w_hh), np.ascontiguousarray(hx), np.ascontiguousarray(cx), out, work, reverse)
    last = 0 if reverse else -1
    return out, out[last].copy(), work[last, :, 4 * n : 5 * n].copy(), work


@accelerated("lstm_forward")
def _steps(
    gates: np.ndarray, w_hh: np.ndarray, h: np.ndarray, c: np.ndarray, out: np.ndarray, work: np.ndarray, reverse: bool
) -> None:
    """Fills `out` (steps, batch, hidden) and the workspace; `gates` (steps, batch, 4 * hidden) hold the inputs'
    part, and are used up.
    """
    steps, _, n = out.shape
    # sigmoid(x) = tanh(x / 2) / 2 + 1 / 2: one tanh serves all four gates of a step
    scale = np.full(4 * n, 0.5, out.dtype)
    scale[2 * n : 3 * n] = 1
    recurrent = np.ascontiguousarray((w_hh * scale[:, None]).T)
    for t in range(steps - 1, -1, -1) if reverse else range(steps):
        z = gates[t]
        z *= scale
        z += h @ recurrent
        row = work[t]
        a = np.tanh(z, out=row[:, : 4 * n])
        a *= scale
        a += 1 - scale
        new = row[:, 4 * n : 5 * n]
        np.multiply(a[:, n : 2 * n], c, out=new)
        new += a[:, :n] * a[:, 2 * n : 3 * n]
        c = new
        h = np.multiply(a[:, 3 * n :], np.tanh(c, out=row[:, 5 * n :]), out=out[t])


@kernel("mkldnn_rnn_layer_backward")
def lstm_layer_backward(
    input: np.ndarray,
    w_ih: np.ndarray,
    w_hh: np.ndarray,
    b_ih: np.ndarray,
    b_hh: np.ndarray,
    hx: np.ndarray,
    cx: np.ndarray,
    output: np.ndarray,
    hy: np.ndarray,
    cy: np.ndarray,
    grad_output: np.ndarray | None,
    grad_hy: np.ndarray | None,
    grad_cy: np.ndarray | None,
    reverse: bool,
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    train: bool,
    bidirectional: bool,
    batch_sizes: tuple[int, ...],
    batch_first: bool,
    work: np.ndarray,
) -> tuple[np.ndarray, ...]:
    steps, batch, n = output.shape
    dz = np.empty((steps, batch, 4 * n), input.dtype)
    dh, dc = (
        np.zeros(x.shape, x.dtype) if g is None else np.array(g, order="C") for x, g in ((hx, grad_hy), (cx, grad_cy))
    )
    grad = None if grad_output is None else np.ascontiguousarray(grad_output)
    _steps_back(dz, np.ascontiguousarray(w_hh), dh, np.ascontiguousarray(cx), dc, work, grad, reverse)
    flat = dz.reshape(steps * batch, 4 * n)
    h_before = np.concatenate([output[1:], hx[None]] if reverse else [hx[None], output[:-1]]).reshape(steps * batch, n)
    grad_bias = flat.sum(0) if has_biases else np.zeros_like(b_ih)
    return (
        _mm(flat, w_ih).reshape(input.shape),
        _mm(flat.T, input.reshape(steps * batch, input.shape[-1])),
        _mm(flat.T, h_before),
        grad_bias,
        grad_bias.copy() if has_biases else np.zeros_like(b_hh),
        dh,
        dc,
    )


@accelerated("lstm_backward")
def _steps_back(
    dz: np.ndarray,
    w_hh: np.ndarray,
    dh: np.ndarray,
    cx: np.ndarray,
    dc: np.ndarray,
    work: np.ndarray,
    grad: np.ndarray | None,
    reverse: bool,
) -> None:
    """Fills `dz`, the gradient of the gates.

    `dh` and `dc` hold the gradients of the last h and c, and then those of the first.
    """
    steps, _, width = dz.shape
    n = width // 4
    order = range(steps) if reverse else range(steps - 1, -1, -1)  # against the forward direction
    before = 1 if reverse else -1  # where the previous step of the recurrence stands
    a = work[:, :, : 4 * n]
    slope = a * (1 - a)
    g = a[:, :, 2 * n : 3 * n]
    slope[:, :, 2 * n : 3 * n] = 1 - g * g
    tanh_c = work[:, :, 5 * n :]
    through = a[:, :, 3 * n :] * (1 - tanh_c * tanh_c)  # d h / d c
    for t in order:
        if grad is not None:
            dh += grad[t]
        dc += dh * through[t]
        last = t + before
        c_before = work[last, :, 4 * n : 5 * n] if 0 <= last < steps else cx
        row, gate = dz[t], a[t]
        np.multiply(dc, gate[:, 2 * n : 3 * n], out=row[:, :n])
        np.multiply(dc, c_before, out=row[:, n : 2 * n])
        np.multiply(dc, gate[:, :n], out=row[:, 2 * n : 3 * n])
        np.multiply(dh, tanh_c[t], out=row[:, 3 * n :])
        row *= slope[t]
        dc *= gate[:, n : 2 * n]
        np.matmul(row, w_hh, out=dh)


# --- packing
def _inside(steps: int, lengths: np.ndarray) -> np.ndarray:
    """(steps, batch): where a sequence still has an element."""
    return np.arange(steps)[:, None] < lengths[None, :]


@kernel("_pack_padded_sequence")
def pack_padded_sequence(input: np.ndarray, lengths: np.ndarray, batch_first: bool) -> tuple[np.ndarray, np.ndarray]:
    """`lengths` are sorted from long to short, so that the rows of each step are the first ones."""
    padded = input.swapaxes(0, 1) if batch_first else input
    check_lengths(padded, lengths)
    mask = _inside(int(lengths[0]), lengths)
    return padded[: len(mask)][mask], mask.sum(1)


def check_lengths(padded: np.ndarray, lengths: np.ndarray) -> None:
    """RuntimeError unless sequences of these lengths can be packed; no element of `padded` is read."""
    if padded.size == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(lengths) != padded.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={padded.shape[1]})"
        )
    if lengths.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (np.diff(lengths) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    if lengths[0] > padded.shape[0]:
        raise RuntimeError(
            f"Expected input's sequence dimension to be at least {int(lengths[0])}, but got {padded.shape[0]}"
        )


@kernel("_pack_padded_sequence_backward")
def pack_padded_sequence_backward(
    grad: np.ndarray, input_size: tuple[int, ...], batch_sizes: np.ndarray, batch_first: bool
) -> np.ndarray:
    out = np.zeros(input_size, grad.dtype)
    padded = out.swapaxes(0, 1) if batch_first else out
    mask = np.arange(padded.shape[1])[None, :] < batch_sizes[:, None]
    padded[: len(mask)][mask] = grad
    return out
