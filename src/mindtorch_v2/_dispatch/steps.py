"""The steps that a profile shows inside a call, where they go around the one kernel that does them all: data, and
how they run.

PyTorch's `mm` calls `resolve_conj` on its operands, its `relu` is a `clamp_min`: a profile shows those as events of
their own. Ops whose steps really run one by one are composites, or register a function with `registry.stepwise`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from .. import _observer, _storage
from .._ops.table import Op
from . import modes

STEPWISE: dict[str, Callable[..., Any]] = {}  # op name -> function on (boxed kernel, *tensors); see `stepwise`


class StepsKind(IntEnum):
    """How the steps lie around the kernel."""

    INSIDE = 1  # the kernel runs inside the event of `op(first argument, *constants)`
    NODE = 2  # the kernel runs inside an event of this name that is not an operator
    PRODUCT = 3  # operands of a matrix product are resolved before it, its result after it
    COPY = 4  # nested `constants` allocate the result, then the kernel runs inside the event of `op`


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one op, for both executors (`run_steps` here, `_native/core/call_steps.c`)."""

    kind: StepsKind
    op: Op | None = None  # the step; of a product what resolves operands, if a profile lists that
    name: str = ""
    constants: tuple[Any, ...] = ()
    # INSIDE: of a first argument with `constants`; with more there is no step. -1: any number
    dimensions: int = -1
    fewer: tuple[Any, ...] = ()  # the constants for a first argument with fewer dimensions
    first: int = 0  # PRODUCT: position of the first operand
    rank: int = 2  # PRODUCT: dimensions of the operands
    lists_result: bool = False  # PRODUCT: a result of contiguous operands is resolved as well
    expand: Op | None = None  # PRODUCT: what brings the added tensor to the result's shape
    format: Any = None  # COPY: the memory format for which the ops in `fewer` allocate


def step_inside(op: Op, *constants: Any, dimensions: int = -1, fewer: tuple[Any, ...] = ()) -> Steps:
    """The kernel runs inside the event of `op(first argument, *constants)`."""
    return Steps(StepsKind.INSIDE, op, constants=constants, dimensions=dimensions, fewer=fewer)


def node_inside(name: str) -> Steps:
    """The kernel runs inside an event of this name that is not an operator."""
    return Steps(StepsKind.NODE, name=name)


def product_steps(
    resolve: Op | None, first: int = 0, rank: int = 2, lists_result: bool = False, expand: Op | None = None
) -> Steps:
    """Of a matrix product: its operands (from argument `first` on) are resolved before it; what is added is
    expanded.
    """
    return Steps(StepsKind.PRODUCT, resolve, first=first, rank=rank, lists_result=lists_result, expand=expand)


def copy_steps(copy: Op, allocating: tuple[Op, ...], formatted: tuple[Op, ...], format: Any) -> Steps:
    """Of a composite that allocates and copies: the nested ops `allocating`, or `formatted` where its memory format is
    `format`, then `copy`. Only the native call uses them, for contiguous arguments, and only while no more than names
    and times is recorded; the composite itself runs everywhere else.
    """
    return Steps(StepsKind.COPY, copy, constants=allocating, fewer=formatted, format=format)


def with_steps(steps: Steps, kernel: Callable[..., Any], allocates: bool) -> Callable[..., Any]:
    """A boxed kernel that shows its steps while somebody observes.

    `allocates`: its result is new memory, which the step claims.
    """
    run = {StepsKind.INSIDE: _run_inside, StepsKind.NODE: _run_in_node, StepsKind.PRODUCT: _run_product}[steps.kind]

    def boxed(*args: Any) -> Any:
        observer = _observer.active
        if observer is None:
            return kernel(*args)
        return modes.call_with_grad(False, run, steps, kernel, args, observer, allocates)

    return boxed


def _run_inside(steps: Steps, kernel: Callable[..., Any], args: tuple[Any, ...], observer: Any, allocates: bool) -> Any:
    have, wanted = args[0]._array.ndim, steps.dimensions
    if 0 <= wanted < have:
        return kernel(*args)
    constants = steps.constants if wanted in (-1, have) else steps.fewer
    return modes.call_in_event(
        observer, steps.op, (args[0], *constants), -1, _run_and_claim, kernel, args, observer, allocates
    )


def _run_and_claim(kernel: Callable[..., Any], args: tuple[Any, ...], observer: Any, allocates: bool) -> Any:
    """Runs the kernel; memory that it allocates belongs to the step."""
    out = kernel(*args)
    if allocates and observer.watches_memory:
        _storage.watch(out, observer)
    return out


def _run_in_node(
    steps: Steps, kernel: Callable[..., Any], args: tuple[Any, ...], observer: Any, allocates: bool
) -> Any:
    observer.enter_node(steps.name, -1, 0, args[:1], False)
    try:
        return kernel(*args)
    finally:
        observer.leave()


def _run_product(
    steps: Steps, kernel: Callable[..., Any], args: tuple[Any, ...], observer: Any, allocates: bool
) -> Any:
    from .namespace import aten

    given, first = list(args), steps.first
    a, b = args[first], args[first + 1]
    if steps.expand is not None and a.dim() == steps.rank == b.dim() and a.shape[-1] == b.shape[-2]:
        shape = (*a.shape[:-1], b.shape[-1])
        if tuple(given[0].shape) != shape:
            # The kernel gets it as it was: elements that are repeated would be cast, each for itself.
            aten.overload(steps.expand.name)(given[0], shape)
    if steps.op is None:
        return kernel(*given)
    resolve = aten.overload(steps.op.name)
    given[first], given[first + 1] = resolve(a), resolve(b)
    out = kernel(*given)
    by_rows = a._array.flags.c_contiguous and b._array.flags.c_contiguous
    return resolve(out) if steps.lists_result and by_rows else out
