"""What the nodes of an event tree tell beside time and thread, by PyTorch's names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..._device import device
from ..._dtype import dtype
from ..._tensor import layout, strided
from ..record.enums import RecordScope


@dataclass(frozen=True)
class _TensorMetadata:
    """What a tensor argument looked like and, in profiles of shapes and memory, which tensor it was.

    impl_ptr          the tensor's id, which no other of the process has (its `_cdata`)
    storage_data_ptr  the address of its memory
    id                tensors that ever shared memory have the same; from 0, in the order of first appearance
    allocation_id     the number of its block; from 1, in the order of first appearance
    """

    sizes: list[int]
    strides: list[int]
    dtype: dtype | None
    device: device
    layout: layout = strided
    impl_ptr: int | None = None
    storage_data_ptr: int | None = None
    id: int | None = None
    allocation_id: int | None = None

    @property
    def dim(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True)
class _PyFrameState:
    """A line of a program."""

    line_number: int
    file_name: str
    function_name: str


@dataclass(frozen=True)
class _NNModuleInfo:
    """The module that a call belongs to, as it was when it was first called in the window.

    `self_ptr` and `cls_ptr` are the addresses of module and class; `parameters` holds (name, tensor, gradient or None).
    """

    self_ptr: int
    cls_ptr: int
    cls_name: str
    parameters: list[tuple[str, _TensorMetadata, _TensorMetadata | None]] = field(default_factory=list)


@dataclass(frozen=True)
class _OptimizerInfo:
    """An optimizer as it was after its first step in the window; `parameters` holds (tensor, gradient or None, state),
    where state is a list of (name, tensor)."""

    self_ptr: int
    parameters: list[tuple[_TensorMetadata, _TensorMetadata | None, list[tuple[str, _TensorMetadata]]]] = field(
        default_factory=list
    )


@dataclass(frozen=True)
class _ExtraFields_TorchOp:
    """An operator, a backward node or an annotation."""

    name: str
    inputs: list[Any]
    scope: RecordScope
    sequence_number: int
    allow_tf32_cublas: bool = False
    overload_name: str = ""


@dataclass(frozen=True)
class _ExtraFields_Backend:
    """A call that a delegate reported; none is recorded here."""

    name: str = ""


@dataclass(frozen=True)
class _ExtraFields_Vulkan:
    """A kernel of Vulkan; none is recorded here."""

    name: str = ""


@dataclass(frozen=True)
class _ExtraFields_Allocation:
    """Memory gained (`alloc_size` positive) or given back.

    A block keeps its `allocation_id` and its `id` from birth to death.
    """

    ptr: int
    alloc_size: int
    total_allocated: int
    total_reserved: int
    allocation_id: int | None
    device: device
    id: int | None = None


@dataclass(frozen=True)
class _ExtraFields_OutOfMemory:
    """An allocation that failed; it raises instead of being recorded."""

    alloc_size: int = 0


@dataclass(frozen=True)
class _ExtraFields_PyCall:
    """A Python function or a module's call."""

    callsite: _PyFrameState
    caller: _PyFrameState
    module: _NNModuleInfo | None = None
    optimizer: _OptimizerInfo | None = None


@dataclass(frozen=True)
class _ExtraFields_PyCCall:
    """A call of a function that is written in C."""

    caller: _PyFrameState


@dataclass(frozen=True)
class _ExtraFields_Kineto:
    """Work of a device, or a call into its runtime."""

    name: str = ""
