"""Nested tensors: batches of tensors of different sizes, without padding.

The layout `torch.jagged` has one dimension in which the parts differ, the first after the batch, and knows most
operators of a transformer; `torch.strided` (the default) takes parts that differ anywhere, and knows fewer. An operator
that is not known raises.
"""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .._tensor import Tensor, jagged, strided
from . import _functions
from ._tensor import from_parts as _from_parts

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def _check_layout(layout: Any) -> Any:
    if layout not in (None, strided, jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    return layout or strided


def as_nested_tensor(
    ts: Tensor | list[Tensor] | tuple[Tensor, ...], dtype: Any = None, device: Any = None, layout: Any = None
) -> Tensor:
    """A nested tensor of a list of tensors, or of the rows of a tensor; gradients reach them.

    >>> parts = torch.nested.as_nested_tensor([torch.ones(1), torch.ones(2)]).unbind()
    >>> [part.tolist() for part in parts]
    [[1.0], [1.0, 1.0]]
    """
    kind = _check_layout(layout)
    if isinstance(ts, Tensor) and ts.is_nested:
        return ts
    parts = list(ts.unbind(0) if isinstance(ts, Tensor) else ts)
    if not parts or not all(isinstance(part, Tensor) for part in parts):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors")
    return _from_parts([part.to(device or part.device, dtype or part.dtype) for part in parts], kind)


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A nested tensor of copies of the tensors (or of lists of numbers), a leaf of the graph.

    >>> torch.nested.nested_tensor([torch.arange(2.), torch.arange(3.)])
    nested_tensor([
      tensor([0., 1.]),
      tensor([0., 1., 2.])
    ])
    """
    kind = _check_layout(layout)
    parts = [
        part.detach().to(device or part.device, dtype or part.dtype)
        if isinstance(part, Tensor)
        else torch.tensor(part, dtype=dtype, device=device)
        for part in tensor_list
    ]
    if not parts:
        raise RuntimeError("nested_tensor(): expected at least one tensor")
    return _from_parts([part.clone() for part in parts], kind).requires_grad_(requires_grad)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """A jagged tensor over `values` [n, ...]: part i is `values[offsets[i] : offsets[i + 1]]`.

    >>> jagged = torch.nested.nested_tensor_from_jagged(torch.arange(5.), torch.tensor([0, 2, 5]))
    >>> [part.tolist() for part in jagged.unbind()]
    [[0.0, 1.0], [2.0, 3.0, 4.0]]

    With `lengths` instead of `offsets` the parts lie one after another; with both, parts may leave holes, and are
    copied.
    """
    if jagged_dim not in (None, 1):
        raise NotImplementedError(f"nested_tensor_from_jagged: jagged_dim={jagged_dim}; only 1 is supported")
    if offsets is None and lengths is None:
        raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
    if offsets is None:
        return _functions.packed(values, _functions.lengths_to_offsets(lengths))
    if lengths is None:
        return _functions.packed(values, offsets)
    return _from_parts([values[start : start + n] for start, n in zip(offsets.tolist(), lengths.tolist())], jagged)


def to_padded_tensor(input: Tensor, padding: float, output_size: Any = None) -> Tensor:
    """A dense tensor of the parts, filled up with `padding` to the largest size or to `output_size`.

    >>> torch.nested.to_padded_tensor(torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]), 0.)
    tensor([[1., 0.],
            [1., 1.]])
    """
    return _functions.to_padded_tensor(input, padding, output_size)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = strided) -> Tensor:
    """Of every row of a dense tensor the elements from `start` on, `length` of them: `dim` must be 1.

    >>> rows, start, length = torch.arange(6.).reshape(2, 3), torch.tensor([0, 1]), torch.tensor([2, 1])
    >>> [part.tolist() for part in torch.nested.narrow(rows, 1, start, length, layout=torch.jagged).unbind()]
    [[0.0, 1.0], [4.0]]

    Starts and lengths are numbers, or tensors with one for each row.
    """
    if dim != 1:
        raise RuntimeError(f"torch.nested.narrow: only dim=1 is supported, got {dim}")
    rows = tensor.shape[0]
    starts, lengths = (n.tolist() if isinstance(n, Tensor) else [n] * rows for n in (start, length))
    return _from_parts([row[s : s + n] for row, s, n in zip(tensor.unbind(0), starts, lengths)], _check_layout(layout))


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """Of every row of a dense tensor the elements where the mask is True, as a jagged tensor.

    >>> mask = torch.tensor([[True, False, True], [False, True, False]])
    >>> [part.tolist() for part in torch.nested.masked_select(torch.arange(6.).reshape(2, 3), mask).unbind()]
    [[0.0, 2.0], [4.0]]
    """
    if tensor.dim() < 2:
        raise RuntimeError(f"masked_select: expected a tensor of at least 2 dimensions, got {tensor.dim()}")
    whole = mask.expand(tensor.shape[: mask.dim()]) if mask.dim() <= tensor.dim() else mask
    return _from_parts([row[chosen] for row, chosen in zip(tensor.unbind(0), whole.unbind(0))], jagged)
