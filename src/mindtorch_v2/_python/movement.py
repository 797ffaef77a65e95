"""Python conventions of the movement ops that no schema expresses: `x.to(...)`, tensors as separate arguments, sizes or
sections in one argument. Importing this module puts them in front of the ops of the same names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from .. import _device
from .. import _dtype as dt
from .._dispatch import aten
from .._dispatch.namespace import fronts
from .._tensor import Tensor, contiguous_format, preserve_format

_NOT_GIVEN: Any = object()
_TYPE_METHODS = {
    "half": dt.float16,
    "float": dt.float32,
    "double": dt.float64,
    "char": dt.int8,
    "byte": dt.uint8,
    "short": dt.int16,
    "int": dt.int32,
    "long": dt.int64,
    "bool": dt.bool_,
    "cfloat": dt.complex64,
    "cdouble": dt.complex128,
    "bfloat16": dt.bfloat16,
    "chalf": dt.complex32,
}


# --- conversions
def _parse_to(
    args: tuple[Any, ...],
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    **named: Any,
) -> tuple[Any, Any, bool, bool]:
    """(device, dtype, non_blocking, copy) of `to(device, dtype)`, `to(dtype)` or `to(other)`."""
    rest = list(args)
    if "other" in named:
        rest.insert(0, named.pop("other"))
    if named:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(named))}'")
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
        device, dtype = other.device, other.dtype
    elif rest and isinstance(rest[0], (dt.dtype, type)):
        dtype = rest.pop(0)
    elif rest:
        if rest[0] is not None and not isinstance(rest[0], (str, int, _device.device)):
            raise TypeError(f"to() received an invalid combination of arguments - got ({type(rest[0]).__name__})")
        device = rest.pop(0)
        if rest and not isinstance(rest[0], bool):
            dtype = rest.pop(0)
    if rest:
        non_blocking = rest.pop(0)
    if rest:
        copy = rest.pop(0)
    return device, dtype, non_blocking, copy


def read_in_any_order(
    values: Iterable[Any], device: Any = None, dtype: Any = None, non_blocking: bool = False
) -> tuple[Any, Any, bool]:
    """(device, dtype, non_blocking) of `to` as modules take its arguments: each is known by its class."""
    for value in values:
        if isinstance(value, Tensor):
            device, dtype = value.device, value.dtype
        elif isinstance(value, dt.dtype):
            dtype = value
        elif isinstance(value, bool):
            non_blocking = value
        elif value is not None:
            device = value
    return device, dtype, non_blocking


def to(self: Tensor, *args: Any, memory_format: Any = None, **kwargs: Any) -> Tensor:
    """A tensor of another type or on another device; the tensor itself if nothing changes.

    >>> torch.tensor([1, 2]).to(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    if len(args) == 1 and not kwargs and args[0].__class__ is dt.dtype and memory_format is None:
        return _to_dtype(self, args[0])
    if len(args) == 1 and not kwargs and args[0].__class__ is _device.device:
        device, dtype, non_blocking, copy = args[0], None, False, False
    else:
        device, dtype, non_blocking, copy = _parse_to(args, **kwargs)
    if device is None and dtype is not None:
        return _to_dtype(self, dtype, non_blocking, copy, memory_format)
    return _to_layout(
        self,
        dtype=dtype,
        device=None if device is None else _device.resolve(device),
        non_blocking=non_blocking,
        copy=copy,
        memory_format=memory_format,
    )


def _to_dtype(self: Tensor, *args: Any) -> Tensor:
    global _to_dtype
    _to_dtype = aten.overload("to.dtype")  # the op's own function takes over after the first call
    return _to_dtype(self, *args)


def _to_layout(self: Tensor, **options: Any) -> Tensor:
    global _to_layout
    _to_layout = aten.overload("to.dtype_layout")
    return _to_layout(self, **options)


def _type_method(name: str, dtype: dt.dtype) -> Any:
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        return _to_dtype(self, dtype) if memory_format is None else _to_dtype(self, dtype, False, False, memory_format)

    convert.__name__, convert.__qualname__ = name, f"Tensor.{name}"
    convert.__doc__ = f"The tensor as {dtype!r}.\n\n>>> torch.tensor([1, 0]).{name}().dtype\n{dtype!r}"
    return convert


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor in host memory.

    >>> torch.ones(2).cpu().device
    device(type='cpu')
    """
    return _to_layout(self, device=_device.CPU, memory_format=memory_format)


def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its elements lie in row-major order, else a copy that does.

    >>> torch.zeros(2, 3).T.contiguous().stride()
    (2, 1)
    """
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if memory_format is None or memory_format is contiguous_format:
        return input if input._array.flags.c_contiguous else _contiguous(input)
    return input if input.is_contiguous(memory_format) else _contiguous(input, memory_format=memory_format)


def _contiguous(self: Tensor, **options: Any) -> Tensor:
    return aten.overload("contiguous")(self, **options)


# --- one argument, several meanings
def view(input: Tensor, *args: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """Another shape, or another type, over the same memory."""
    if not args:
        args = _named_view(size, dtype)
    if args[0].__class__ is dt.dtype:
        return aten.overload("view.dtype")(input, args[0])
    return _view(input, *args)


def _named_view(size: Any, dtype: Any) -> tuple[Any]:
    """The one argument of a view that was given by its name."""
    if size is None and dtype is None:
        raise TypeError(
            "view() received an invalid combination of arguments - got (), but expected one of:\n * (torch.dtype "
            "dtype)\n"
            " * (tuple of ints size)\n"
        )
    return (dtype if size is None else size,)


def _view(self: Tensor, *size: Any) -> Tensor:
    global _view
    _view = aten.overload("view")
    return _view(self, *size)


def squeeze(input: Tensor, dim: Any = _NOT_GIVEN) -> Tensor:
    """The tensor without its dimensions of size 1, or without those named.

    >>> torch.squeeze(torch.zeros(1, 3, 1)).shape
    torch.Size([3])
    """
    if dim.__class__ is int:
        return aten.overload("squeeze.dim")(input, dim)
    if dim is _NOT_GIVEN:
        return aten.overload("squeeze")(input)
    return (
        aten.overload("squeeze.dims")(input, dim)
        if isinstance(dim, (list, tuple))
        else aten.overload("squeeze.dim")(input, dim)
    )


def split(
    tensor: Tensor, split_size_or_sections: Any = _NOT_GIVEN, dim: int = 0, *, split_size: Any = _NOT_GIVEN
) -> Sequence[Tensor]:
    """Pieces of a size, or of the sizes in a list, along `dim`.

    >>> [piece.tolist() for piece in torch.split(torch.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    """
    sections = split_size if split_size_or_sections is _NOT_GIVEN else split_size_or_sections
    if isinstance(sections, (list, tuple)):
        return tuple(aten.split_with_sizes(tensor, sections, dim))
    return tuple(aten.overload("split.Tensor")(tensor, int(sections), dim))


def _as_list(tensors: tuple[Any, ...]) -> list[Any]:
    """Tensors given one by one or as one list."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape.

    >>> a, b = torch.broadcast_tensors(torch.ones(2, 1), torch.zeros(3))
    >>> a.shape, b.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    return tuple(aten.overload("broadcast_tensors")(_as_list(tensors)))


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Grids of coordinates from 1-dim tensors.

    >>> x, y = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")
    >>> x
    tensor([[1, 1],
            [2, 2]])
    """
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2
        )
        return tuple(aten.overload("meshgrid")(_as_list(tensors)))
    return tuple(aten.overload("meshgrid.indexing")(_as_list(tensors), indexing=indexing))


def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of one element of each tensor, as rows.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([5, 6]))
    tensor([[1, 5],
            [1, 6],
            [2, 5],
            [2, 6]])
    """
    return aten.overload("cartesian_prod")(_as_list(tensors))


def block_diag(*tensors: Any) -> Tensor:
    """A matrix with the given ones along its diagonal.

    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor([[3]]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    return aten.overload("block_diag")(_as_list(tensors))


def _atleast(name: str) -> Any:
    def lift(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return aten.overload(name)(tensors[0])
        return tuple(aten.overload(f"{name}.Sequence")(_as_list(tensors)))

    lift.__name__ = lift.__qualname__ = name
    lift.__module__ = "mindtorch_v2"
    rank = name[8]
    lift.__doc__ = f"The tensors with at least {rank} dimensions.\n\n>>> torch.{name}(torch.tensor(1)).dim()\n{rank}"
    return lift


FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (split, broadcast_tensors, meshgrid, cartesian_prod, block_diag)}
FUNCTIONS.update({name: _atleast(name) for name in ("atleast_1d", "atleast_2d", "atleast_3d")})
METHODS: dict[str, Any] = {f.__name__: f for f in (to, cpu, contiguous, split)}
METHODS.update({name: _type_method(name, dtype) for name, dtype in _TYPE_METHODS.items()})

fronts.update(FUNCTIONS, view=view, squeeze=squeeze, to=to, contiguous=contiguous)
for _name, _function in METHODS.items():
    setattr(Tensor, _name, _function)
