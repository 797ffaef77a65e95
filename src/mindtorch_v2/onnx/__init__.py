"""`torch.onnx`: files of the ONNX format are not written here."""

from __future__ import annotations

import enum
import re
from importlib import import_module
from typing import Any, NoReturn

__all__ = [
    "OperatorExportTypes",
    "TensorProtoDataType",
    "TrainingMode",
    "export",
    "is_in_onnx_export",
    "is_onnxrt_backend_supported",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]
_WHY = (
    "ONNX files describe a program as a graph, and no graphs are made of programs here. Export the model with PyTorch."
)


def is_in_onnx_export() -> bool:
    """False: nothing is exported."""
    return False


def is_onnxrt_backend_supported() -> bool:
    """False."""
    return False


def export(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused: no graph is made of the program."""
    raise NotImplementedError(f"torch.onnx.export: {_WHY}")


_symbolics: dict[tuple[str, int], Any] = {}  # what programs registered, by operator and opset


def _check_symbolic_name(name: str, what: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_]+::[A-Za-z0-9_]+", name):
        raise ValueError(
            f"Failed to {what} operator {name}. The symbolic name must match the format domain::name, and should start "
            "with a letter and contain only alphanumerical characters"
        )


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Remembers how a program wants an operator exported, for `unregister_custom_op_symbolic`. Nothing calls it:
    `export` is refused.

    >>> torch.onnx.register_custom_op_symbolic("mylib::mine", lambda g, x: g.op("Mine", x), 11)
    >>> torch.onnx.unregister_custom_op_symbolic("mylib::mine", 11)
    """
    _check_symbolic_name(symbolic_name, "register")
    _symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forgets it; what nobody registered is forgotten already."""
    _check_symbolic_name(symbolic_name, "unregister")
    _symbolics.pop((symbolic_name, opset_version), None)


class OperatorExportTypes(enum.Enum):
    """How operators that ONNX has not are exported."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.Enum):
    """In which mode a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class TensorProtoDataType(enum.IntEnum):
    """The numbers of ONNX's types."""

    (
        UNDEFINED,
        FLOAT,
        UINT8,
        INT8,
        UINT16,
        INT16,
        INT32,
        INT64,
        STRING,
        BOOL,
        FLOAT16,
        DOUBLE,
        UINT32,
        UINT64,
        COMPLEX64,
        COMPLEX128,
        BFLOAT16,
        FLOAT8E4M3FN,
        FLOAT8E4M3FNUZ,
        FLOAT8E5M2,
        FLOAT8E5M2FNUZ,
    ) = range(21)


def __getattr__(name: str) -> Any:
    if name in ("operators", "symbolic_helper") or re.fullmatch(r"symbolic_opset(9|1[0-2])", name):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.onnx' has no attribute '{name}'")
