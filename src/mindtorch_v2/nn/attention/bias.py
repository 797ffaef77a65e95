"""Masks of causal attention that know what they are: `causal_upper_left`, `causal_lower_right`."""

from __future__ import annotations

import enum
import warnings
from typing import Any

from ... import _dtype as dt
from ..._dispatch import aten
from ..._tensor import Tensor

__all__ = ["causal_upper_left", "causal_lower_right", "CausalVariant", "CausalBias"]


class CausalVariant(enum.IntEnum):
    """Where the triangle of a mask that is not square begins: at the first query and key, or at the last of both."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """The mask of causal attention of `seq_len_q` queries to `seq_len_kv` keys: True where a query sees a key.

    It is made for `F.scaled_dot_product_attention(attn_mask=...)`; elsewhere it is used as the boolean matrix it stands
    for.
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        offset = seq_len_kv - seq_len_q if variant is CausalVariant.LOWER_RIGHT else 0
        mask = aten.tril(aten.ones([seq_len_q, seq_len_kv], dtype=dt.bool_), offset)
        made = mask.as_subclass(cls)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if variant is CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2
            )

    def _materialize(self, device: Any = None) -> Tensor:
        """The matrix as an ordinary tensor of booleans."""
        plain = self.as_subclass(Tensor)
        return plain if device is None else plain.to(device)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return repr(self._materialize())

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(kwargs or {})
        if getattr(func, "__name__", "") != "scaled_dot_product_attention":
            result = super().__torch_function__(func, types, args, given)  # type: ignore[misc]
            return result.as_subclass(Tensor) if type(result) is CausalBias else result
        if given.get("is_causal") or (len(args) > 5 and args[5]):
            raise ValueError("CausalBias should not be used with causal=True")
        where = (args[0] if args else given["query"]).device
        plain = [a._materialize(where) if isinstance(a, CausalBias) else a for a in args]
        named = {k: v._materialize(where) if isinstance(v, CausalBias) else v for k, v in given.items()}
        return func(*plain, **named)


def _made(variant: CausalVariant, name: str, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)


def causal_upper_left(*size: int) -> CausalBias:
    """The causal mask of (queries, keys) whose first query sees the first key only.

    >>> nn.attention.bias.causal_upper_left(2, 3)._materialize()
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return _made(CausalVariant.UPPER_LEFT, "causal_upper_left", size)


def causal_lower_right(*size: int) -> CausalBias:
    """The causal mask of (queries, keys) whose last query sees all keys.

    >>> nn.attention.bias.causal_lower_right(2, 3)._materialize()
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return _made(CausalVariant.LOWER_RIGHT, "causal_lower_right", size)
