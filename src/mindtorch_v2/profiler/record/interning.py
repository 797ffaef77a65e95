"""Tables that turn repeated things (names, argument descriptions, modules) into small ids while recording."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Hashable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..._device import device as Device
from ..._dispatch.modes import call_locked
from ..._dtype import dtype as Dtype
from ..._keys import SUBCLASS
from ..._tensor import Tensor, layout, strided
from .descriptions import InputDescription, ModuleInfo
from .kinds import Kind

V = TypeVar("V")


class InternTable(Generic[V]):
    """Values by id: equal keys have one. Threads may add at the same time, without a lock: an id is nobody else's from
    the moment it is taken, and its value is there before anyone can find it.
    """

    def __init__(self) -> None:
        self._ids: dict[Hashable, int] = {}
        self._values: dict[int, V] = {}
        self._next_id = itertools.count().__next__

    def find(self, key: Hashable) -> int | None:
        return self._ids.get(key)

    def add(self, key: Hashable, value: V) -> int:
        """The id of a key that was not found; of several threads that add it, the first one's value stays."""
        made = self._next_id()
        self._values[made] = value
        return self._ids.setdefault(key, made)

    def __getitem__(self, made: int) -> V:
        return self._values[made]

    def __len__(self) -> int:
        return len(self._values)


class Label(NamedTuple):
    """What all events of one kind and name share."""

    name: str
    kind: Kind
    overload: str | None = None


_op_labels: list[Label] = []  # for the life of the process: there are only as many as operators
op_label_ids: dict[Any, int] = {}  # operator -> id of its label
_op_lock = threading.RLock()  # a signal handler may come here while its thread is here


def op_label(op: Any) -> int:
    """The id of an operator's label, found in `op_label_ids` from now on. Ids of operators are not negative."""
    call_locked(_op_lock, _add_op, op)
    return op_label_ids[op]


def _add_op(op: Any) -> None:
    if op not in op_label_ids:
        _op_labels.append(Label(op.event, Kind.OP, op.overload))
        op_label_ids[op] = len(_op_labels) - 1


class Labels:
    """Ids of names that are not operators; they live as long as one recorder. They are negative."""

    def __init__(self) -> None:
        self._labels: InternTable[Label] = InternTable()

    def id_of(self, name: str, kind: Kind) -> int:
        found = self._labels.find((name, kind))
        return -1 - (self._labels.add((name, kind), Label(name, kind)) if found is None else found)

    def __len__(self) -> int:
        return len(self._labels)

    def label(self, label_id: int) -> Label:
        return _op_labels[label_id] if label_id >= 0 else self._labels[-1 - label_id]


_SCALARS = (bool, int, float, complex, str)
_LAYOUT_CODES = {"contiguous_format": 0, "preserve_format": 1, "channels_last": 2, "channels_last_3d": 3, "strided": 0}
_INT64_CODE = 4
_NUMBER_TYPES = {bool: "bool", int: "long int", float: "double", complex: "c10::complex<double>"}


def _key_of(value: Any) -> Any:
    """Something hashable that stands for an argument's description; equal keys have equal descriptions. The type is
    part of it because 1, 1.0 and True are equal."""
    if isinstance(value, Tensor):
        array = value._array
        return (Tensor, array.shape, array.strides, value.dtype, value._keys & SUBCLASS)
    if isinstance(value, (list, tuple)):
        return (list, *map(_key_of, value))
    kind = type(value)
    if value is None or kind in _SCALARS:
        return (kind, value)
    if isinstance(value, Dtype):
        return (Dtype, value.code)
    number = number_of(value)
    return (kind, number)


def number_of(value: Any) -> Any:
    """What PyTorch shows of an object argument: layouts and memory formats by number, numpy scalars by value,
    anything else not at all."""
    if isinstance(value, np.generic):
        return value.item()
    return _LAYOUT_CODES.get(value.name) if isinstance(value, layout) else None


class _Argument(NamedTuple):
    shape: tuple[Any, ...]
    stride: tuple[Any, ...]
    type: str
    value: Any


def _extent(tensor: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides, read off the array: methods of subclasses may refuse or be a program's own. Sparse and
    nested tensors have no strides.
    """
    has_strides = not tensor._keys & SUBCLASS or tensor.layout is strided
    return tensor._array.shape, Tensor.stride(tensor) if has_strides else ()


def _describe(value: Any, wants_tensor: bool) -> _Argument:
    """One argument. A number given for a tensor counts as the 0-dim tensor that it becomes."""
    if isinstance(value, Tensor):
        return _Argument(*_extent(value), value.dtype.cpp_name, None)
    if isinstance(value, (list, tuple)):
        return _describe_list(value)
    if wants_tensor and type(value) in _NUMBER_TYPES:
        return _Argument((), (), _NUMBER_TYPES[type(value)], None)
    if isinstance(value, str):
        return _Argument((), (), "", value)
    if isinstance(value, _SCALARS):
        return _Argument((), (), "Scalar", value)
    if isinstance(value, Dtype):
        return _Argument((), (), "Scalar", value.code)
    number = None if value is None or isinstance(value, Device) else number_of(value)
    return _Argument((), (), "" if number is None else "Scalar", number)


def _describe_list(values: Any) -> _Argument:
    if values and all(isinstance(v, Tensor) for v in values):
        shapes, strides = zip(*map(_extent, values), strict=True)
        return _Argument(shapes, strides, "TensorList", None)
    if all(isinstance(v, (bool, int, float)) for v in values):
        return _Argument((), (), "ScalarList", tuple(values))
    return _Argument((), (), "", None)  # lists of optional tensors (indices) and of other objects


# What PyTorch's Python functions pass on where the caller said nothing and the schema has None: the values to
# record, by op and argument.
_FILLED_IN = {
    ("randint", "dtype"): _INT64_CODE,
    ("randperm", "dtype"): _INT64_CODE,
    ("contiguous", "memory_format"): 0,
    ("empty_strided", "layout"): 0,
}


def _of_schema(op: Any, args: tuple[Any, ...]) -> list[_Argument]:
    """The arguments of an operator as PyTorch shows them: with what its Python functions fill in, without the generator
    that was not given (it has overloads without one), lists of optional tensors without their contents."""
    base, found = op.name.partition(".")[0], []
    for param, value in zip(op.schema.params, args, strict=False):
        if value is None and param.type == "Generator" and "generator" in op.name:
            continue
        if value is None:
            value = False if param.name == "pin_memory" and base != "_to_copy" else _FILLED_IN.get((base, param.name))
        elif param.type == "float" and type(value) is int:
            value = float(value)
        hidden = f"Tensor?[] {param.name}" in op.schema.text
        found.append(_Argument((), (), "", None) if hidden else _describe(value, param.is_tensor))
    return found


class InputTable:
    """Descriptions of arguments, each kept once. No tensor is kept."""

    def __init__(self) -> None:
        self._descriptions: InternTable[InputDescription] = InternTable()

    def __len__(self) -> int:
        return len(self._descriptions)

    def __getitem__(self, description_id: int) -> InputDescription:
        return self._descriptions[description_id]

    def of_op(self, op: Any, args: tuple[Any, ...]) -> int:
        """The arguments of an operator, in schema order."""
        key = (op, *map(_key_of, args))
        found = self._descriptions.find(key)
        if found is None:
            found = self._add(key, _of_schema(op, args), ())
        return found

    def of_values(self, values: tuple[Any, ...], keywords: dict[str, Any] | None = None) -> int:
        """Arguments without a schema: a node's gradients, what `_RecordFunctionFast` was given; -1 for none."""
        if not values and not keywords:
            return -1
        pairs = tuple((keywords or {}).items())
        key = (None, *map(_key_of, values), tuple((n, _key_of(v)) for n, v in pairs))
        found = self._descriptions.find(key)
        if found is None:
            kept = tuple((n, _keepable(v)) for n, v in pairs)
            found = self._add(key, [_describe(v, False) for v in values], kept)
        return found

    def of_text(self, text: str) -> int:
        """The `args` of a user scope."""
        found = self._descriptions.find(text)
        if found is None:
            found = self._add(text, [_Argument((), (), "", text)], ())
        return found

    def _add(self, key: Any, arguments: list[_Argument], keywords: tuple[tuple[str, Any], ...]) -> int:
        shapes, strides, types, values = zip(*arguments, strict=True) if arguments else ((), (), (), ())
        return self._descriptions.add(key, InputDescription(shapes, strides, types, values, keywords))


def _keepable(value: Any) -> Any:
    """A keyword's value as it may be kept: numbers, strings and lists of them; a tensor as its description."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_keepable, value))
    if value is None or isinstance(value, _SCALARS):
        return value
    described = _describe(value, False)
    return described.shape if isinstance(value, Tensor) else described.value


class _Root(NamedTuple):
    """An outermost module: who it is and where each module inside it stands."""

    module: weakref.ref[Any]
    id: int
    paths: dict[int, tuple[weakref.ref[Any], str]]


class ModuleTable:
    """Ids and paths of nn.Modules. Modules are held weakly and told apart even where an address is used again."""

    def __init__(self) -> None:
        self.infos: InternTable[ModuleInfo] = InternTable()
        self._lock = threading.RLock()  # a signal handler may come here while its thread is here
        self._roots: dict[int, _Root] = {}
        self._root_count = 0
        self._instances: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._class_counts: dict[str, int] = {}
        # (module, root, caller's id) by address -> the two, the module's id and the label of its calls
        self.calls: dict[tuple[int, int, int], tuple[weakref.ref[Any], weakref.ref[Any], int, int]] = {}

    def meet(
        self, module: Any, root: Any, parent: int, labels: Labels
    ) -> tuple[weakref.ref[Any], weakref.ref[Any], int, int]:
        """What `calls` holds for a module that is called inside `root` by the module with the id `parent`."""
        made: tuple[weakref.ref[Any], weakref.ref[Any], int, int] = call_locked(
            self._lock, self._meet, module, root, parent, labels
        )
        return made

    def _meet(
        self, module: Any, root: Any, parent: int, labels: Labels
    ) -> tuple[weakref.ref[Any], weakref.ref[Any], int, int]:
        name = f"nn.Module: {type(module).__name__}_{self.instance_index(module)}"
        made = (
            weakref.ref(module),
            weakref.ref(root),
            self.enter(module, root, parent),
            labels.id_of(name, Kind.MODULE),
        )
        self.calls[id(module), id(root), parent] = made
        return made

    def instance_index(self, module: Any) -> int:
        """0 for the first instance of its class that was called, 1 for the next ..."""
        known = self._instances.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        name = type(module).__name__
        index = self._class_counts.get(name, 0)
        self._class_counts[name] = index + 1
        self._instances[id(module)] = (weakref.ref(module), index)
        return index

    def enter(self, module: Any, root: Any, parent: int) -> int:
        """The id of `module`, called (perhaps deep) inside `root` by the module with the id `parent`."""
        paths = self._root(root)
        known = paths.paths.get(id(module))
        path = known[1] if known is not None and known[0]() is module else type(module).__name__
        info = ModuleInfo(paths.id, path, type(module).__name__, parent)
        known_id = self.infos.find(info)
        return self.infos.add(info, info) if known_id is None else known_id

    def _root(self, module: Any) -> _Root:
        known = self._roots.get(id(module))
        if known is None or known.module() is not module:
            paths = {id(m): (weakref.ref(m), path) for path, m in module.named_modules()}
            known = self._roots[id(module)] = _Root(weakref.ref(module), self._root_count, paths)
            self._root_count += 1
        return known
