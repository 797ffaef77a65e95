"""Checks of operators that programs define: `torch.library.opcheck`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch import aten
from .._tensor import Tensor
from .registry import CustomOp


def check_schema(op: CustomOp, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The operator writes to the arguments that its schema marks, and to no others."""
    values = op.bind(args, kwargs)
    before = [v.detach().clone() if isinstance(v, Tensor) else None for v in values]
    op(*args, **kwargs)
    for p, value, copy in zip(op.schema.params, values, before):
        if copy is not None and "!" not in p.alias and not aten.equal(value, copy):
            raise AssertionError(f"Argument {p.name} is not defined to alias output but was mutated")


def check_fake(op: CustomOp, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """On the meta device the operator gives the shapes and types that it gives on others."""

    def to_meta(v: Any) -> Any:
        return v.to("meta") if isinstance(v, Tensor) else [to_meta(x) for x in v] if isinstance(v, (list, tuple)) else v

    real = _flat(op(*args, **kwargs))
    fake = _flat(op(*[to_meta(a) for a in args], **{k: to_meta(v) for k, v in kwargs.items()}))
    if len(real) != len(fake) or any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(real, fake)):
        raise AssertionError(
            f"{op.qualified_name}: the fake gives {[(tuple(t.shape), t.dtype) for t in fake]}, the operator "
            f"{[(tuple(t.shape), t.dtype) for t in real]}"
        )


def _flat(made: Any) -> list[Any]:
    return [t for t in (made if isinstance(made, (tuple, list)) else (made,)) if isinstance(t, Tensor)]


CHECKS: dict[str, Callable[[CustomOp, tuple[Any, ...], dict[str, Any]], None]] = {
    "test_schema": check_schema,
    "test_faketensor": check_fake,
}
