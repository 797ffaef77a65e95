"""What operators do with nested tensors: by name, part by part or on the packed elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._dispatch import aten
from .._shape import normalize_dim
from .._tensor import Tensor, jagged, strided, wrap
from ..nn import functional
from ._tensor import NestedTensor, RaggedSize, from_parts, make_nested, map_parts, with_values

HANDLERS: dict[str, Callable[..., Any]] = {}
# Functions of single elements: of one nested tensor, and of several of the same sizes.
_UNARY = (
    *(
        "abs",
        "neg",
        "exp",
        "log",
        "log1p",
        "expm1",
        "sqrt",
        "rsqrt",
        "square",
        "reciprocal",
        "sin",
        "cos",
        "erf",
        "pow",
    ),
    *("floor", "ceil", "round", "sgn", "sign", "clamp", "clamp_min", "clamp_max", "nan_to_num", "isnan", "isinf"),
    *("tanh", "sigmoid", "relu", "gelu", "silu", "elu", "leaky_relu", "softplus", "hardtanh", "mish", "dropout"),
    *("alpha_dropout", "celu", "hardshrink", "hardsigmoid", "hardswish", "logsigmoid", "relu6", "selu", "softshrink"),
    *("softsign", "tanhshrink", "threshold", "uniform", "normal", "bernoulli", "fill", "zero"),
    *("erf", "logical_not", "positive", "clone", "detach", "alias"),
    *("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like"),
)
_BINARY = (
    *("add", "sub", "rsub", "mul", "div", "true_divide", "floor_divide", "remainder", "pow", "maximum", "minimum"),
    *("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "where", "masked_fill"),
)


def handles(*names: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        for name in names:
            HANDLERS[name] = function
        return function

    return register


def is_nested(value: Any) -> bool:
    return isinstance(value, NestedTensor)


def call(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The function `func` where at least one argument is nested.

    Functions of elements are called on the packed elements, with whatever other arguments `func` itself takes
    (`nn.functional.relu(x, inplace)`); what they write in place has then changed the nested tensor.
    """
    name = getattr(func, "__name__", str(func))
    short = name[2:-2] if name.startswith("__") and name.endswith("__") else name
    short = {"truediv": "div", "invert": "logical_not"}.get(short, short)
    if short in HANDLERS:
        return HANDLERS[short](*args, **kwargs)
    source, *rest = args
    plain = short.rstrip("_")
    if plain in _UNARY and is_nested(source) and not any(isinstance(a, Tensor) for a in rest):
        result = (getattr(aten, short) if short != name else func)(source._values, *rest, **kwargs)
        return source if result is source._values else with_values(source, result)
    if short in _BINARY:
        return _pointwise(getattr(aten, short), args, kwargs)
    if plain in _BINARY and is_nested(source):
        func(source._values, *(_elements_for(a, source) for a in rest), **kwargs)
        return source
    raise NotImplementedError(
        f"{name}: no implementation for nested tensors; unbind() gives the parts, to_padded_tensor() a dense tensor"
    )


# --- elements
def _pointwise(function: Any, args: Any, kwargs: dict[str, Any]) -> NestedTensor:
    """A function of elements; all nested arguments have the same sizes, dense ones broadcast to every part."""
    model = next(a for a in args if is_nested(a))
    return with_values(model, function(*(_elements_for(a, model) for a in args), **kwargs))


def _elements_for(value: Any, model: NestedTensor) -> Any:
    if is_nested(value):
        if value._layout is not model._layout or value._sizes != model._sizes:
            raise RuntimeError(
                f"nested tensors of different sizes or layouts: {value._sizes} ({value._layout}) and {model._sizes} "
                f"({model._layout})"
            )
        return value._values
    if not isinstance(value, Tensor) or value.dim() == 0:
        return value
    if model._layout is strided or model._ragged:
        raise RuntimeError("Expected both self and other to be nested, but got a nested self and non-nested other")
    while value.dim() >= model.dim() and value.shape[0] == 1:
        value = aten.squeeze(value, 0)
    if value.dim() == model.dim() - 1 and value.shape[0] != 1 or value.dim() >= model.dim():
        raise RuntimeError(
            f"a tensor of size {tuple(value.shape)} cannot be broadcast to a nested one of {model.shape}"
        )
    return value


@handles("to", "_to_copy")
def to(self: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
    return with_values(self, self._values.to(*args, **kwargs))


@handles("contiguous")
def contiguous(self: NestedTensor, *, memory_format: Any = None) -> NestedTensor:
    return from_parts(self.unbind(), jagged) if self._ragged else self


# --- dimensions
def _inner_dim(self: NestedTensor, dim: int, name: str) -> int:
    """A dimension of the nested tensor as one of its parts; the batch and the ragged dimension are refused."""
    d = normalize_dim(dim, self.dim())
    if d == 0 or (self._layout is jagged and d - 1 == self._ragged):
        raise RuntimeError(f"{name}(): not supported for NestedTensor on {'dim=0' if d == 0 else 'ragged dim'}")
    return d - 1


@handles("transpose", "swapaxes")
def transpose(self: NestedTensor, dim0: int, dim1: int) -> NestedTensor:
    a, b = normalize_dim(dim0, self.dim()) - 1, normalize_dim(dim1, self.dim()) - 1
    if min(a, b) < 0:
        raise RuntimeError("transpose(): the batch dimension of a nested tensor cannot be exchanged")
    if self._layout is strided or self._ragged not in (a, b):
        return map_parts(self, lambda part: aten.transpose(part, a, b))
    target = b if self._ragged == a else a
    parts = [aten.transpose(part, a, b) for part in self.unbind()]
    return from_parts(parts, jagged, target, self._ragged_size)


@handles("unflatten")
def unflatten(self: NestedTensor, dim: int, sizes: Any) -> NestedTensor:
    d = _inner_dim(self, dim, "unflatten")
    return map_parts(self, lambda part: aten.unflatten(part, d, list(sizes)))


@handles("flatten")
def flatten(self: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> NestedTensor:
    first, last = _inner_dim(self, start_dim, "flatten"), _inner_dim(self, end_dim, "flatten")
    return map_parts(self, lambda part: aten.flatten(part, first, last))


@handles("unsqueeze")
def unsqueeze(self: NestedTensor, dim: int) -> NestedTensor:
    d = normalize_dim(dim, self.dim() + 1) - 1
    if d < 0 or (self._layout is jagged and d <= self._ragged):
        raise RuntimeError("unsqueeze(): nested tensors take a new dimension after the ragged one")
    return map_parts(self, lambda part: aten.unsqueeze(part, d))


@handles("squeeze")
def squeeze(self: NestedTensor, dim: int) -> NestedTensor:
    d = _inner_dim(self, dim, "squeeze")
    return map_parts(self, lambda part: aten.squeeze(part, d))


@handles("view", "reshape")
def view(self: NestedTensor, *size: Any) -> NestedTensor:
    """-1, or the ragged size itself, keeps the size of each part."""
    wanted = list(size[0]) if len(size) == 1 and not isinstance(size[0], int) else list(size)
    if wanted[0] not in (-1, len(self._sizes)):
        raise RuntimeError(f"view: a nested tensor of {len(self._sizes)} parts cannot have the size {wanted}")
    keep = [n if not isinstance(n, RaggedSize) else -1 for n in wanted[1:]]

    def shaped(part: Any) -> Any:
        return aten.reshape(part, [part.shape[d] if n == -1 and d < part.dim() else n for d, n in enumerate(keep)])

    return map_parts(self, shaped)


@handles("chunk")
def chunk(self: NestedTensor, chunks: int, dim: int = 0) -> tuple[NestedTensor, ...]:
    d = _inner_dim(self, dim, "chunk")
    pieces = [aten.chunk(part, chunks, d) for part in self.unbind()]
    return tuple(from_parts(same, self._layout, self._ragged, self._ragged_size) for same in zip(*pieces))


@handles("cat", "concat")
def cat(tensors: Any, dim: int = 0) -> NestedTensor:
    first = tensors[0]
    if normalize_dim(dim, first.dim()) == 0:
        parts = [part for t in tensors for part in t.unbind()]
        return from_parts(parts, first._layout)
    d = _inner_dim(first, dim, "cat")
    joined = [aten.cat(list(same), d) for same in zip(*(t.unbind() for t in tensors))]
    return from_parts(joined, first._layout, first._ragged, first._ragged_size)


@handles("select")
def select(self: NestedTensor, dim: int, index: int) -> Any:
    if normalize_dim(dim, self.dim()) == 0:
        return self.unbind()[index]
    d = _inner_dim(self, dim, "select")
    return map_parts(self, lambda part: aten.select(part, d, index))


# --- reductions and layers
def _reduction(name: str) -> Any:
    def reduce(self: NestedTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        function = getattr(aten, name)
        options = {} if dtype is None else {"dtype": dtype}
        dims = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
        if not dims:
            return function(self._values, **options)
        inner = [_inner_dim(self, d, name) for d in dims]
        return map_parts(self, lambda part: function(part, inner, keepdim, **options))

    return reduce


for _name in ("sum", "mean", "amax", "amin"):
    HANDLERS[_name] = _reduction(_name)
HANDLERS["max"] = lambda self: aten.max(self._values)
HANDLERS["min"] = lambda self: aten.min(self._values)


def _normalized(name: str) -> Any:
    def run(self: NestedTensor, dim: int, dtype: Any = None, **options: Any) -> NestedTensor:
        d = _inner_dim(self, dim, name)
        return map_parts(self, lambda part: getattr(aten, name)(part, d, dtype))

    return run


for _name in ("softmax", "log_softmax"):
    HANDLERS[_name] = _normalized(_name)


@handles("linear")
def linear(input: NestedTensor, weight: Any, bias: Any = None) -> NestedTensor:
    _inner_dim(input, -1, "linear")
    return map_parts(input, lambda part: aten.linear(part, weight, bias))


@handles("matmul", "rmatmul", "bmm", "mm")
def matmul(self: Any, other: Any) -> NestedTensor:
    if is_nested(self) and is_nested(other):
        products = [aten.matmul(a, b) for a, b in zip(self.unbind(), other.unbind())]
        return from_parts(products, self._layout, self._ragged if self._layout is jagged else 0)
    if not is_nested(self) or other.dim() > 2:
        raise RuntimeError("matmul(): a nested tensor is multiplied by a matrix or by another nested tensor")
    _inner_dim(self, -1, "matmul")
    return map_parts(self, lambda part: aten.matmul(part, other))


@handles("layer_norm", "rms_norm")
def layer_norm(input: NestedTensor, normalized_shape: Any, *rest: Any, **options: Any) -> NestedTensor:
    for d in range(len(normalized_shape)):
        _inner_dim(input, -1 - d, "layer_norm")
    return map_parts(input, lambda part: aten.layer_norm(part, normalized_shape, *rest, **options))


@handles("embedding")
def embedding(first: Any, second: Any, *rest: Any, **options: Any) -> NestedTensor:
    """The operator takes (weight, indices), the function of nn.functional (indices, weight)."""
    if is_nested(second):
        return map_parts(second, lambda part: aten.embedding(first, part, *rest, **options))
    return map_parts(first, lambda part: functional.embedding(part, second, *rest, **options))


@handles("scaled_dot_product_attention")
def attention(query: Any, key: Any, value: Any, attn_mask: Any = None, *rest: Any, **options: Any) -> NestedTensor:
    """Attention within each part: queries [heads, length, width]."""
    if attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: an attn_mask is not supported for nested tensors")
    found = [
        aten.scaled_dot_product_attention(q, k, v, None, *rest, **options)
        for q, k, v in zip(query.unbind(), key.unbind(), value.unbind())
    ]
    return from_parts(found, query._layout, query._ragged, query._ragged_size)


@handles("to_padded_tensor", "nested_to_padded_tensor")
def to_padded_tensor(self: NestedTensor, padding: float, output_size: Any = None) -> Any:
    """A dense tensor of the largest size in each dimension, or of `output_size`, filled up with `padding`."""
    largest = tuple(int(n) for n in np.max(np.array(self._sizes), axis=0))
    size = largest if output_size is None else tuple(output_size[1:])
    if any(n < m for n, m in zip(size, largest)):
        raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
    rows = []
    for part in self.unbind():
        missing = [side for n, m in zip(reversed(size), reversed(part.shape)) for side in (0, n - m)]
        rows.append(aten.constant_pad_nd(part, missing, padding))
    return aten.stack(rows)


def packed(values: Any, offsets: Any) -> NestedTensor:
    """A jagged tensor over `values` [n, ...] whose part i is `values[offsets[i] : offsets[i + 1]]`."""
    borders = offsets._array
    sizes = [(int(b - a), *values.shape[1:]) for a, b in zip(borders[:-1], borders[1:])]
    return make_nested(jagged, values, sizes, 0, RaggedSize(offsets))


def lengths_to_offsets(lengths: Any) -> Any:
    return wrap(np.concatenate([[0], np.cumsum(lengths._array)]).astype(np.int64))


@handles("numpy", "tolist", "item", "__array__", "stride", "data_ptr")
def refuse(self: NestedTensor, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(
        "a nested tensor has no single array of elements; unbind() gives its parts, values() its elements"
    )


# --- methods whose arguments no operator's schema expresses
def _method(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return HANDLERS[name](self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in (
    *("to", "contiguous", "view", "reshape", "unflatten", "to_padded_tensor", "sum", "mean", "max", "min"),
    *("numpy", "tolist", "item", "__array__", "stride", "data_ptr"),
):
    setattr(NestedTensor, _name, _method(_name))
