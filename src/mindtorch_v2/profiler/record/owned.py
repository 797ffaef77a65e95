"""The tensors of modules and optimizers: looked at when a module is first called, or an optimizer first steps, in a
window.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..._tensor import Tensor
from .kinds import Role
from .references import memory_of
from .row_format import device_code


class Owned(NamedTuple):
    """A tensor that a module or an optimizer had, or (Role.OWNER, without a tensor) the owner itself."""

    time_ns: int
    thread: int  # ids of the thread and of the row that was open there: the module's call, the optimizer's step
    row: int
    owner: int  # address of the owner, and of its class
    owner_class: int
    class_name: str
    is_optimizer: bool
    role: Role
    parameter: int = -1  # which of the owner's parameters it is, or belongs to
    name: str = ""  # of a module's parameter, or of an optimizer's state
    tensor: int = 0  # the tensor's id, and whose memory it had
    block: int = 0
    address: int = 0
    device: int = 0
    inputs: int = -1  # what it looked like: a description of one argument


class OwnedTable:
    """What was seen of modules and optimizers. Tensors are not kept, owners are held weakly."""

    def __init__(self, inputs: Any) -> None:
        self.rows: list[Owned] = []
        self._inputs = inputs
        self._owners: dict[int, weakref.ref[Any]] = {}

    def begin(self) -> None:
        """A window begins: every owner is looked at again."""
        self._owners.clear()

    def is_new(self, owner: Any) -> bool:
        """Whether an owner was not looked at yet; from now on it was."""
        known = self._owners.get(id(owner))
        if known is not None and known() is owner:
            return False
        self._owners[id(owner)] = weakref.ref(owner)
        return True

    def add_module(self, module: Any, time_ns: int, thread: int, row: int) -> None:
        """A module's own parameters and their gradients."""
        whose = self._owner(module, False, time_ns, thread, row)
        for index, (name, parameter) in enumerate(module.__dict__.get("_parameters", {}).items()):
            self._add(whose, Role.PARAMETER, index, name, parameter)
            self._add(whose, Role.GRADIENT, index, name, getattr(parameter, "_grad", None))

    def add_optimizer(self, optimizer: Any, time_ns: int, thread: int, row: int) -> None:
        """An optimizer's parameters, their gradients and what it keeps for each."""
        whose = self._owner(optimizer, True, time_ns, thread, row)
        parameters = (p for group in getattr(optimizer, "param_groups", ()) for p in group.get("params", ()))
        states = getattr(optimizer, "state", {})
        for index, parameter in enumerate(parameters):
            self._add(whose, Role.PARAMETER, index, "", parameter)
            self._add(whose, Role.GRADIENT, index, "", getattr(parameter, "_grad", None))
            for name, value in _items(states, parameter):
                self._add(whose, Role.STATE, index, str(name), value)

    def _owner(self, owner: Any, is_optimizer: bool, time_ns: int, thread: int, row: int) -> Owned:
        kind = type(owner)
        made = Owned(time_ns, thread, row, id(owner), id(kind), kind.__name__, is_optimizer, Role.OWNER)
        self.rows.append(made)
        return made

    def _add(self, whose: Owned, role: Role, index: int, name: str, tensor: Any) -> None:
        if isinstance(tensor, Tensor):
            (block, address), where = memory_of(tensor), tensor.device
            self.rows.append(
                whose._replace(
                    role=role,
                    parameter=index,
                    name=name,
                    tensor=tensor._id,
                    block=block,
                    address=address,
                    device=device_code(where.type, where.index or 0),
                    inputs=self._inputs.of_values((tensor,)),
                )
            )


def _items(states: Any, parameter: Any) -> Iterator[tuple[Any, Any]]:
    """What an optimizer keeps for a parameter, without making an entry for it."""
    state = states.get(parameter) if isinstance(states, dict) else None
    yield from state.items() if isinstance(state, dict) else ()
