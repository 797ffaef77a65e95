"""Plans say what declarations say, and both executors do what a plan says."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _native
from mindtorch_v2._dispatch import aten
from mindtorch_v2._dispatch.call import runner
from mindtorch_v2._dispatch.dispatcher import dispatch_with_keyset
from mindtorch_v2._dispatch.plan import ArgumentKind, CallPlan, Makes, ResultType, SavedKind, plan_of
from mindtorch_v2._dispatch.registry import COMPOSITES, KERNELS, STEPS, STEPWISE
from mindtorch_v2._dispatch.steps import StepsKind
from mindtorch_v2._ops.schema import NO_DEFAULT, Param
from mindtorch_v2._ops.table import Op, all_ops, find

OPS = all_ops()
core = _native.native_module("_core")
needs_core = pytest.mark.skipif(core is None, reason="the native core is not built")


# --- against the declaration
def _is_kind_of(kind: ArgumentKind, p: Param, plan: CallPlan) -> bool:
    """Whether an argument of this kind can stand for a parameter."""
    if p.is_tensor and kind == ArgumentKind.VALUE:
        return plan.function is not None and plan.gradient is None  # the steps look at their tensors themselves
    if p.is_tensor and p.is_list:
        return kind == (ArgumentKind.LIST_WITH_HOLES if p.holes else ArgumentKind.TENSOR_LIST)
    if p.is_tensor:
        number = kind == ArgumentKind.NUMBER and p.name in plan.op.numbers
        return number or kind == (ArgumentKind.OPTIONAL_TENSOR if p.optional else ArgumentKind.TENSOR)
    if kind == ArgumentKind.SPREAD:
        return p.type == "int" and p.is_list and p.default is NO_DEFAULT
    if kind == ArgumentKind.REAL:
        rule = plan.op.rule
        return p.type == "Scalar" and rule is not None and rule.names is not None and p.name in rule.names
    wanted = {
        ArgumentKind.REPEATED: p.type == "int" and p.is_list and p.length > 0,
        ArgumentKind.ELEMENT_TYPE: p.type == "ScalarType",
        ArgumentKind.DEVICE: p.type == "Device"
        and p.name == "device"
        and not any(q.is_tensor for q in plan.op.schema.params),
        ArgumentKind.UNSET: p.name == "pin_memory" and plan.op.is_factory and plan.op.family != "movement",
    }
    return wanted[kind] if kind in wanted else kind == ArgumentKind.VALUE and not any(wanted.values())


@pytest.mark.parametrize("family", sorted({op.family for op in OPS}))
def test_a_plan_says_what_the_declaration_says(family: str) -> None:
    for op in (op for op in OPS if op.family == family):
        _check_plan(plan_of(op))


def _check_plan(plan: CallPlan) -> None:
    op, params = plan.op, plan.op.schema.params
    assert [(a.name, a.default, a.keyword_only) for a in plan.arguments] == [
        (p.name, p.default, p.keyword_only) for p in params
    ]
    wrong = [(p.name, a.kind) for a, p in zip(plan.arguments, params) if not _is_kind_of(a.kind, p, plan)]
    assert not wrong, (op, wrong)
    assert plan.writes == op.writes and plan.is_view == op.is_view
    assert (plan.makes == Makes.WRITTEN) == op.writes
    assert (plan.makes == Makes.VIEW) == (op.is_view and not op.writes)
    assert (plan.makes == Makes.SEVERAL) == (len(op.schema.returns) > 1 and not op.writes and not op.is_view)
    assert (plan.function is not None) == (op.name in COMPOSITES or _is_written_by_composite(op))
    assert plan.has_steps == (plan.function is not None or op.name in STEPWISE or op.name in STEPS)
    assert plan.steps is STEPS.get(op.name) and (plan.steps is None or plan.kernel is not None)
    assert plan.kernel is None or plan.kernel is KERNELS.get(op.name) or op.inplace_of is not None
    _check_types(plan)
    _check_gradient(plan)


def test_plans_have_kernels_and_gradients() -> None:
    """What the checks above compare is there: many ops have kernels on arrays, and derivatives."""
    plans = [plan_of(op) for op in OPS]
    assert len({op.family for op in OPS}) >= 22 and len(plans) >= 1300
    assert sum(plan.kernel is not None for plan in plans) >= 550
    assert sum(plan.gradient is not None for plan in plans) >= 350
    assert sum(bool(plan.casting) for plan in plans) >= 150


WRONG: dict[str, tuple[str, Callable[[CallPlan], dict[str, Any]]]] = {
    "an argument's name": (
        "add.Tensor",
        lambda p: {"arguments": (replace(p.arguments[0], name="x"), *p.arguments[1:])},
    ),
    "a default": ("softmax.int", lambda p: {"arguments": (*p.arguments[:-1], replace(p.arguments[-1], default=0))}),
    "a number for a tensor": (
        "mm",
        lambda p: {"arguments": (replace(p.arguments[0], kind=ArgumentKind.VALUE), *p.arguments[1:])},
    ),
    "a type as a plain value": (
        "sum",
        lambda p: {"arguments": (p.arguments[0], replace(p.arguments[1], kind=ArgumentKind.VALUE))},
    ),
    "nothing is cast": ("add.Tensor", lambda p: {"casting": ()}),
    "too little is cast": ("where.self", lambda p: {"casting": p.casting[:1]}),
    "not cast to a type with fractions": ("exp", lambda p: {"wants_inexact": False}),
    "the result's type": ("eq.Tensor", lambda p: {"result_type": ResultType.OF_LEAD}),
    "no bool": ("add.Tensor", lambda p: {"result_type": ResultType.BOOL}),
    "no view": ("t", lambda p: {"is_view": False, "makes": Makes.TENSOR}),
    "one result": ("native_layer_norm", lambda p: {"makes": Makes.TENSOR}),
    "nothing is written": ("add_.Tensor", lambda p: {"writes": False}),
    "no steps": ("linear", lambda p: {"has_steps": False}),
    "another op's kernel": ("mm", lambda p: {"kernel": KERNELS["add.Tensor"]}),
    "no gradient": ("mul.Tensor", lambda p: {"gradient": None}),
    "an edge too few": ("mul.Tensor", lambda p: {"gradient": replace(p.gradient, inputs=p.gradient.inputs[:1])}),
    "nothing is saved": ("mul.Tensor", lambda p: {"gradient": replace(p.gradient, saved=())}),
    "the other operand is saved": (
        "mul.Tensor",
        lambda p: {
            "gradient": replace(
                p.gradient,
                saved=(replace(p.gradient.saved[0], position=1 - p.gradient.saved[0].position), *p.gradient.saved[1:]),
            )
        },
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_plan_is_seen(what: str) -> None:
    name, change = WRONG[what]
    plan = plan_of(find(name))
    _check_plan(plan)
    with pytest.raises(AssertionError):
        _check_plan(replace(plan, **change(plan)))


def _is_written_by_composite(op: Op) -> bool:
    return op.inplace_of is not None and op.inplace_of.name in COMPOSITES and op.name not in KERNELS


def _check_types(plan: CallPlan) -> None:
    rule, params = plan.op.rule, plan.op.schema.params
    casts = rule is not None and rule.cast is not None and plan.kernel is not None
    if not casts or (plan.op.writes and plan.op.inplace_of is None):
        assert plan.casting == ()
    else:
        joined = [i for i, p in enumerate(params) if rule.names is None or p.name in rule.names]
        assert plan.casting == tuple(i for i in joined if params[i].is_tensor)
        numbers = rule.names is not None and any(params[i].type == "Scalar" for i in joined)
        assert plan.wants_inexact == (bool(plan.casting) and (rule.cast == "float" or numbers))
    assert (plan.result_type == ResultType.BOOL) == (rule is not None and rule.out == "bool")
    if plan.casting:
        assert plan.lead == plan.casting[0]


def _check_gradient(plan: CallPlan) -> None:
    op, gradient = plan.op, plan.gradient
    assert (gradient is None) == (op.derivative is None)
    if gradient is None:
        return
    params = op.schema.params
    assert tuple(params[i].name for i in gradient.inputs) == op.derivative.inputs
    assert all(params[i].is_tensor for i in gradient.inputs)
    assert tuple(value.name for value in gradient.saved) == op.derivative.saved_names
    for value in gradient.saved:
        if value.kind == SavedKind.RESULT:
            assert value.position < len(op.schema.returns) or op.schema.returns_list
        elif value.kind == SavedKind.ARGUMENT:
            users = [i for i, name in enumerate(op.derivative.inputs) if value.name in op.derivative.needs_of(name)]
            assert params[value.position].name == value.name and list(value.users) == users != []
        else:
            assert value.name.startswith(f"{params[value.position].name}_") and value.fact is not None


@needs_core
@pytest.mark.parametrize("kind", [ArgumentKind, Makes, ResultType, SavedKind, StepsKind])
def test_c_numbers_kinds_alike(kind: Any) -> None:
    exported = dict(getattr(core, kind.__name__))
    exported.pop("NONE", None)
    assert exported == {member.name: member.value for member in kind}


@needs_core
def test_every_op_has_a_native_call() -> None:
    without = {op.name for op in OPS if not isinstance(aten.overload(op.name), core.Call)}
    assert without <= {
        op.name
        for op in OPS
        if len(op.schema.params) > 16 or len(op.derivative.saved_names if op.derivative else ()) > 16
    }


# --- both executors
def _x(**options: Any) -> Any:
    return torch.arange(12.0, **options).reshape(3, 4) / 7 - 0.5


def _grad() -> Any:
    return _x().requires_grad_()


CALLS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "add.Tensor": lambda: (_grad(), _x(), 1),
    "mul.Tensor": lambda: (_grad(), 2.5),
    "eq.Tensor": lambda: (_grad(), _x()),
    "relu": lambda: (_grad(),),
    "t": lambda: (_grad(),),
    "detach": lambda: (_grad(),),
    "mm": lambda: (_grad(), _x().t()),
    "addmm": lambda: (_x()[0, :3].clone(), _grad(), _x().t(), 1, 1),
    "baddbmm": lambda: (_x(), _grad().reshape(1, 3, 4), torch.ones(1, 4, 4), 1, 1),
    "matmul": lambda: (_grad(), _x().t()),
    "max.dim": lambda: (_grad(), 1, False),
    "native_layer_norm": lambda: (_grad(), (4,), torch.ones(4), None, 1e-5),
    "cat": lambda: ([_grad(), _x()], 0),
    "stack": lambda: ([_grad(), _x()], 0),
    "split.Tensor": lambda: (_grad(), 2, 0),
    "unbind.int": lambda: (_grad(), 0),
    "clone": lambda: (_grad(), None),
    "copy_": lambda: (_x(), _x() + 1, False),
    "zero_": lambda: (_x(),),
    "add_.Tensor": lambda: (_x(), _x(), 1),
    "empty.memory_format": lambda: ((2, 3), None, None, torch.device("cpu"), None, None),
    "zeros": lambda: ((2, 3), None, None, torch.device("cpu"), None),
    "zeros_like": lambda: (_grad(), None, None, None, None, None),
    "_local_scalar_dense": lambda: (_x()[0, 0],),
    "embedding": lambda: (_grad(), torch.tensor([2, 0]), -1, False, False),
    "index.Tensor": lambda: (_grad(), [None, torch.tensor([1, 3])]),
    "mse_loss": lambda: (_grad(), _x() * 2, 1),
    "masked_fill.Scalar": lambda: (_grad(), _x() > 0, 2.0),
    "sum.dim_IntList": lambda: (_grad(), [0], False, torch.int64),
    "log_sigmoid_forward": lambda: (_grad(),),
}


def _facts(value: Any) -> Any:
    """What can be told of a result: shape, strides, type, values, node of the graph."""
    if isinstance(value, torch.Tensor):
        values = value.detach().tolist() if "empty" not in str(value.dtype) else None
        return (
            tuple(value.shape),
            value.stride(),
            value.dtype,
            value.requires_grad,
            _node(value.grad_fn),
            values,
            value._version,
        )
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [_facts(v) for v in value]
    return value


def _node(node: Any) -> Any:
    if node is None:
        return None
    saved = [
        _facts(v) if not isinstance(v, torch.Tensor) else (tuple(v.shape), v.dtype, v.detach().tolist())
        for v in node.saved
    ]
    return (
        node.name(),
        len(node.next),
        [e is None for e in node.next],
        node.counts,
        node.shape,
        node.dtype,
        node.specs,
        saved,
    )


def _observed(call: Callable[..., Any], args: tuple[Any, ...], **flags: Any) -> tuple[Any, list[Any]]:
    with torch.profiler.profile(record_shapes=True, **flags) as prof:
        made = call(*args)
    events = prof.events()
    first = min((e.sequence_nr for e in events if e.sequence_nr >= 0), default=0)
    return made, [
        (
            e.name,
            e.sequence_nr - first if e.sequence_nr >= 0 else -1,
            e.input_shapes,
            e.concrete_inputs,
            e.overload_name,
            e.cpu_memory_usage,
            e.cpu_parent and e.cpu_parent.name,
        )
        for e in events
        if e.name != "[memory]"
    ]


def _comparable(name: str, made: Any) -> Any:
    return None if name.startswith("empty") else _facts(made)


@needs_core
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_both_executors_give_the_same(name: str, grad: bool) -> None:
    """The native call and the Python one: results, nodes and events, observed or not, also where memory is watched."""
    op = find(name)
    native_call: Any = aten.overload(name)
    assert isinstance(native_call, core.Call)
    run = runner(plan_of(op), "method")
    positional = [not p.keyword_only for p in op.schema.params]

    def native(*args: Any) -> Any:
        return native_call(
            *[a for a, p in zip(args, positional) if p],
            **{p.name: a for a, p in zip(args, op.schema.params) if p.keyword_only},
        )

    def python(*args: Any) -> Any:
        return run(args)

    with torch.set_grad_enabled(grad):
        for call in (native, python):  # kernels are found at the first call
            _observed(call, CALLS[name]())
        assert _comparable(name, native(*CALLS[name]())) == _comparable(name, python(*CALLS[name]()))
        for flags in ({}, {"profile_memory": True}):
            (made, events), (expected, expected_events) = (
                _observed(native, CALLS[name](), **flags),
                _observed(python, CALLS[name](), **flags),
            )
            assert events == expected_events
            assert _comparable(name, made) == _comparable(name, expected)


# --- where calls go
def _transformer() -> Callable[[], None]:
    model = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.randn(2, 5, 16)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), x).backward()
        optimizer.step()

    return step


def _convolutions() -> Callable[[], None]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 5)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(2, 3, 8, 8), torch.tensor([1, 3])

    def step() -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        loss.item()

    return step


@needs_core
@pytest.mark.parametrize("build", [_transformer, _convolutions])
def test_observed_calls_stay_in_c(build: Any) -> None:
    """A profile does not send operators to Python: only writes into tensors that have a history go there, observed
    or not.
    """
    entered: list[str] = []

    def watch(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code is dispatch_with_keyset.__code__:
            entered.append(frame.f_locals["op"].name)

    step = build()
    sys.setprofile(watch)  # before the profile, which says so otherwise
    try:
        with torch.profiler.profile():
            step()
            step()  # every kernel is found
            entered.clear()
            step()
    finally:
        sys.setprofile(None)
    assert [name for name in entered if not find(name).writes] == [] and len(entered) <= 3
