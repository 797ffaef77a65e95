"""Packing: sequences of different lengths, laid out time step by time step without the padding."""
from __future__ import annotations

import numpy as np

from ..._dispatch.registry import kernel


def _inside(steps: int, lengths: np.ndarray) -> np.ndarray:
    """(steps, batch): where a sequence still has an element."""
    return np.arange(steps)[:, None] < lengths[None, :]


@kernel("_pack_padded_sequence")
def pack_padded_sequence(input: np.ndarray, lengths: np.ndarray, batch_first: bool) -> tuple[np.ndarray, np.ndarray]:
    """`lengths` are sorted from long to short, so that the rows of each step are the first ones."""
    padded = input.swapaxes(0, 1) if batch_first else input
    _check(padded, lengths)
    mask = _inside(int(lengths[0]), lengths)
    return padded[:len(mask)][mask], mask.sum(1)


def _check(padded: np.ndarray, lengths: np.ndarray) -> None:
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
