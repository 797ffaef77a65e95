"""LSTM layers as one kernel, and packing: sequences laid out time step by time step without the padding."""
from __future__ import annotations

import numpy as np

from ..._dispatch.registry import kernel

# --- one LSTM layer in one direction --------------------------------------------------------------------------------------
# sigmoid(x) = tanh(x / 2) / 2 + 1 / 2, so that one tanh serves all four gates i, f, g, o of a step.

def _gate_constants(hidden: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    scale = np.full(4 * hidden, 0.5, dtype)
    scale[2 * hidden:3 * hidden] = 1
    return scale, 1 - scale


@kernel("mkldnn_rnn_layer")
def lstm_layer(input: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray, b_ih: np.ndarray, b_hh: np.ndarray, hx: np.ndarray,
               cx: np.ndarray, reverse: bool, batch_sizes: tuple[int, ...], mode: int, hidden_size: int, num_layers: int,
               has_biases: bool, bidirectional: bool, batch_first: bool, train: bool) -> tuple[np.ndarray, ...]:
    """Output, last h, last c, and a workspace of the gates, c and tanh(c) of every step."""
    steps, batch, features = input.shape
    n = w_hh.shape[1]
    scale, shift = _gate_constants(n, input.dtype)
    bias = (b_ih + b_hh) * scale if has_biases else None
    gates = (input.reshape(steps * batch, features) @ (w_ih * scale[:, None]).T).reshape(steps, batch, 4 * n)
    if bias is not None:
        gates += bias
    recurrent = np.ascontiguousarray((w_hh * scale[:, None]).T)
    work = np.empty((steps, batch, 6 * n), input.dtype)
    out = np.empty((steps, batch, n), input.dtype)
    h, c = hx, cx
    for t in range(steps - 1, -1, -1) if reverse else range(steps):
        z = gates[t]
        z += h @ recurrent
        row = work[t]
        a = np.tanh(z, out=row[:, :4 * n])
        a *= scale
        a += shift
        new = row[:, 4 * n:5 * n]
        np.multiply(a[:, n:2 * n], c, out=new)
        new += a[:, :n] * a[:, 2 * n:3 * n]
        c = new
        h = np.multiply(a[:, 3 * n:], np.tanh(c, out=row[:, 5 * n:]), out=out[t])
    return out, h.copy(), c.copy(), work


@kernel("mkldnn_rnn_layer_backward")
def lstm_layer_backward(input: np.ndarray, w_ih: np.ndarray, w_hh: np.ndarray, b_ih: np.ndarray, b_hh: np.ndarray, hx: np.ndarray,
                        cx: np.ndarray, output: np.ndarray, hy: np.ndarray, cy: np.ndarray, grad_output: np.ndarray | None,
                        grad_hy: np.ndarray | None, grad_cy: np.ndarray | None, reverse: bool, mode: int, hidden_size: int,
                        num_layers: int, has_biases: bool, train: bool, bidirectional: bool, batch_sizes: tuple[int, ...],
                        batch_first: bool, work: np.ndarray) -> tuple[np.ndarray, ...]:
    steps, batch, n = output.shape
    order = range(steps) if reverse else range(steps - 1, -1, -1)   # against the forward direction
    before = 1 if reverse else -1                                    # where the previous step of the recurrence stands
    a = work[:, :, :4 * n]
    slope = a * (1 - a)
    g = a[:, :, 2 * n:3 * n]
    slope[:, :, 2 * n:3 * n] = 1 - g * g
    tanh_c = work[:, :, 5 * n:]
    through = a[:, :, 3 * n:] * (1 - tanh_c * tanh_c)                # d h / d c
    dz = np.empty((steps, batch, 4 * n), input.dtype)
    dh = np.zeros_like(hx) if grad_hy is None else grad_hy
    dc = np.zeros_like(cx) if grad_cy is None else grad_cy
    for t in order:
        if grad_output is not None:
            dh = dh + grad_output[t]
        dc = dh * through[t] + dc
        last = t + before
        c_before = work[last, :, 4 * n:5 * n] if 0 <= last < steps else cx
        row, gate = dz[t], a[t]
        np.multiply(dc, gate[:, 2 * n:3 * n], out=row[:, :n])
        np.multiply(dc, c_before, out=row[:, n:2 * n])
        np.multiply(dc, gate[:, :n], out=row[:, 2 * n:3 * n])
        np.multiply(dh, tanh_c[t], out=row[:, 3 * n:])
        row *= slope[t]
        dc = dc * gate[:, n:2 * n]
        dh = row @ w_hh
    flat = dz.reshape(steps * batch, 4 * n)
    h_before = np.concatenate([output[1:], hx[None]] if reverse else [hx[None], output[:-1]]).reshape(steps * batch, n)
    grad_bias = flat.sum(0) if has_biases else np.zeros_like(b_ih)
    return ((flat @ w_ih).reshape(input.shape), flat.T @ input.reshape(steps * batch, input.shape[-1]), flat.T @ h_before, grad_bias,
            grad_bias.copy() if has_biases else np.zeros_like(b_hh), dh, dc)


# --- packing -----------------------------------------------------------------------------------------------------------------
def _inside(steps: int, lengths: np.ndarray) -> np.ndarray:
    """(steps, batch): where a sequence still has an element."""
    return np.arange(steps)[:, None] < lengths[None, :]


@kernel("_pack_padded_sequence")
def pack_padded_sequence(input: np.ndarray, lengths: np.ndarray, batch_first: bool) -> tuple[np.ndarray, np.ndarray]:
    """`lengths` are sorted from long to short, so that the rows of each step are the first ones."""
    padded = input.swapaxes(0, 1) if batch_first else input
    check_lengths(padded, lengths)
    mask = _inside(int(lengths[0]), lengths)
    return padded[:len(mask)][mask], mask.sum(1)


def check_lengths(padded: np.ndarray, lengths: np.ndarray) -> None:
    """RuntimeError unless sequences of these lengths can be packed; no element of `padded` is read."""
    if padded.size == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(lengths) != padded.shape[1]:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
                           f"(batch_size={padded.shape[1]})")
    if lengths.min() <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if (np.diff(lengths) > 0).any():
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                           "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
                           "do not need ONNX exportability.")
    if lengths[0] > padded.shape[0]:
        raise RuntimeError(f"Expected input's sequence dimension to be at least {int(lengths[0])}, but got {padded.shape[0]}")


@kernel("_pack_padded_sequence_backward")
def pack_padded_sequence_backward(grad: np.ndarray, input_size: tuple[int, ...], batch_sizes: np.ndarray,
                                  batch_first: bool) -> np.ndarray:
    out = np.zeros(input_size, grad.dtype)
    padded = out.swapaxes(0, 1) if batch_first else out
    mask = np.arange(padded.shape[1])[None, :] < batch_sizes[:, None]
    padded[:len(mask)][mask] = grad
    return out
