"""Derivatives of packing; recurrent networks are differentiated through their parts."""
from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..rules import derivative


def _pack(g: Any, input: Any, batch_first: bool, result1: Any) -> Any:
    return aten._pack_padded_sequence_backward(g[0], tuple(input.shape), result1, batch_first)


derivative("_pack_padded_sequence", node="PackPaddedSequenceBackward0", input=_pack)
