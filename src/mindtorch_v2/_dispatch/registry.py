"""Who implements what: kernels, composites and derivatives, registered by the families that hold them.

A family's modules are imported when one of its ops is first resolved (families.py), so that importing the package
does not pay for kernels nobody calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .._native import accelerate, accelerate_direct
from .._ops.table import OPS
from .._quiet import quiet
from .steps import STEPWISE as STEPWISE
from .steps import Steps
from .widening import AS_STORED, Widened

F = TypeVar("F", bound=Callable[..., Any])

KERNELS: dict[str, Callable[..., Any]] = {}  # op name -> kernel on arrays of the CPU
UFUNCS: dict[str, Any] = {}  # op name -> numpy ufunc that may write with out=
# op name -> function of the tensors alone, for the fast path
DIRECT: dict[str, Callable[..., Any]] = {}
INPLACE: dict[str, Callable[..., Any]] = {}  # op name -> kernel that writes into its first array
COMPOSITES: dict[str, Callable[..., Any]] = {}  # op name -> function on tensors
CHECKS: dict[str, Callable[..., Any]] = {}  # op name -> test of the tensors as they were given
STEPS: dict[str, Steps] = {}  # op name -> steps around its kernel, as data


def kernel(*names: str, ufunc: Any = None, direct: Any = None, written: Sequence[int] = ()) -> Callable[[F], F]:
    """Registers a kernel: arrays in, arrays out, arguments in schema order; numpy does not warn about what it
    computes. With `ufunc`, the in-place and `out=` forms of a plain elementwise op write through that numpy ufunc.
    What has a native form (see `_native.OPS`) tries that first. `direct` is a function of the tensor arguments alone
    that does the same where the types agree and all other arguments have their defaults; the fast path calls it
    instead. `written` are the positions of arguments that it writes into beside those of the schema.
    """

    def register(function: F) -> F:
        for name in names:
            is_view = name in OPS and OPS[name].is_view  # which computes nothing
            targets = (*written, *_written_positions(name))
            KERNELS[name] = function if is_view else _with_widening(name, function, targets)
            if ufunc is not None:
                UFUNCS[name] = ufunc
            if direct is not None:
                DIRECT[name] = accelerate_direct(name, quiet(direct, Widened(name, direct)))
        return function

    return register


def _written_positions(name: str) -> tuple[int, ...]:
    """The positions of the arguments that an op writes into."""
    return tuple(i for i, p in enumerate(OPS[name].schema.params) if p.alias.endswith("!")) if name in OPS else ()


def _with_widening(name: str, function: Any, written: tuple[int, ...]) -> Any:
    """A kernel with its native form before it, and its way of taking narrow element types (see widening.py) beside
    it.
    """
    if name in AS_STORED or (name in OPS and not OPS[name].schema.tensor_params):
        return accelerate(name, quiet(function))
    narrow = Widened(name, function, written)
    made = narrow.kernel = accelerate(name, quiet(function, narrow))
    return made


def inplace_kernel(*names: str) -> Callable[[F], F]:
    """Registers the in-place form of a functional op (`"add.Tensor"`): it writes into its first array and returns
    None.
    """

    def register(function: F) -> F:
        for name in names:
            base, dot, overload = name.partition(".")
            INPLACE[name] = _with_widening(f"{base}_{dot}{overload}", function, (0,))
        return function

    return register


def composite(*names: str) -> Callable[[F], F]:
    """Registers a function on tensors that implements the op with other ops, on any device. If the op also has a
    derivative, the function runs below autograd and the derivative is used; else it is differentiated through."""

    def register(function: F) -> F:
        for name in names:
            COMPOSITES[name] = function
        return function

    return register


def check(*names: str) -> Callable[[F], F]:
    """Registers a test of an elementwise op's arguments (tensors, in schema order) that raises what the kernel no
    longer could: it runs before they are brought to a common type, and only if they are not of one type already.
    """

    def register(function: F) -> F:
        for name in names:
            CHECKS[name] = function
        return function

    return register


def stepwise(*names: str) -> Callable[[F], F]:
    """Registers how a leaf op goes in steps that PyTorch would show as events of their own. The function gets the op's
    kernel (tensors in, tensors out, no event) and the arguments, and runs below autograd. The generated call functions
    run the kernel alone while nobody watches; an observed call goes through the steps. Both give the same result."""

    def register(function: F) -> F:
        for name in names:
            STEPWISE[name] = function
        return function

    return register


def steps(*names: str, around: Steps) -> None:
    """Registers the steps that a profile shows around an op's one kernel, as data: see `steps.py`."""
    STEPS.update(dict.fromkeys(names, around))
