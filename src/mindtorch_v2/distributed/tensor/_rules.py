"""What operators do with DTensors.

Each rule says how the result lies where the arguments lie as they do, brings the arguments there and computes with what
the process holds. An operator without a rule gets whole tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch.overrides import DisableTorchFunctionSubclass
from ..._shape import broadcast_shapes
from ..._tensor import Tensor
from ._api import DTensor, local_of, wrap
from ._redistribute import Placements, enter
from .placement_types import Placement, Replicate, Shard

RULES: dict[str, Callable[..., Any]] = {}
# Functions of single elements, of one tensor or of several that are broadcast. Those with an underscore at the end
# write into their first argument.
_POINTWISE = frozenset(
    [
        "abs",
        "acos",
        "add",
        "addcdiv",
        "addcmul",
        "asin",
        "atan",
        "bitwise_and",
        "bitwise_not",
        "bitwise_or",
        "ceil",
        "clamp",
        "clamp_max",
        "clamp_min",
        "clone",
        "contiguous",
        "copy",
        "cos",
        "cosh",
        "detach",
        "div",
        "dropout",
        "elu",
        "eq",
        "erf",
        "exp",
        "expm1",
        "fill",
        "floor",
        "floor_divide",
        "ge",
        "gelu",
        "gt",
        "hardtanh",
        "isinf",
        "isnan",
        "le",
        "leaky_relu",
        "lerp",
        "log",
        "log1p",
        "log2",
        "logical_and",
        "logical_not",
        "logical_or",
        "lt",
        "masked_fill",
        "maximum",
        "minimum",
        "mish",
        "mul",
        "nan_to_num",
        "ne",
        "neg",
        "normal",
        "ones_like",
        "positive",
        "pow",
        "reciprocal",
        "relu",
        "remainder",
        "round",
        "rsqrt",
        "rsub",
        "selu",
        "sigmoid",
        "sign",
        "silu",
        "sin",
        "softplus",
        "sqrt",
        "square",
        "sub",
        "tan",
        "tanh",
        "to",
        "true_divide",
        "type_as",
        "uniform",
        "where",
        "zero",
        "zeros_like",
        "empty_like",
        "full_like",
        "rand_like",
        "randn_like",
        "float",
        "double",
        "half",
        "bfloat16",
        "alias",
        "sgn",
        "trunc",
        "requires_grad",
        "requires_grad_",
    ]
)
_LINEAR = frozenset(
    ("neg", "clone", "contiguous", "detach", "positive", "alias", "zeros_like", "to", "float", "double")
)
_DUNDERS = {
    "truediv": "div",
    "invert": "logical_not",
    "iadd": "add_",
    "isub": "sub_",
    "imul": "mul_",
    "itruediv": "div_",
}


def rule(*names: str) -> Callable[[Any], Any]:
    """Registers what these operators do."""

    def register(function: Any) -> Any:
        for name in names:
            RULES[name] = function
        return function

    return register


def tensors_in(value: Any) -> list[DTensor]:
    """The DTensors in arguments, at any depth."""
    if isinstance(value, DTensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [found for part in value for found in tensors_in(part)] if isinstance(value, (list, tuple)) else []


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Arguments with each DTensor changed."""
    if isinstance(value, (list, tuple)):
        parts = [mapped(part, change) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {name: mapped(part, change) for name, part in value.items()}
    return change(value) if isinstance(value, Tensor) else value


def call(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """An operator of which at least one argument is a DTensor."""
    name = getattr(func, "__name__", str(func))
    name = name[2:-2] if name.startswith("__") and name.endswith("__") else name
    name = _DUNDERS.get(name, name)
    found = tensors_in([args, kwargs])
    if any(tensor._device_mesh != found[0]._device_mesh for tensor in found):
        raise NotImplementedError(f"{name}: the DTensors of one operator must lie in one DeviceMesh")
    if name.startswith("_foreach_"):
        return _foreach(name, args, kwargs)
    if name in RULES:
        return RULES[name](func, *args, **kwargs)
    if name.rstrip("_") in _POINTWISE:
        return pointwise(name, func, args, kwargs)
    if name.endswith("_"):
        raise NotImplementedError(f"{name} of a DTensor is not here: it would write into what this process holds")
    return whole(func, args, kwargs)


def whole(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """An operator of whole tensors, the same in every process."""
    first = tensors_in([args, kwargs])[0]
    mesh = first._device_mesh
    replicated = (Replicate(),) * mesh.ndim
    made = func(*mapped(args, _gathered), **mapped(kwargs, _gathered))
    return mapped(made, lambda t: t if isinstance(t, DTensor) else wrap(t, mesh, replicated, t.shape))


def _gathered(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def placed(tensor: DTensor, wanted: Placements, result: Placements) -> Tensor:
    """What this process holds of the tensor placed so, for a result that lies as `result`."""
    moved = tensor.redistribute(placements=wanted)
    return enter(local_of(moved), tensor._device_mesh, wanted, result)


# --- element by element
def pointwise(name: str, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Elements of the result come from the elements at the same index."""
    found, first = tensors_in([args, kwargs]), args[0]
    plain = [t for t in (*args, *kwargs.values()) if isinstance(t, Tensor) and not isinstance(t, DTensor) and t.dim()]
    writes = name.endswith("_") and name != "requires_grad_"
    if plain:
        raise RuntimeError(
            f"{name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
            "distributed operators!"
        )
    shape = broadcast_shapes(*[tuple(t.shape) for t in found])
    mesh = found[0]._device_mesh
    if writes and isinstance(first, DTensor):
        result = first._placements
    else:
        result = tuple(_common(name, found, len(shape), index, args) for index in range(mesh.ndim))

    def local(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, DTensor):
            return tensor
        offset = len(shape) - tensor.dim()
        return placed(tensor, tuple(_as_argument(tensor, p, offset, shape) for p in result), result)

    if writes and isinstance(first, DTensor):
        with DisableTorchFunctionSubclass():
            func(local_of(first), *mapped(args[1:], local), **mapped(kwargs, local))
        return first
    if name in ("requires_grad_", "requires_grad"):
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    return wrap(func(*mapped(args, local), **mapped(kwargs, local)), mesh, result, shape)


def _as_argument(tensor: DTensor, placement: Placement, offset: int, shape: tuple[int, ...]) -> Placement:
    """How an argument has to lie for a result that is placed so."""
    if not isinstance(placement, Shard):
        return placement
    dim = placement.dim - offset
    return Shard(dim) if dim >= 0 and tensor._whole[dim] == shape[dim + offset] else Replicate()


def _common(name: str, found: list[DTensor], dims: int, index: int, args: Any) -> Placement:
    """How a result lies along one dimension of the mesh: as the largest argument, else as one that is spread."""
    own = [tensor._placements[index] for tensor in found]
    for tensor in sorted(found, key=lambda t: -t.numel()):
        placement = tensor._placements[index]
        if isinstance(placement, Shard) and tensor._whole[placement.dim] > 1:
            return Shard(placement.dim + dims - tensor.dim())
    if not own[0].is_partial() or any(placement != own[0] for placement in own):
        return Replicate()
    numbers = all(isinstance(value, (int, float, DTensor)) for value in args[:2])
    scaled = name in ("mul", "div") and len(found) == 1 and numbers and isinstance(args[0], DTensor)
    summed = name in ("add", "sub") and numbers and len(found) == len(args)
    return own[0] if own[0].is_partial("sum") and (name in _LINEAR or scaled or summed) else Replicate()


def _foreach(name: str, args: Any, kwargs: dict[str, Any]) -> Any:
    """Lists of tensors, one after the other."""
    from ..._dispatch import aten

    base = name.removeprefix("_foreach_")
    count = next(len(a) for a in args if isinstance(a, (list, tuple)))
    single = aten.linalg_vector_norm if base == "norm" else getattr(Tensor, base, None) or getattr(aten, base)
    rows = [[a[i] if isinstance(a, (list, tuple)) and len(a) == count else a for a in args] for i in range(count)]
    if base.rstrip("_") in ("addcmul", "addcdiv"):
        made = [single(*row[:3], **{**kwargs, **({"value": row[3]} if row[3:] else {})}) for row in rows]
        return None if base.endswith("_") else made
    made = [single(*row, **kwargs) for row in rows]
    return None if base.endswith("_") else made
