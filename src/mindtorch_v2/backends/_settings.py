"""Settings of libraries that compute on devices which are not here: kept, checked as PyTorch checks them, and
without effect.

Programs set them without asking (`torch.backends.cudnn.benchmark = True`) and read them back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

PRECISIONS = ("none", "ieee", "tf32", "bf16")
_frozen = False
# How float32 numbers may be rounded before they are multiplied, by library and operation. This package never rounds
# them.
precision: dict[str, str] = {
    "": "none",
    "cudnn": "none",
    "cudnn.conv": "tf32",
    "cudnn.rnn": "tf32",
    "cuda.matmul": "none",
    "mkldnn": "none",
    "mkldnn.conv": "none",
    "mkldnn.rnn": "none",
    "mkldnn.matmul": "none",
}
_matmul = "highest"
_WORDS = {"highest": ("ieee", "ieee"), "high": ("tf32", "tf32"), "medium": ("tf32", "bf16")}


def flags_frozen() -> bool:
    """Whether settings may be changed by context managers only."""
    return _frozen


def disable_global_flags() -> None:
    """From now on settings may be changed by context managers only."""
    global _frozen
    _frozen = True


@contextlib.contextmanager
def allow_changes() -> Iterator[None]:
    """A block in which settings may be changed although they are frozen."""
    global _frozen
    before, _frozen = _frozen, False
    try:
        yield
    finally:
        _frozen = before


def check_not_frozen(where: str) -> None:
    if _frozen:
        raise RuntimeError(
            f"not allowed to set torch.backends.{where} flags after disable_global_flags; please use flags() "
            "context manager instead"
        )


def get_precision(name: str) -> str:
    """A library's setting, or where it has none, the general one."""
    own = precision[name]
    return own if own != "none" or not name or "." in name else precision[""]


def set_precision(name: str, value: Any) -> None:
    if value not in PRECISIONS:
        raise RuntimeError(f"Unknown precision: {value}")
    precision[name] = value


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told, "highest" at first.

    Products are always computed in full float32 here.

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _matmul


def set_float32_matmul_precision(value: str) -> None:
    """ "highest", "high" or "medium": how much precision a device may give up.

    Kept; products are always computed in full float32.

    >>> torch.set_float32_matmul_precision("highest")
    """
    global _matmul
    if value not in _WORDS:
        import warnings

        warnings.warn(
            f"{value} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect.",
            stacklevel=2,
        )
        return
    _matmul = value
    precision["cuda.matmul"], precision["mkldnn.matmul"] = _WORDS[value]


class Bool:
    """A setting that is True or False; `word` names it in errors."""

    def __init__(self, default: Any, where: str, word: str) -> None:
        self.default, self.where, self.word = default, where, word

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"_{name}"

    def __get__(self, module: Any, owner: type) -> Any:
        return self if module is None else module.__dict__.get(self.name, self.default)

    def __set__(self, module: Any, value: Any) -> None:
        check_not_frozen(self.where)
        if not isinstance(value, bool):
            raise RuntimeError(f"set_{self.word} expects a bool, but got {type(value).__name__}")
        module.__dict__[self.name] = value


class Precision:
    """`fp32_precision` of a library or of one of its operations."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else get_precision(self.name)

    def __set__(self, instance: Any, value: Any) -> None:
        set_precision(self.name, value)


def operation(name: str) -> Any:
    """An object whose only setting is `fp32_precision`."""
    return type("_FP32Precision", (), {"fp32_precision": Precision(name), "__doc__": f"Settings of {name}."})()


def become(module: ModuleType, kind: type) -> None:
    """Gives the module properties: they are looked up in its class."""
    module.__class__ = kind
