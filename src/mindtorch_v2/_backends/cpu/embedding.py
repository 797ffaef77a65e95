"""CPU kernels of embeddings: gradients of table rows, renormalised rows, bags of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._dispatch.registry import kernel
from .errors import INTS, check_range, outside, type_word
from .row_sums import add_rows

SUM, MEAN, MAX = 0, 1, 2
_FLOAT16 = np.dtype(np.float16)


def _table(rows: np.ndarray, index: np.ndarray, count: int) -> np.ndarray:
    """A table of `count` rows in which equal indices' rows are added up; half precision is added in single."""
    half = rows.dtype == _FLOAT16
    out = np.zeros((count, rows.shape[1]), np.float32 if half else rows.dtype)
    add_rows(out, index, rows.astype(np.float32) if half else rows)
    return out.astype(_FLOAT16) if half else out


def _share_by_frequency(rows: np.ndarray, index: np.ndarray, count: int) -> np.ndarray:
    """Each row divided by how often its index occurs."""
    frequency = np.bincount(index, minlength=count)[index]
    return rows / frequency[:, None].astype(rows.dtype)


@kernel("embedding_dense_backward")
def embedding_dense_backward(
    grad_output: np.ndarray, indices: np.ndarray, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    if indices.dtype not in INTS:
        raise RuntimeError(
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{type_word(indices)}Tensor instead (while checking arguments for embedding_backward)"
        )
    index = indices.reshape(-1)
    check_range(index, 0, num_weights, IndexError)
    rows = grad_output.reshape(index.size, grad_output.shape[-1])
    if scale_grad_by_freq:
        rows = _share_by_frequency(rows, index, num_weights)
    out = _table(rows, index, num_weights)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out


@kernel("embedding_renorm_")
def embedding_renorm_(self: np.ndarray, indices: np.ndarray, max_norm: float, norm_type: float) -> None:
    if outside(indices, self.shape[0]) is not None:
        raise IndexError("index out of range in self")
    used = np.unique(indices)
    rows = self[used]
    norms = np.linalg.norm(rows.astype(np.float32, copy=False) if rows.dtype == _FLOAT16 else rows, norm_type, axis=1)
    long = norms > max_norm
    self[used[long]] = rows[long] * (max_norm / (norms[long, None] + 1e-7)).astype(self.dtype)


# --- bags
def _check_bags(
    weight: np.ndarray, indices: np.ndarray, offsets: np.ndarray, mode: int, samples: np.ndarray | None
) -> None:
    if samples is not None and mode != SUM:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if offsets.size and offsets[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {int(offsets[0])}"
        )
    if offsets.size and offsets[-1] > indices.size:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {indices.size} but got offsets[-1] of "
            f"{int(offsets[-1])}"
        )
    bad = outside(indices, weight.shape[0])
    if bad is not None:
        raise RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {bad}")


def _largest(
    rows: np.ndarray, index: np.ndarray, starts: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The largest element per bag and column, and the index of the row that it came from."""
    out = np.zeros((len(sizes), rows.shape[1]), rows.dtype)
    source = np.zeros(out.shape, np.int64)
    for bag in np.flatnonzero(sizes):
        part = rows[starts[bag] : starts[bag] + sizes[bag]]
        first = part.argmax(axis=0)
        out[bag] = part[first, np.arange(part.shape[1])]
        source[bag] = index[starts[bag] + first]
    return out, source


@kernel("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    weight: np.ndarray,
    indices: np.ndarray,
    offsets: np.ndarray,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: np.ndarray | None,
    include_last_offset: bool,
    padding_idx: int,
) -> tuple[Any, ...]:
    """The bags' sums, means or maxima; the bag of each index; how many rows each bag counts; where maxima came from."""
    _check_bags(weight, indices, offsets, mode, per_sample_weights)
    bags = offsets.size - int(include_last_offset)
    bag_of = np.searchsorted(offsets[:bags], np.arange(indices.size), side="right") - 1
    if include_last_offset:
        bag_of[offsets[-1] :] = -1  # after the last bag
    kept = (indices != padding_idx) & (bag_of >= 0)
    index, bag = indices[kept], bag_of[kept]
    sizes = np.bincount(bag, minlength=bags)
    rows = weight.take(index, axis=0)
    if mode == MAX:
        out, source = _largest(rows, index, np.concatenate(([0], np.cumsum(sizes)[:-1])), sizes)
        return out, bag_of, sizes, source
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[kept][:, None]
    out = _table(rows, bag, bags)
    if mode == MEAN:
        out /= np.maximum(sizes, 1)[:, None].astype(out.dtype)
    return out, bag_of, sizes, sizes


@kernel("_embedding_bag_dense_backward")
def embedding_bag_dense_backward(
    grad: np.ndarray,
    indices: np.ndarray,
    offset2bag: np.ndarray,
    bag_size: np.ndarray,
    maximum_indices: np.ndarray,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: np.ndarray | None,
    padding_idx: int,
) -> Any:
    if mode == MAX:
        width = grad.shape[1]
        full = np.flatnonzero(bag_size)
        indices = (maximum_indices[full] * width + np.arange(width)).reshape(-1, 1)
        return _table(grad[full].reshape(-1, 1), indices[:, 0], num_weights * width).reshape(num_weights, width)
    kept = (indices != padding_idx) & (offset2bag >= 0)
    index, bag = indices[kept], offset2bag[kept]
    rows = grad.take(bag, axis=0)
    if mode == MEAN:
        rows = rows / bag_size[bag][:, None].astype(rows.dtype)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[kept][:, None]
    if scale_grad_by_freq:
        rows = _share_by_frequency(rows, index, num_weights)
    return _table(rows, index, num_weights)


@kernel("_embedding_bag_per_sample_weights_backward")
def per_sample_weights_backward(
    grad: np.ndarray,
    weight: np.ndarray,
    indices: np.ndarray,
    offsets: np.ndarray,
    offset2bag: np.ndarray,
    mode: int,
    padding_idx: int,
) -> Any:
    out = (grad.take(offset2bag, axis=0) * weight.take(indices, axis=0)).sum(axis=1)
    return np.where((indices == padding_idx) | (offset2bag < 0), out.dtype.type(0), out)
