"""How values of several processes are combined."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class ReduceOp(IntEnum):
    """Sum, average, product, minimum, maximum, or a bitwise and, or, exclusive or."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        raise TypeError(f"a ReduceOp is one of {', '.join(op.name for op in cls)}, got {value!r}")


RedOpType = ReduceOp
ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]  # PyTorch's path to the members' type
_MPI_NAMES = {
    ReduceOp.SUM: "SUM",
    ReduceOp.AVG: "SUM",
    ReduceOp.PRODUCT: "PROD",
    ReduceOp.MIN: "MIN",
    ReduceOp.MAX: "MAX",
    ReduceOp.BAND: "BAND",
    ReduceOp.BOR: "BOR",
    ReduceOp.BXOR: "BXOR",
}
# Of truth values: a sum is true where one is, a product where all are.
_LOGICAL_NAMES = {
    ReduceOp.SUM: "LOR",
    ReduceOp.PRODUCT: "LAND",
    ReduceOp.MIN: "LAND",
    ReduceOp.MAX: "LOR",
    ReduceOp.BAND: "LAND",
    ReduceOp.BOR: "LOR",
    ReduceOp.BXOR: "LXOR",
}


def mpi_operation(op: Any, module: Any, kind: str) -> Any:
    """MPI's operation for values of this kind (numpy's letter: b, i, u, f, c); RuntimeError where there is none."""
    op = ReduceOp(op)
    bitwise = op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
    names = _LOGICAL_NAMES if kind == "b" else _MPI_NAMES
    if kind == "c" and op not in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT):
        raise ValueError(f"all_reduce does not support {op} on complex tensors")
    if op not in names or (bitwise and kind in "fc") or (op is ReduceOp.AVG and kind in "biu"):
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with {_KINDS[kind]} tensors")
    return getattr(module, names[op])


def divisor(op: Any, group: Any) -> int:
    """By what the sum of all processes of a group is divided: 1 unless it is an average."""
    return group.size() if ReduceOp(op) is ReduceOp.AVG else 1


_KINDS = {"b": "bool", "i": "integral", "u": "integral", "f": "floating point", "c": "complex"}
