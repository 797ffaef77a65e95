"""How many floating-point operations operators take: multiplications and additions, two per step of a dot product."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from .._ops import table as _table
from .._tensor import Tensor
from ..ops import OpOverloadPacket, aten

Formula = Callable[..., int]
_F = TypeVar("_F", bound=Callable[..., Any])
flop_registry: dict[OpOverloadPacket, Formula] = {}


def get_shape(value: Any) -> Any:
    """Tensors as their shapes, inside lists and dictionaries too; everything else as it is."""
    if isinstance(value, Tensor):
        return value.shape
    if isinstance(value, (list, tuple)):
        shapes = [get_shape(item) for item in value]
        return shapes if isinstance(value, list) else tuple(shapes)
    return {key: get_shape(item) for key, item in value.items()} if isinstance(value, dict) else value


def shape_wrapper(f: Formula) -> Formula:
    """A formula on shapes, made to take the arguments and the result of a call."""

    @wraps(f)
    def of_values(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        return f(*get_shape(args), out_shape=get_shape(out_val), **get_shape(kwargs))

    return of_values


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[_F], _F]:
    """Declares how operators are counted. The function is called with the shapes of the arguments and `out_shape`;
    with `get_raw`, with the arguments themselves and `out_val`.

    targets   `torch.ops.aten.mm`, or a list of such
    """

    def declare(formula: _F) -> _F:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    f"torch.ops.mylib.foo), got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula if get_raw else shape_wrapper(formula)
        return formula

    return declare


# ---- formulas: multiplications and additions, two per step of a dot product
# ---------------------------------------------------


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Sequence[int], b_shape: Sequence[int], *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """(m, k) times (k, n)."""
    m, k = a_shape
    k2, n = b_shape
    if k != k2:
        raise AssertionError(f"matmul: inner dimensions must match (k == k2), got {k} and {k2}")
    return m * n * 2 * k


@register_flop_formula(aten.addmm)
def addmm_flop(
    self_shape: Any, a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any
) -> int:
    """The product alone."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any) -> int:
    """b products (m, k) times (k, n)."""
    b, m, k = a_shape
    b2, k2, n = b_shape
    if b != b2 or k != k2:
        raise AssertionError(f"bmm: batch and inner dimensions must match, got {tuple(a_shape)} and {tuple(b_shape)}")
    return b * m * n * 2 * k


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(
    self_shape: Any, a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any
) -> int:
    """The products alone."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(
    x_shape: Sequence[int], w_shape: Sequence[int], out_shape: Sequence[int], transposed: bool = False
) -> int:
    """A convolution: each position of the output (of the input, where it is transposed) meets the whole filter."""
    positions = (x_shape if transposed else out_shape)[2:]
    c_out, c_in, *filter_size = w_shape
    return math.prod(positions) * math.prod(filter_size) * x_shape[0] * c_out * c_in * 2


@register_flop_formula([aten.convolution, aten._convolution])
def conv_flop(
    x_shape: Any,
    w_shape: Any,
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Any,
    x_shape: Any,
    w_shape: Any,
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    _output_padding: Any,
    _groups: Any,
    output_mask: Sequence[bool],
    out_shape: Any,
    **kwargs: Any,
) -> int:
    """The input's gradient is the opposite kind of convolution; the weight's is one of inputs with gradients over
    the batch.
    """

    def swapped(shape: Sequence[int]) -> list[int]:
        return [shape[1], shape[0], *shape[2:]]

    flops = 0
    if output_mask[0]:
        flops += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        moving, fixed = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        flops += conv_flop_count(swapped(moving), swapped(fixed), swapped(out_shape[1]), transposed=False)
    return flops


def _attention_sizes(query_shape: Any, key_shape: Any, value_shape: Any) -> tuple[int, int, int, int, int]:
    """(batch times heads, queries, keys, size of a query, size of a value), after a check that they fit."""
    b, h, s_q, d_q = query_shape
    b2, h2, s_k, d_k = key_shape
    b3, h3, s_v, d_v = value_shape
    if not (b == b2 == b3 and h2 == h3 and h % h2 == 0 and d_q == d_k and s_k == s_v):
        raise AssertionError(
            f"attention: query {tuple(query_shape)}, key {tuple(key_shape)} and value {tuple(value_shape)} do not fit"
        )
    return b * h, s_q, s_k, d_q, d_v


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Attention: queries by keys, then weights by values. Masks and causality save nothing."""
    batch, queries, keys, d_q, d_v = _attention_sizes(query_shape, key_shape, value_shape)
    return bmm_flop((batch, queries, d_q), (batch, d_q, keys)) + bmm_flop((batch, queries, keys), (batch, keys, d_v))


@register_flop_formula(aten._scaled_dot_product_flash_attention_for_cpu)
def sdpa_flop(
    query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def sdpa_backward_flop_count(grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """The weights once more, then the gradients of weights, values, queries and keys: five batches of products."""
    batch, queries, keys, d_q, d_v = _attention_sizes(query_shape, key_shape, value_shape)
    if tuple(grad_out_shape[:3]) != (*query_shape[:2], queries) or grad_out_shape[3] != d_v:
        raise AssertionError(
            f"attention: a gradient of shape {tuple(grad_out_shape)} does not fit query {tuple(query_shape)} and "
            f"value {tuple(value_shape)}"
        )
    # weights again; gradients of queries and of keys
    by_queries = bmm_flop((batch, queries, d_q), (batch, d_q, keys))
    by_values = bmm_flop((batch, queries, d_v), (batch, d_v, keys))  # gradients of weights and of values
    return 3 * by_queries + 2 * by_values


def sdpa_backward_flop(
    grad_out_shape: Any,
    query_shape: Any,
    key_shape: Any,
    value_shape: Any,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


def _register_attention_backward() -> None:
    """The backward of CPU attention is an operator only where one is declared."""
    name = "_scaled_dot_product_flash_attention_for_cpu_backward"
    if name in _table.OVERLOADS:
        register_flop_formula(getattr(aten, name))(sdpa_backward_flop)


_register_attention_backward()
