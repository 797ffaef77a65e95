"""Named tuples for ops with several outputs, as `torch.return_types`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

_made: dict[str, Any] = {}


class Unnamed(tuple):  # type: ignore[type-arg]
    """A plain tuple built from positional values."""

    def __new__(cls, *values: Any) -> Any:
        return tuple(values)


def tuple_type(op: Any) -> Any:
    """The tuple type of an op's outputs: `torch.return_types.max` with fields `values` and `indices`."""
    names = op.schema.return_names
    if not all(names) or op.base.startswith("_") or op.base.startswith("native_"):
        return Unnamed
    return named_outputs(op.base, *names)


def named_outputs(base: str, *names: str) -> Any:
    """The tuple type `torch.return_types.<base>` with these fields; the same type for the same arguments."""
    key = f"{base}({','.join(names)})"
    if key not in _made:
        made = namedtuple(base, names)  # type: ignore[misc]
        made.__module__ = "torch.return_types"

        def show(self: Any) -> str:
            body = ",\n".join(f"{n}={v!r}" for n, v in zip(self._fields, self))
            return f"torch.return_types.{base}(\n{body})"

        made.__repr__ = show  # type: ignore[method-assign]
        _made[key] = made
    return _made[key]


def return_type(op: Any) -> Any:
    """The tuple type of several outputs (named as in torch.return_types), or None for a list."""
    if op.schema.returns_list or len(op.schema.returns) == 1:
        return None
    return tuple_type(op)
