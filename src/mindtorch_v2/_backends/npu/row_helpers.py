"""What the rows of `ops.py` may call in their operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _dtype as dt
from ..._tensor import wrap
from . import abi, random
from .copies import NPU, cast, dense, new_tensor
from .launcher import Rejected
from .runtime import runtime


def only(fits: bool, operand: Any) -> Any:
    """The operand, where the device's operator has the meaning that is asked for."""
    if not fits:
        raise Rejected("the device's operator has no such form")
    return operand


def every(t: Any) -> tuple[int, ...]:
    """All dimensions."""
    return tuple(range(t._array.ndim))


def numbers(dim: Any) -> tuple[int, ...]:
    """A dimension or several, as a tuple; none for None."""
    return () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)


def whole(number: Any) -> int:
    """A number that the operator takes as an integer only."""
    return int(only(number == int(number), number))


def accumulation(reduce: str) -> int:
    """How scattered values are combined, as the operator numbers it."""
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return 1 if reduce == "add" else 2


def filled_in(t: Any) -> Any:
    """The tensor, or None where it has no elements."""
    return t if t is not None and t._array.size else None


def flat(t: Any) -> Any:
    """The elements in one dimension."""
    whole = t if t._array.flags.c_contiguous else dense(t)
    return wrap(whole._array.reshape(-1), t.dtype, NPU, t.device)


def dim_index(dim: int, t: Any) -> int:
    return dim % t._array.ndim if t._array.ndim else 0


def zeros(like: Sequence[int]) -> tuple[int, ...]:
    return (0,) * len(like)


def no_row(padding_idx: int) -> int:
    """-1 stands for no padding; the operator takes an unsigned number that no row has."""
    return padding_idx & 0xFFFFFFFFFFFFFFFF


def cube() -> int:
    """How the matrix unit treats float32: kept as it is, except on devices that cannot."""
    global _cube
    if _cube is None:
        soc = (runtime().aclrtGetSocName() or b"").decode()
        _cube = abi.CUBE_ALLOW_FLOAT32_DOWN if abi.lacks_float32_products(soc) else abi.CUBE_KEEP_DTYPE
    return _cube


_cube: int | None = None


def as_type(value: Any, like: Any) -> Any:
    """A tensor (made of a number if need be) in the type of another one."""
    if not hasattr(value, "_array"):
        return full_scalar(value, like.dtype, like.device)
    return value if value.dtype is like.dtype else cast(value, like.dtype)


def full_scalar(value: Any, kind: dt.dtype, device: Any) -> Any:
    """A 0-dim tensor on a device."""
    from .boxing import run

    return run("fill_.Scalar", new_tensor((), kind, device), value)


def class_weights(weight: Any, scores: Any) -> Any:
    """One weight per class: the operator wants them even where all are one."""
    if weight is not None:
        return weight
    from .boxing import run

    return run(
        "fill_.Scalar",
        new_tensor((scores._array.shape[-1 if scores._array.ndim == 1 else 1],), scores.dtype, scores.device),
        1,
    )


def draw(t: Any, generator: Any) -> tuple[int, int]:
    """A seed and an offset, which move the generator on."""
    return random.draw(t, generator)


HELPERS = {
    f.__name__: f
    for f in (
        only,
        flat,
        every,
        numbers,
        whole,
        filled_in,
        accumulation,
        dim_index,
        zeros,
        no_row,
        cube,
        as_type,
        class_weights,
        draw,
    )
}
