"""A thin client of the older interface, in which an operator is named at its launch."""

from __future__ import annotations

import ctypes as C
from collections.abc import Iterator

from simlib import Buffer, Sim


class Old:
    def __init__(self, sim: Sim) -> None:
        self.sim, self.lib = sim, sim.lib
        for name in ("aclCreateTensorDesc", "aclCreateDataBuffer", "aclopCreateAttr"):
            getattr(self.lib, name).restype = C.c_void_p

    def operands(self, buffers: list[Buffer | None]) -> Iterator[C.Array[C.c_void_p]]:
        descriptions, data = (C.c_void_p * len(buffers))(), (C.c_void_p * len(buffers))()
        for i, b in enumerate(buffers):
            dims = (C.c_int64 * max(len(b.shape), 1))(*b.shape) if b else None
            descriptions[i] = self.lib.aclCreateTensorDesc(b.dtype if b else -1, len(b.shape) if b else 0, dims, 2)
            data[i] = self.lib.aclCreateDataBuffer(
                C.c_void_p(b.address if b else None), C.c_size_t(b.bytes if b else 0)
            )
        yield descriptions
        yield data

    def run(
        self, name: str, inputs: list[Buffer | None], outputs: list[Buffer], **given: str | float | list[int]
    ) -> int:
        attributes = C.c_void_p(self.lib.aclopCreateAttr())
        for key, value in given.items():
            if isinstance(value, str):
                code = self.lib.aclopSetAttrString(attributes, key.encode(), value.encode())
            elif isinstance(value, list):
                code = self.lib.aclopSetAttrListInt(
                    attributes, key.encode(), len(value), (C.c_int64 * len(value))(*value)
                )
            else:
                code = self.lib.aclopSetAttrFloat(attributes, key.encode(), C.c_float(value))
            assert code == 0
        code = self.lib.aclopCompileAndExecute(name.encode(), len(inputs), *self.operands(inputs), len(outputs), *self.operands(outputs),
                                               attributes, 0, 0, None, None)  # fmt: skip
        self.lib.aclopDestroyAttr(attributes)
        self.sim.sync()
        return int(code)
