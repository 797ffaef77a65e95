"""Whether `nn.MultiheadAttention` and `nn.TransformerEncoder` may take their fast path in evaluation."""

from __future__ import annotations

_is_fastpath_enabled = True


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` was told, True at first. There is one way of computing here, the exact one."""
    return _is_fastpath_enabled


def set_fastpath_enabled(value: bool) -> None:
    """Kept; there is one way of computing here."""
    global _is_fastpath_enabled
    _is_fastpath_enabled = value
