"""How a call of a program's operator runs: its kernel, chosen by device, and its gradient."""

from __future__ import annotations

from typing import Any

from .._autograd.grad_mode import is_grad_enabled
from .._dispatch.modes import call_with_grad
from .._tensor import Tensor
from ..autograd.function import Function
from .registry import CustomOp


def run(op: CustomOp, values: tuple[Any, ...]) -> Any:
    """The result of a call with arguments in the schema's order."""
    above = op.kernels.get("autograd") or op.kernels.get("composite")
    if above is not None:
        args, kwargs = op.as_call(values)
        return above(*args, **kwargs)
    if (
        is_grad_enabled()
        and any(t.requires_grad for t in op.tensors(values))
        and (op.backward is not None or op.wants_formula)
    ):
        return _call_with_graph(op, values)
    return _kernel(op, values)


def _kernel(op: CustomOp, values: tuple[Any, ...]) -> Any:
    tensors = list(op.tensors(values))
    kind = next(
        (t.device.type for t in tensors if t.device.type not in ("cpu", "meta")),
        tensors[0].device.type if tensors else "cpu",
    )
    if any(t.device.type == "meta" for t in tensors):
        kind = "meta"
    args, kwargs = op.as_call(values)
    if kind == "meta" and "meta" not in op.kernels:
        if op.fake is None:
            raise RuntimeError(
                f"There was no fake impl registered for {op}. This is necessary for torch.compile/export/fx tracing to "
                "work. Please use `register_fake` to add an fake impl."
            )
        return op.fake(*args, **kwargs)
    function = op.kernels.get(kind) or op.kernels.get("")
    if function is None:
        raise NotImplementedError(
            f"Could not run '{op.qualified_name}' with arguments from the '{kind.upper()}' backend: no kernel is "
            f"registered for it. '{op.qualified_name}' is only available for these backends: {sorted(op.kernels)}."
        )
    written = [v for p, v in zip(op.schema.params, values) if "!" in p.alias and isinstance(v, Tensor)]
    made = function(*args, **kwargs)
    _check_fresh(op, made, tensors, written)
    return made


def _check_fresh(op: CustomOp, made: Any, tensors: list[Tensor], written: list[Tensor]) -> None:
    """An operator that a function became must not return its own arguments: nobody could tell results from
    arguments.
    """
    if not op.wants_formula:
        return
    for t in made if isinstance(made, (tuple, list)) else (made,):
        if isinstance(t, Tensor) and any(t is s for s in tensors):
            raise RuntimeError(
                f"{op.qualified_name} (with implementation in Python): The output of this custom operator (1) must not "
                "also be an input to this custom operator and (2) may not alias any inputs to this custom operator or "
                "other returns. The most common way to trigger this error is if we have y = custom_op(x) and y and x "
                "are the same Tensor. Please instead return a clone of the offending output tensor(s) (e.g. return "
                "x.clone()) or refactor the custom operator to not return y."
            )


def _call_with_graph(op: CustomOp, values: tuple[Any, ...]) -> Any:
    """The call as a function of autograd. Lists are given to it item by item, since it knows tensors only."""
    flat: list[Any] = []
    shape: list[int] = []  # -1 for a single value, else the length of a list of tensors
    for p, v in zip(op.schema.params, values):
        is_list = p.is_tensor and p.is_list and v is not None
        shape.append(len(v) if is_list else -1)
        flat.extend(v if is_list else [v])
    return _function_of(op, tuple(shape)).apply(*flat)


def _unflatten(flat: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    values, start = [], 0
    for n in shape:
        values.append(flat[start] if n < 0 else list(flat[start : start + n]))
        start += 1 if n < 0 else n
    return tuple(values)


def _function_of(op: CustomOp, shape: tuple[int, ...]) -> Any:
    def forward(ctx: Any, *flat: Any) -> Any:
        values = _unflatten(flat, shape)
        made = call_with_grad(False, _kernel, op, values)
        if op.setup_context is not None:
            args, kwargs = op.as_call(values)
            extra = {"keyword_only_inputs": kwargs} if kwargs else {}
            op.setup_context(ctx=ctx, inputs=args, output=made, **extra)
        for p, v in zip(op.schema.params, values):
            if "!" in p.alias and isinstance(v, Tensor):
                ctx.mark_dirty(v)
        return tuple(made) if isinstance(made, list) else made

    def backward(ctx: Any, *grads: Any) -> Any:
        if op.backward is None:
            raise RuntimeError(
                f"Trying to backward through {op} but no autograd formula was registered. Please use register_autograd "
                "to add one."
            )
        given = op.backward(ctx, *grads)
        given = given if isinstance(given, tuple) else (given,)
        flat: list[Any] = []
        for n, g in zip(shape, (*given, *[None] * (len(shape) - len(given)))):
            flat.extend([g] if n < 0 else g if g is not None else [None] * n)
        return tuple(flat)

    name = f"GeneratedBackwardFor_{op.namespace}_{op._opname}_{op._overloadname}"
    return type(name, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
