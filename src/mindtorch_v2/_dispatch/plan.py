"""How a call of one op goes, as data.

A `CallPlan` is made once per op, from its declaration and from what its family registers: how arguments bind, which
of them are tensors, what the result is made of, what is saved for which derivative, and the steps that a profile
shows. Both executors read it:
`call.py` with `dispatcher.py` in Python, and `_native/core/call*.c`, for which `native_call.py` translates it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from .._ops.schema import NO_DEFAULT, Param
from .._ops.table import Op
from .._quiet import quiet
from .checks import check_result_type
from .families import load_family
from .memory_order import joins_layouts
from .registry import COMPOSITES, DIRECT, INPLACE, KERNELS, STEPS, STEPWISE, UFUNCS
from .return_types import Unnamed, return_type
from .steps import Steps
from .widening import Widened


class ArgumentKind(IntEnum):
    """What an argument is, and how it is brought into form."""

    VALUE = 0  # taken as it is
    TENSOR = 1
    OPTIONAL_TENSOR = 2  # a tensor or None
    NUMBER = 3  # a tensor or a Python number
    TENSOR_LIST = 4
    LIST_WITH_HOLES = 5  # a list of tensors, in which None may stand
    REPEATED = 6  # int[2]: one number stands for several
    ELEMENT_TYPE = 7  # a dtype or a Python type
    REAL = 8  # a number that takes part in the common type
    SPREAD = 9  # int[]: may be given as separate numbers, the rest of the positions
    DEVICE = 10  # the device of a factory: None stands for the default one
    UNSET = 11  # only its default is for the executors; see `bind.py` for others


class Makes(IntEnum):
    """What becomes of the kernel's answer."""

    TENSOR = 0  # a new tensor over the array
    VIEW = 1  # a tensor over memory of the first argument
    WRITTEN = 2  # the first argument, whose array the kernel has written
    SEVERAL = 3  # a tuple of new tensors; None for outputs that were not asked for
    VALUE = 4  # a number, returned as it is


class ResultType(IntEnum):
    """Where the element type of a new tensor comes from."""

    OF_LEAD = 0  # the leading tensor's
    BOOL = 1
    OF_ARRAY = 2  # the array's


class SavedKind(IntEnum):
    """What a node keeps."""

    ARGUMENT = 0
    RESULT = 1  # an output, without its edge
    SHAPE = 2  # facts about an argument, so that the tensor need not be kept
    DTYPE = 3
    FACT = 4
    STRIDES = 5


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call, in the order of the schema."""

    name: str
    kind: ArgumentKind
    length: int  # of REPEATED
    default: Any  # NO_DEFAULT where it must be given
    keyword_only: bool


@dataclass(frozen=True, slots=True)
class Saved:
    """One value that a node keeps for its rows."""

    name: str
    kind: SavedKind
    position: int  # of the argument, or the index of the output
    users: tuple[int, ...]  # indices of the inputs that need it; a tensor that none of those present needs is not kept
    is_tensor: bool
    fact: Callable[[Any], Any] | None = None  # how a tensor is asked
    absent: Any = None  # what stands for the fact where the argument is not a tensor


@dataclass(frozen=True, slots=True)
class GradientPlan:
    """What the node of a call is made of."""

    node_class: Any
    # positions of the differentiable arguments; one edge each, or one per tensor of a list
    inputs: tuple[int, ...]
    takes_lists: bool  # whether one of them is a list
    saved: tuple[Saved, ...]
    only_inexact: bool  # whether the result may have a type without gradients, and is a constant then
    constant: frozenset[int]  # indices of the outputs that have no gradient


@dataclass(frozen=True, slots=True)
class CallPlan:
    """The plan of one op's calls.

    `kernel` computes on arrays where every tensor lives on the CPU and has the type that the op's rule casts to
    (`casting`,
    `wants_inexact`); everything else takes the boxed kernel of the device. A composite's `function` works on
    tensors. Where a composite has a kernel as well, the kernel serves calls that nobody observes.
    """

    op: Op
    arguments: tuple[Argument, ...]
    kernel: Callable[..., Any] | None
    # the kernel of the tensors alone, where all other arguments have their defaults
    direct: Callable[..., Any] | None
    function: Callable[..., Any] | None  # of a composite: tensors in, tensors out
    lead: int  # position of the tensor whose type leads; -1 where there is none
    casting: tuple[int, ...]  # positions of the tensors that must be of one type for `kernel`
    wants_inexact: bool  # whether that type must be floating or complex
    makes: Makes
    result_type: ResultType
    tuple_type: Any  # of several outputs; None for a plain tuple
    # several tensors are joined elementwise: the order of their memory decides the result's
    joins: bool
    is_view: bool  # the result shares memory with the first argument
    is_graph_view: bool  # ... and autograd knows it as a view
    writes: bool  # the first argument is changed
    has_steps: bool  # an observer sees steps inside the call
    steps: Steps | None  # those steps as data, where they go around the one kernel
    # a composite whose steps record nothing: it has a derivative, or none and says so
    below_autograd: bool
    makes_new: bool  # other ops fill the new memory of its result: their writes are not counted as the tensor's
    gradient: GradientPlan | None

    @property
    def positional(self) -> int:
        """How many arguments may be given by position."""
        return sum(not a.keyword_only for a in self.arguments)


def _makes_new(op: Op) -> bool:
    is_made_of_others = op.name in COMPOSITES or op.name in STEPWISE
    return is_made_of_others and op.event.startswith("aten::") and op.schema.returns == ("Tensor",) and not op.writes


def plan_of(op: Op) -> CallPlan:
    """The plan of an op's calls, made when it is first asked for."""
    if op.plan is None:
        load_family(op.family)
        op.plan = _Maker(op).plan()
    plan: CallPlan = op.plan
    return plan


def spread_position(op: Op) -> int | None:
    """The position of an int list that may be given as separate numbers: the last positional argument."""
    positional = [i for i, p in enumerate(op.schema.params) if not p.keyword_only]
    if not positional or positional[-1] > 1:
        return None
    last = positional[-1]
    p = op.schema.params[last]
    fits = p.type == "int" and p.is_list and p.length == 0 and p.default is NO_DEFAULT
    return last if fits and (last == 0 or op.schema.params[0].is_tensor) else None


def inplace_kernel(op: Op) -> Callable[..., Any] | None:
    """A function that writes an in-place op's result into its first array, or None."""
    source = op.inplace_of
    if source is None or source.name in COMPOSITES or (op.rule is not None and op.rule.out == "bool"):
        return None
    if source.name in INPLACE:
        return INPLACE[source.name]
    ufunc = UFUNCS.get(source.name)
    if ufunc is None:
        return None
    write = (lambda a, *rest: ufunc(a, out=a)) if ufunc.nin == 1 else (lambda a, b, *rest: ufunc(a, b, out=a))
    return quiet(write, Widened(op.name, write, (0,)))


_RETYPING_VIEWS = ("view_as_real", "view_as_complex", "real", "imag")  # views whose elements have another type
_FACTS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda t: t._array.shape,
    "strides": lambda t: t._array.strides,
    "dtype": lambda t: t.dtype,
    "device": lambda t: t.device,
    "offset": lambda t: t.storage_offset(),
}

_FACT_KINDS = {"shape": SavedKind.SHAPE, "dtype": SavedKind.DTYPE, "strides": SavedKind.STRIDES}


def _of_each(fact: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    return lambda tensors: [fact(t) for t in tensors]


class _Maker:
    """Reads an op's declaration and registrations."""

    def __init__(self, op: Op) -> None:
        self.op, self.params, self.rule = op, op.schema.params, op.rule
        self.tensors = [(i, p) for i, p in enumerate(self.params) if p.is_tensor]
        self.numbers = [i for i, p in self.tensors if p.name in op.numbers]
        self.function = COMPOSITES.get(op.name) or (inplace_function(op) if op.name not in KERNELS else None)
        self.kernel = self._array_kernel()

    def plan(self) -> CallPlan:
        op = self.op
        casting = self._casting() if self.kernel is not None else ()
        tuple_type = return_type(op)
        return CallPlan(
            op,
            self._arguments(),
            self.kernel,
            DIRECT.get(op.name) if op.inplace_of is None else None,
            self.function,
            lead=casting[0] if casting else self.tensors[0][0] if self.tensors else -1,
            casting=casting,
            wants_inexact=bool(casting)
            and self.rule is not None
            and (self.rule.cast == "float" or bool(self._real_numbers())),
            makes=self._makes(),
            result_type=self._result_type(casting),
            joins=joins_layouts(op),
            tuple_type=None if tuple_type is Unnamed else tuple_type,
            is_view=op.is_view,
            is_graph_view=op.is_view and op.no_grad is None,
            writes=op.writes,
            has_steps=op.name in STEPWISE or op.name in STEPS or self.function is not None,
            steps=STEPS.get(op.name),
            below_autograd=op.name in COMPOSITES and (op.derivative is not None or op.is_opaque),
            makes_new=_makes_new(op),
            gradient=self._gradient(),
        )

    # --- arguments
    def _arguments(self) -> tuple[Argument, ...]:
        spread, real = spread_position(self.op), self._real_numbers()
        return tuple(
            Argument(p.name, self._kind(i, p, i == spread, i in real), p.length, p.default, p.keyword_only)
            for i, p in enumerate(self.params)
        )

    def _kind(self, i: int, p: Param, is_spread: bool, is_real: bool) -> ArgumentKind:
        if p.is_tensor:
            return self._tensor_kind(i, p)
        if is_spread:
            return ArgumentKind.SPREAD
        if p.type == "int" and p.is_list and p.length:
            return ArgumentKind.REPEATED
        if p.type == "ScalarType":
            return ArgumentKind.ELEMENT_TYPE
        if p.type == "Device" and p.name == "device" and not self.tensors:
            return ArgumentKind.DEVICE
        if p.name == "pin_memory" and self.op.is_factory and self.op.family != "movement":
            return ArgumentKind.UNSET
        return ArgumentKind.REAL if is_real else ArgumentKind.VALUE

    def _tensor_kind(self, i: int, p: Param) -> ArgumentKind:
        if self.function is not None and self.op.derivative is None and self.kernel is None:
            return ArgumentKind.VALUE  # the steps look at their tensors themselves
        if p.is_list:
            return ArgumentKind.LIST_WITH_HOLES if p.holes else ArgumentKind.TENSOR_LIST
        if self.numbers and i == self.numbers[-1]:
            return ArgumentKind.NUMBER
        return ArgumentKind.OPTIONAL_TENSOR if p.optional else ArgumentKind.TENSOR

    def _casting(self) -> tuple[int, ...]:
        """Positions of the tensors that the rule brings to one type."""
        rule = self.rule
        if rule is None or rule.cast is None or (self.op.writes and self.op.inplace_of is None):
            return ()
        return tuple(i for i, p in self.tensors if rule.names is None or p.name in rule.names)

    def _real_numbers(self) -> tuple[int, ...]:
        """Positions of the numbers that the rule counts among what it brings to one type."""
        rule = self.rule
        if rule is None or rule.cast is None or rule.names is None:
            return ()
        return tuple(i for i, p in enumerate(self.params) if p.type == "Scalar" and p.name in rule.names)

    # --- kernel and result
    def _array_kernel(self) -> Callable[..., Any] | None:
        """The kernel that takes the tensors' arrays as they are; None where the general path must look at each call."""
        op = self.op
        kernel = KERNELS.get(op.name) if op.inplace_of is None else inplace_kernel(op) or KERNELS.get(op.name)
        if kernel is None or (not self.tensors and not op.is_factory):
            return None
        if op.is_factory:
            return kernel if not self.tensors and op.name not in COMPOSITES else None
        first = self.params[0]
        leads = first.is_tensor and not first.optional and not (self.numbers and self.numbers[-1] == 0)
        few_numbers = len(self.numbers) < 2 or (len(self.numbers) == 2 and self.numbers[0] == 0)
        return kernel if leads and few_numbers and self._takes_arrays() else None

    def _takes_arrays(self) -> bool:
        op, returns = self.op, self.op.schema.returns
        lists = [p for _, p in self.tensors if p.is_list]
        plain = op.rule is None and not op.numbers
        if op.schema.returns_list or (lists and (len(self.tensors) > 1 or lists[0].holes or not plain or op.writes)):
            return False
        if len(returns) > 1:
            return all(r == "Tensor" for r in returns) and plain and not op.is_view and not op.writes
        return bool(returns) and (returns[0].startswith("Tensor") or (plain and not op.writes))

    def _makes(self) -> Makes:
        op = self.op
        if op.writes:
            return Makes.WRITTEN
        if op.is_view:
            return Makes.VIEW
        if len(op.schema.returns) > 1:
            return Makes.SEVERAL
        return Makes.TENSOR if op.schema.returns[:1] == ("Tensor",) else Makes.VALUE

    def _result_type(self, casting: tuple[int, ...]) -> ResultType:
        op, rule = self.op, self.rule
        if rule is None or rule.out == "numpy":
            retypes = op.overload == "dtype" or op.base in _RETYPING_VIEWS
            return ResultType.OF_LEAD if op.is_view and not retypes else ResultType.OF_ARRAY
        return ResultType.BOOL if rule.out == "bool" else ResultType.OF_LEAD

    # --- gradient
    def _gradient(self) -> GradientPlan | None:
        d = self.op.derivative
        if d is None:
            return None
        positions = {p.name: i for i, p in enumerate(self.params)}
        return GradientPlan(
            d.node_class,
            tuple(positions[n] for n in d.inputs),
            bool(d.list_inputs & set(d.inputs)),
            tuple(self._plan_saved(name, positions) for name in d.saved_names),
            any(p.type == "ScalarType" for p in self.params),
            d.constant,
        )

    def _plan_saved(self, name: str, positions: dict[str, int]) -> Saved:
        d = self.op.derivative
        if name in d.results:
            return Saved(name, SavedKind.RESULT, d.results[name], (), True)
        if name in d.facts:
            word, _, what = name.rpartition("_")
            absent = None if what in ("dtype", "device") else ()
            if self.params[positions[word]].is_list:
                return Saved(name, SavedKind.FACT, positions[word], (), False, _of_each(_FACTS[what]), absent)
            return Saved(name, _FACT_KINDS.get(what, SavedKind.FACT), positions[word], (), False, _FACTS[what], absent)
        users = tuple(i for i, n in enumerate(d.inputs) if name in d.needs_of(n))
        return Saved(name, SavedKind.ARGUMENT, positions[name], users, self.params[positions[name]].is_tensor)


def inplace_function(op: Op) -> Callable[..., Any] | None:
    """The in-place form of a composite: what the composite makes is copied."""
    if op.inplace_of is None or op.inplace_of.name not in COMPOSITES:
        return None
    composite = COMPOSITES[op.inplace_of.name]

    def function(target: Any, *rest: Any) -> Any:
        made = composite(target, *rest)
        check_result_type(made.dtype, target.dtype)  # copying would cut fractions off
        return target.copy_(made)

    return function
