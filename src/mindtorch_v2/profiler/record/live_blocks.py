"""What holds memory at a moment: the blocks of all tensors that live, and what each is for."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ... import _owners
from ..._keys import META
from ..._storage import begin_recording, held_block, is_part, native, root_array
from ..._tensor import Parameter, Tensor
from .kinds import Category
from .row_format import device_code


class LiveBlock(NamedTuple):
    """A block that a tensor holds: its id (0 for none, which says that someone looked), address and size, device, and
    what it is for.
    """

    block: int
    address: int
    nbytes: int
    device: int
    category: int


def find_live_blocks(new_recording: bool) -> list[LiveBlock]:
    """The blocks of all tensors that live. Takes a time proportional to their count. A `new_recording` begins with
    them: from now on only others are reported.
    """
    if new_recording:
        begin_recording()
    tensors = _tensors()
    purposes = _purposes(tensors)
    found: dict[int, LiveBlock] = {0: LiveBlock(0, 0, 0, 0, Category.UNKNOWN)}
    for tensor in tensors:
        root = _root(tensor)
        if root is not None and root.nbytes and id(root) not in found and not is_part(root):
            where = tensor.device
            block_id = held_block(root, where.type, where.index or 0)
            category = purposes.get(id(root), Category.INPUT)
            found[id(root)] = LiveBlock(
                block_id,
                root.__array_interface__["data"][0],
                root.nbytes,
                device_code(where.type, where.index or 0),
                category,
            )
    return list(found.values())


def _tensors() -> list[Tensor]:
    """All that live, without those that are only being made, or that an interrupt left unmade."""
    found = (
        native.tensors_alive()
        if native is not None
        else [value for value in gc.get_objects() if isinstance(value, Tensor)]
    )
    return [tensor for tensor in found if getattr(tensor, "_keys", None) is not None]


def _root(tensor: Any) -> np.ndarray | None:
    """The array that owns a tensor's memory; None where it has none, or is only being made."""
    array = getattr(tensor, "_array", None)
    return root_array(array) if isinstance(array, np.ndarray) and not getattr(tensor, "_keys", META) & META else None


def _purposes(tensors: list[Tensor]) -> dict[int, int]:
    """What memory is for, by the identity of the array that owns it. What is named first counts."""
    optimizers = _owners.optimizers.alive()
    modules = _owners.modules.alive()
    groups: list[tuple[Category, Iterable[Any]]] = [
        (Category.PARAMETER, (t for t in tensors if isinstance(t, Parameter))),
        (
            Category.PARAMETER,
            (t for o in optimizers for g in getattr(o, "param_groups", ()) for t in g.get("params", ())),
        ),
        (Category.OPTIMIZER_STATE, (t for o in optimizers for t in _inside(getattr(o, "state", {})))),
        (Category.GRADIENT, (t._grad for t in tensors if getattr(t, "_grad", None) is not None)),
        (Category.BUFFER, (t for m in modules for t in m.__dict__.get("_buffers", {}).values())),
        (Category.INPUT, (t for t in tensors if t._edge is None and t.requires_grad)),
        (Category.ACTIVATION, (t for t in tensors if t._edge is not None)),
    ]
    found: dict[int, int] = {}
    for category, members in groups:
        for tensor in members:
            root = _root(tensor) if isinstance(tensor, Tensor) else None
            if root is not None:
                found.setdefault(id(root), category)
    return found


def _inside(value: Any) -> Iterator[Tensor]:
    """The tensors among the values of nested dicts and lists."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for inner in list(value.values()):
            yield from _inside(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _inside(inner)
