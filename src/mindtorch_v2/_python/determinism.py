"""`torch.use_deterministic_algorithms` and its relatives.

Results do not depend on the order of threads here, whatever is set.
"""

from __future__ import annotations

_enabled = False
_warn_only = False
_WORDS = {"default": 0, "warn": 1, "error": 2}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks that operators give the same result every time.

    They do; the setting is kept for `are_deterministic_algorithms_enabled`.

    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    global _enabled, _warn_only
    for name, value, position in (("mode", mode, 1), ("warn_only", warn_only, 2)):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument '{name}' (position {position}) must be bool, not "
                f"{type(value).__name__}"
            )
    _enabled, _warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms(True)` was called.

    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return _enabled


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was called with `warn_only=True`.

    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same with one word or number: "default" or 0 (off), "warn" or 1, "error" or 2.

    >>> torch.set_deterministic_debug_mode("warn")
    >>> torch.get_deterministic_debug_mode()
    1
    >>> torch.set_deterministic_debug_mode("default")
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _WORDS:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _WORDS[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """0 (off), 1 (warn) or 2 (error).

    >>> torch.get_deterministic_debug_mode()
    0
    """
    return 0 if not _enabled else 1 if _warn_only else 2
