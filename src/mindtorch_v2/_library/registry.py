"""Operators that programs define: their schemas, kernels by device, and how they are differentiated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from .. import _accelerators
from .._ops.schema import NO_DEFAULT, Schema, parse
from .._tensor import Tensor

OPERATORS: dict[str, CustomOp] = {}  # "mylib::mine" or "mylib::mine.overload" -> operator
# PyTorch's dispatch keys -> where a kernel registered for them runs: a device's type, "" for all devices, or above
# autograd.
_DEVICES = {
    "CPU": "cpu",
    "CUDA": "cuda",
    "XPU": "xpu",
    "MPS": "mps",
    "Meta": "meta",
    "CompositeExplicitAutograd": "",
    "CompositeImplicitAutograd": "composite",
    "Autograd": "autograd",
    "AutogradCPU": "autograd",
}


def kernel_key(key: str) -> str:
    """The device type under which a kernel for a dispatch key, or for a device type, is registered; "" for all."""
    if key in _DEVICES:
        return _DEVICES[key]
    if key == "PrivateUse1":  # the accelerator that is no device of PyTorch's own
        return _accelerators.default_name()
    if key.isupper() and key.lower() in _accelerators.names():
        return key.lower()
    if key in ("default", ""):
        return ""
    if key.islower():
        return key
    raise RuntimeError(f"could not parse dispatch key: {key}")


def read_schema(text: str) -> Schema:
    """The parsed declaration; aliases may have numbers (`a0!`), which are letters elsewhere."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    known: dict[str, str] = {}

    def letter(found: re.Match[str]) -> str:
        word = found[1]
        return f"({known.setdefault(word, next(letters))}{found[2]}"

    return parse(re.sub(r"\(([a-z]\d+)(!?\s*\))", letter, text))


class CustomOp:
    """One overload of an operator that a program has defined. Calling it runs the kernel of the arguments' device."""

    def __init__(self, namespace: str, declaration: str) -> None:
        name, dot, overload = declaration.partition("(")[0].partition(".")
        self.namespace, self._opname, self._overloadname = namespace, name, overload if dot else "default"
        self._schema = f"{namespace}::{declaration}"
        self.schema = read_schema(declaration)
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.fake: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        # made by custom_op: gradients need a formula, they do not flow through the kernel
        self.wants_formula = False
        self.__name__ = f"{name}.{self._overloadname}"

    @property
    def qualified_name(self) -> str:
        """`mylib::mine`, with the overload where it has a name."""
        return f"{self.namespace}::{self._opname}" + (
            "" if self._overloadname == "default" else f".{self._overloadname}"
        )

    def name(self) -> str:
        return self.qualified_name

    @property
    def overloadpacket(self) -> Packet:
        """All overloads of the name."""
        return getattr(namespace(self.namespace), self._opname)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    # --- calls
    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in the schema's order; TypeError where they do not fit."""
        positional = [p for p in self.schema.params if not p.keyword_only]
        if len(args) > len(positional):
            raise TypeError(
                f"{self.qualified_name}() expected at most {len(positional)} argument(s) but received {len(args)} "
                f"argument(s). Declaration: {self._schema}"
            )
        given = {p.name: value for p, value in zip(positional, args)}
        for word, value in kwargs.items():
            if word in given or all(p.name != word for p in self.schema.params):
                raise TypeError(
                    f"{self.qualified_name}() got an unexpected keyword argument '{word}'. Declaration: {self._schema}"
                )
            given[word] = value
        missing = [p.name for p in self.schema.params if p.name not in given and p.default is NO_DEFAULT]
        if missing:
            raise TypeError(
                f"{self.qualified_name}() is missing value for argument '{missing[0]}'. Declaration: {self._schema}"
            )
        return tuple(given.get(p.name, p.default) for p in self.schema.params)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from .. import _observer

        values = self.bind(args, kwargs)
        if _observer.active is None:
            return self._run(values)
        from .._dispatch.modes import call_in_scope

        return call_in_scope(_observer.active, self.qualified_name, self._run, values)

    def _run(self, values: tuple[Any, ...]) -> Any:
        from .calls import run

        return run(self, values)

    def as_call(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments as the program's function takes them."""
        positional = tuple(v for p, v in zip(self.schema.params, values) if not p.keyword_only)
        return positional, {p.name: v for p, v in zip(self.schema.params, values) if p.keyword_only}

    def tensors(self, values: tuple[Any, ...]) -> Iterator[Tensor]:
        """The tensors among the arguments, also those in lists."""
        for v in values:
            if isinstance(v, Tensor):
                yield v
            elif isinstance(v, (list, tuple)):
                yield from (t for t in v if isinstance(t, Tensor))


class Packet:
    """All overloads of a name: calling it takes the first that the arguments fit."""

    def __init__(self, space: str, name: str) -> None:
        self._space, self.__name__ = space, name

    def _found(self) -> list[CustomOp]:
        return [op for op in OPERATORS.values() if op.namespace == self._space and op._opname == self.__name__]

    def overloads(self) -> list[str]:
        return [op._overloadname for op in self._found()]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self._found()
        for op in found[:-1]:
            try:
                op.bind(args, kwargs)
            except TypeError:
                continue
            return op(*args, **kwargs)
        return found[-1](*args, **kwargs)

    def __getattr__(self, overload: str) -> CustomOp:
        space, name = self.__dict__["_space"], self.__dict__["__name__"]
        found = OPERATORS.get(f"{space}::{name}" if overload == "default" else f"{space}::{name}.{overload}")
        if found is None:
            raise AttributeError(f"The underlying op of '{space}.{name}' has no overload name '{overload}'")
        return found

    def __str__(self) -> str:
        return f"{self._space}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._space}.{self.__name__}')>"


class Namespace:
    """`torch.ops.mylib`: operators are looked up when asked for, because they may be defined later."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Packet:
        space = self.__dict__["_name"]
        if not any(op.namespace == space and op._opname == name for op in OPERATORS.values()):
            raise AttributeError(f"'_OpNamespace' '{space}' object has no attribute '{name}'")
        made = Packet(space, name)
        self.__dict__[name] = made
        return made

    def __dir__(self) -> list[str]:
        return sorted({op._opname for op in OPERATORS.values() if op.namespace == self._name})

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self._name}' from 'torch.ops'>"


_spaces: dict[str, Namespace] = {}


def namespace(name: str) -> Namespace:
    """The operators that a program has defined under a name."""
    return _spaces.setdefault(name, Namespace(name))


_early_fakes: dict[str, Callable[..., Any]] = {}  # shape functions of operators that are not defined yet
_accepts_early_fakes = False


def accept_early_fakes() -> None:
    """From now on a shape function may come before its operator: a compiled library that would have defined operators
    was refused, and what a package says about them must not end its import."""
    global _accepts_early_fakes
    _accepts_early_fakes = True


def set_fake(name: str, function: Callable[..., Any]) -> None:
    """Gives an operator its shape function."""
    if _accepts_early_fakes and name.removesuffix(".default") not in OPERATORS:
        _early_fakes[name.removesuffix(".default")] = function
    else:
        find(name).fake = function


def define(space: str, declaration: str) -> CustomOp:
    """Adds an operator; RuntimeError if it exists."""
    made = CustomOp(space, declaration)
    if made.qualified_name in OPERATORS:
        raise RuntimeError(
            f"Tried to register an operator ({made._schema}) with the same name and overload name multiple times. Each "
            "overload's schema should only be registered with a single call to def()."
        )
    OPERATORS[made.qualified_name] = made
    made.fake = _early_fakes.pop(made.qualified_name, None)
    return made


def forget(op: CustomOp) -> None:
    """Takes an operator away again."""
    OPERATORS.pop(op.qualified_name, None)
    namespace(op.namespace).__dict__.pop(op._opname, None)


def find(name: str) -> CustomOp:
    """The operator of a qualified name; RuntimeError if there is none."""
    found = OPERATORS.get(name.removesuffix(".default"))
    if found is None:
        raise RuntimeError(
            f"operator {name} does not exist: define it with torch.library.custom_op or torch.library.define"
        )
    return found
