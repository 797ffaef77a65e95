"""The one instrumentation slot.

`active` is the object that watches the process, or None. The dispatcher, the autograd engine, user
scopes and the storage layer report to it; nothing else does. It imports nothing, so that every layer
may import it. Setting it is done by `_dispatch.modes.install_observer`, which also raises the mode bit
that makes every operation leave its fast path: with no observer an operation pays for one integer OR.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Observer(Protocol):
    """What a watcher of the runtime answers to. Every `enter_*` is followed by exactly one `leave`."""

    watches_memory: bool
    watches_outputs: bool
    watches_modules: bool

    def enter_op(self, op: Any, args: tuple[Any, ...], sequence_nr: int) -> None:
        """An operator call begins. `args` stand in schema order; they must not be kept."""

    def enter_node(
        self, name: str, sequence_nr: int, forward_thread: int, inputs: tuple[Any, ...], is_backward: bool
    ) -> None:
        """The engine evaluates a node (`is_backward` False) or applies its function (True)."""

    def enter_scope(self, name: str, args: str | None) -> None:
        """A user scope begins."""

    def leave(self) -> None:
        """The innermost open event of the calling thread ends."""

    def outputs(self, result: Any) -> None:
        """What the innermost operator returned, before it ends; called while `watches_outputs`."""

    def enter_module(self, module: Any) -> None:
        """An nn.Module is called; called while `watches_modules`, and followed by one `leave_module`."""

    def leave_module(self) -> None:
        """The innermost module call of the calling thread ends."""

    def optimizer_stepped(self, optimizer: Any) -> None:
        """An optimizer has updated its parameters; called while `watches_modules`, inside the scope of its step."""

    def allocated(self, address: int, nbytes: int, device_type: str, device_index: int, block: int = 0) -> None:
        """Memory was allocated. `block` is its id, unique in the process; 0 where it has none."""

    def freed(self, address: int, nbytes: int, device_type: str, device_index: int, block: int = 0) -> None:
        """Memory was released."""

    def run_kernel(self, kernel: Callable[..., Any], args: tuple[Any, ...], claim: Callable[[Any], None]) -> Any:
        """Calls a kernel, and `claim` with its result, which reports the memory of that; asked while `watches_memory`.
        What the kernel takes beyond that is scratch memory.
        """


# before the name of a node, in the name of the event of its evaluation
NODE_PREFIX = "autograd::engine::evaluate_function: "

active: Observer | None = None
# told of every optimizer that has stepped, when its scope is closed, so that a step may end there: a flight recorder, a
# tool. Here, so that neither has to import the optimizers of a program that may have none.
on_optimizer_step: list[Callable[[Any], Any]] = []
