"""A pickle reader that builds plain values and calls only what it was told is safe.

Python's own reader in C is not used for files that are not trusted: it calls whatever a name leads to, sets
attributes of any object, and allocates what a file merely announces (a memo of four thousand million entries, a
bytearray of any length).
"""

from __future__ import annotations

import io
import pickle
import reprlib
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

_PythonUnpickler: Any = pickle._Unpickler  # type: ignore[attr-defined]  # the one whose steps can be overridden
_SETS = (set, frozenset)
_MAPPINGS = (OrderedDict, Counter, defaultdict)
# a key is hashed as a whole, part by part and without end if parts are shared often enough
_MAX_KEY_PARTS = 10_000
_MAX_KEY_DEPTH = 100


def short_text(value: Any) -> str:
    """A short text for a value of any size and depth."""
    made = reprlib.repr(value)
    return made if len(made) <= 200 else made[:197] + "..."


def refuse(problem: str) -> NoReturn:
    raise pickle.UnpicklingError(f"Weights only load failed. WeightsUnpickler error: {problem}")


def bytes_like(*args: Any) -> bytearray:
    """`bytearray` of contents, not of a length."""
    if args and not isinstance(args[0], (bytes, bytearray, str)):
        refuse(f"a bytearray of {short_text(args[0])}")
    return bytearray(*args)


def check_key(key: Any) -> None:
    """Refuses keys whose hash would take forever or break the interpreter's stack."""
    if type(key) not in (tuple, frozenset):
        return
    parts, level = 0, [key]
    for _ in range(_MAX_KEY_DEPTH):
        level = [part for item in level if isinstance(item, (tuple, frozenset)) for part in item]
        parts += len(level)
        if not level:
            return
        if parts > _MAX_KEY_PARTS:
            break
    refuse("a key is too large or too deep")


def _check_keys(function: Any, args: Iterable[Any]) -> None:
    """The same for what a set or a mapping is made from."""
    for items in args:
        if function in _SETS and isinstance(items, (list, tuple, frozenset)):
            for key in items:
                check_key(key)
        elif function in _MAPPINGS and isinstance(items, (list, tuple)):
            for pair in items:
                check_key(pair[0] if isinstance(pair, (list, tuple)) and pair else pair)


class RestrictedMachine(_PythonUnpickler):
    """Reads the opcodes of all protocols. `find_class` says which names there are; only what it gave is called, and
    only on objects of those classes (`builds`) a state is set.
    """

    def __init__(self, data: bytes, builds: Callable[[Any], bool]) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")
        self._builds = builds
        self._found_classes: dict[int, Any] = {}  # what `find_class` gave, by identity

    def remember_global(self, value: Any) -> Any:
        """To be called on what `find_class` returns."""
        self._found_classes[id(value)] = value
        return value

    def _check_callable(self, function: Any, args: Any) -> None:
        if id(function) not in self._found_classes or not callable(function):
            refuse(f"Trying to call reduce for unrecognized function {short_text(function)}")
        if not isinstance(args, tuple):
            refuse(f"arguments are {short_text(args)}")
        _check_keys(function, args)

    def key(self) -> str:
        """The key in the checkpoint of the object that is being read, as far as it is known; else ""."""
        for level in reversed(self.metastack):
            for item in reversed(level):
                if isinstance(item, str):
                    return item
        return ""

    # ---- opcodes --------------------------------------------------------------------------------------------

    def load_reduce(self) -> None:
        args = self.stack.pop()
        function = self.stack[-1]
        self._check_callable(function, args)
        self.stack[-1] = function(*args)

    def load_newobj(self) -> None:
        args = self.stack.pop()
        cls = self.stack.pop()
        self._new(cls, args, {})

    def load_newobj_ex(self) -> None:
        keywords = self.stack.pop()
        args = self.stack.pop()
        self._new(self.stack.pop(), args, keywords)

    def _new(self, cls: Any, args: Any, keywords: dict[str, Any]) -> None:
        self._check_callable(cls, args)
        if not isinstance(cls, type) or not (cls in _SETS or cls in _MAPPINGS or self._builds(cls)):
            refuse(f"Trying to call __new__ on unsafe class {short_text(cls)}")
        self.append(cls.__new__(cls, *args, **keywords))

    def load_build(self) -> None:
        made = self.stack[-2]
        if type(made) is OrderedDict:
            state = self.stack.pop()
            if not isinstance(state, dict):
                refuse("the state of an OrderedDict is not a dict")
            made.__dict__.update(state)
        elif self._builds(type(made)):
            super().load_build()
        else:
            refuse(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {type(made)}"
            )

    def load_setitem(self) -> None:
        check_key(self.stack[-2])
        self._check_container(self.stack[-3], dict)
        super().load_setitem()

    def load_setitems(self) -> None:
        for key in self.stack[::2]:
            check_key(key)
        self._check_container(self.metastack[-1][-1], dict)
        super().load_setitems()

    def load_dict(self) -> None:
        for key in self.stack[::2]:
            check_key(key)
        super().load_dict()

    def load_additems(self) -> None:
        for key in self.stack:
            check_key(key)
        self._check_container(self.metastack[-1][-1], set)
        super().load_additems()

    def load_frozenset(self) -> None:
        for key in self.stack:
            check_key(key)
        super().load_frozenset()

    def load_append(self) -> None:
        self._check_container(self.stack[-2], list)
        super().load_append()

    def load_appends(self) -> None:
        self._check_container(self.metastack[-1][-1], list)
        super().load_appends()

    def _check_container(self, made: Any, kind: type) -> None:
        if not isinstance(made, kind) and not self._builds(type(made)):
            refuse(f"Can only append to lists, add to sets and set items of dicts, but got {type(made)}")

    def load_bytearray8(self) -> None:
        size = int.from_bytes(self.read(8), "little")
        self.append(bytearray(self.read(size)))  # the reader has no more than the file

    def _refuse_operand(self) -> None:
        refuse("Unsupported operand: old-style instances, extension codes and buffers outside the file are not read")

    dispatch = dict(_PythonUnpickler.dispatch)
    dispatch.update(
        {
            pickle.REDUCE[0]: load_reduce,
            pickle.NEWOBJ[0]: load_newobj,
            pickle.NEWOBJ_EX[0]: load_newobj_ex,
            pickle.BUILD[0]: load_build,
            pickle.SETITEM[0]: load_setitem,
            pickle.SETITEMS[0]: load_setitems,
            pickle.DICT[0]: load_dict,
            pickle.ADDITEMS[0]: load_additems,
            pickle.FROZENSET[0]: load_frozenset,
            pickle.APPEND[0]: load_append,
            pickle.APPENDS[0]: load_appends,
            pickle.BYTEARRAY8[0]: load_bytearray8,
            **dict.fromkeys(
                (
                    code[0]
                    for code in (
                        pickle.INST,
                        pickle.OBJ,
                        pickle.EXT1,
                        pickle.EXT2,
                        pickle.EXT4,
                        pickle.NEXT_BUFFER,
                        pickle.READONLY_BUFFER,
                    )
                ),
                _refuse_operand,
            ),
        }
    )
