"""User-defined differentiable functions."""

from __future__ import annotations

import threading
from typing import Any

from .. import _observer
from .._dispatch import aten, modes
from .._keys import GRAD
from .._tensor import Tensor, shallow_alias
from .node import Node, edge_of, unpack
from .record import attach, finish_node, store

# runs functions on batched tensors, or says NotImplemented: set by func/_functions.py when something is mapped
apply_mapped: Any = None


class _Products(threading.local):
    forward = False  # whether the running backward pass is a part of a forward product


_products = _Products()


def call_for_forward_product(function: Any, *args: Any) -> Any:
    """Calls a function that runs a backward pass whose own derivative is a forward product: functions that have a
    `jvp` are asked for it instead of `backward`.
    """
    before = _products.forward
    _products.forward = True
    try:
        return function(*args)
    finally:
        _products.forward = before


class FunctionCtx:
    """What `forward` and `backward` of one call share."""

    in_jvp = False
    function: Any
    input_specs: list[Any]  # (shape, type, device) of the inputs that are tensors, for `jvp`

    def __init__(self) -> None:
        self.to_save: tuple[Any, ...] = ()
        self.for_forward: tuple[Any, ...] | None = None
        self.needs_input_grad: tuple[bool, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.dirty_tensors: tuple[Any, ...] = ()
        self.materialize_grads = True
        self._node: Any = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors (inputs or outputs, or None) for `backward`."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type {type(t).__name__}"
                )
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keeps tensors (inputs or outputs, or None) for `jvp`, which finds them in `saved_tensors`."""
        self.for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Says which inputs `forward` changed in place."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Says which outputs have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients reach `backward` as zeros (the default) or as None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self.in_jvp and self.for_forward is not None:
            return self.for_forward
        if self._node is None:
            return tuple(self.to_save)
        return self._node.saved_now()

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        return self.saved_tensors


class CustomNode(Node):
    """The node of a user-defined function; one subclass per Function, called `<Name>Backward`."""

    function: Any
    ctx: FunctionCtx
    saved_outputs: tuple[int, ...] = ()

    def name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self.name()} object at {id(self):#x}>"

    def output_of(self, index: int) -> int:
        return self.saved_outputs[index]

    def saved_now(self) -> tuple[Any, ...]:
        values = list(unpack(self))
        for i, nr in enumerate(self.saved_outputs):
            if nr >= 0 and modes.state.grad:
                from .node import Slot

                alias = shallow_alias(values[i])
                alias._edge, alias._keys = Slot(self, nr), alias._keys | GRAD
                values[i] = alias
        return tuple(values)

    def apply(self, g: Any) -> Any:
        ctx = self.ctx
        grads = list(g)
        if ctx.materialize_grads:
            for i, grad in enumerate(grads):
                if grad is None and self.specs is not None and self.specs[i] is not None:
                    shape, dtype, _ = self.specs[i]
                    grads[i] = aten.zeros(list(shape), dtype=dtype)
        if _products.forward and self.function.jvp is not Function.jvp:
            return _transposed_jvp(self, grads)
        made = self.function.backward(ctx, *grads)
        made = made if isinstance(made, tuple) else (made,)
        if len(made) > len(self.next) and all(m is None for m in made[len(self.next) :]):
            made = made[: len(self.next)]
        if len(made) != len(self.next):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {len(self.next)}, got "
                f"{len(made)})"
            )
        return made


def _transposed_jvp(node: CustomNode, grads: list[Any]) -> tuple[Any, ...]:
    """What `backward` would give, from `jvp`, which is linear in the tangents: so the derivative of this in the
    direction of tangents is what `jvp` gives for them.
    """
    from .engine import run_backward

    ctx = node.ctx
    tangents: list[Any] = [
        None
        if spec is None or (edge is None and not ctx.materialize_grads)
        else aten.zeros(list(spec[0]), dtype=spec[1], device=spec[2])
        for spec, edge in zip(ctx.input_specs, node.next)
    ]
    wanted = [t.requires_grad_() for t, edge in zip(tangents, node.next) if edge is not None]
    ctx.in_jvp = True
    try:
        made = modes.call_with_grad(True, node.function.jvp, ctx, *tangents)
    finally:
        ctx.in_jvp = False
    outputs = made if isinstance(made, (tuple, list)) else (made,)
    pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad and g is not None]
    if not pairs:
        return tuple(None for _ in node.next)
    found = iter(
        run_backward([o for o, _ in pairs], [g for _, g in pairs], True, modes.state.grad, wanted, capture_only=True)
    )
    return tuple(None if edge is None else next(found) for edge in node.next)


class _FunctionMeta(type):
    vjp: Any

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        if "vjp" in attributes and "backward" not in attributes:
            cls.backward = cls.vjp
        cls._node_class = type(f"{name}Backward", (CustomNode,), {"function": cls})


class Function(metaclass=_FunctionMeta):
    """Base of user-defined operations: static `forward(ctx, *args)` (or `forward(*args)` with `setup_context`) and
    `backward`.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return 2 * ctx.saved_tensors[0] * grad
    >>> x = torch.tensor([3.], requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor([6.])
    """

    _node_class: Any
    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it "
            "with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The derivative in the direction of the inputs' tangents (None for what has none), for forward mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """(outputs, their batch dimensions) for a batch: `info` has its size and randomness, `in_dims` says where it
        stands in the arguments, None for those that are the same for all samples.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Runs `forward` without recording, and ties its outputs to `backward`."""
        observer = _observer.active
        if observer is None:
            return _apply(cls, args, kwargs)
        observer.enter_node(cls.__name__, modes.sequence[0] if modes.state.grad else -1, 0, args, False)
        try:
            return _apply(cls, args, kwargs)
        finally:
            observer.leave()


def run_forward(cls: Any, ctx: FunctionCtx, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if cls.setup_context is Function.setup_context:
        return cls.forward(ctx, *args, **kwargs)
    out = cls.forward(*args, **kwargs)
    cls.setup_context(ctx, args, out)
    return out


def _apply(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if apply_mapped is not None and (mapped := apply_mapped(cls, args, kwargs)) is not NotImplemented:
        return mapped
    ctx = FunctionCtx()
    ctx.function = cls
    edges = tuple(edge_of(a) if isinstance(a, Tensor) else None for a in args)
    recording = modes.state.grad and any(e is not None for e in edges)
    ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
    out = modes.call_with_grad(False, run_forward, cls, ctx, args, kwargs)
    if not recording:
        return out
    single = isinstance(out, Tensor)
    outputs = [out] if single else list(out)
    outputs = [_own_output(t, args, ctx) if isinstance(t, Tensor) else t for t in outputs]
    node = cls._node_class()
    node.ctx = ctx
    if cls.jvp is not Function.jvp:
        ctx.input_specs = [(a.shape, a.dtype, a.device) if isinstance(a, Tensor) else None for a in args]
    tensors: list[Any] = [t if isinstance(t, Tensor) else None for t in outputs]
    finish_node(node, edges, tensors, single=False)
    wanted: list[Any] = [
        t if isinstance(t, Tensor) and not any(t is n for n in ctx.non_differentiable) else None for t in outputs
    ]
    _save(node, ctx, outputs)
    attach(node, wanted, single=False)
    ctx._node = _Weak(node)
    return outputs[0] if single else tuple(outputs)


class _Weak:
    """Lets a context reach its node without keeping it alive: the node holds the context."""

    def __init__(self, node: CustomNode) -> None:
        import weakref

        self._ref = weakref.ref(node)

    def saved_now(self) -> tuple[Any, ...]:
        node = self._ref()
        return () if node is None else node.saved_now()


def _own_output(t: Tensor, args: tuple[Any, ...], ctx: FunctionCtx) -> Tensor:
    """An input returned unchanged becomes a tensor of its own, so that it can carry this function's history."""
    if any(t is a for a in args) and not any(t is d for d in ctx.dirty_tensors):
        return shallow_alias(t)
    return t


def _save(node: CustomNode, ctx: FunctionCtx, outputs: list[Any]) -> None:
    """Keeps what `forward` saved. Outputs are kept as aliases without history: the node must not hold itself."""
    values, positions = [], []
    for t in ctx.to_save:
        nr = next((i for i, o in enumerate(outputs) if o is t), -1) if t is not None else -1
        values.append(shallow_alias(t) if nr >= 0 else t)
        positions.append(nr)
    node.saved_outputs = tuple(positions)
    node.saved_names = tuple(f"saved{i}" for i in range(len(values)))
    ctx.to_save = ()
    store(node, values)


def once_differentiable(function: Any) -> Any:
    """Marks a `backward` that must not itself be differentiated."""
    import functools

    @functools.wraps(function)
    def inner(ctx: Any, *grads: Any) -> Any:
        recording = modes.state.grad and any(isinstance(g, Tensor) and g.requires_grad for g in grads)
        made = modes.call_with_grad(False, function, ctx, *grads)
        if not recording:
            return made
        outputs = made if isinstance(made, tuple) else (made,)
        guarded = tuple(_refuse(t) if isinstance(t, Tensor) else t for t in outputs)
        return guarded if isinstance(made, tuple) else guarded[0]

    return inner


class _OnceNode(Node):
    def apply(self, g: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def _refuse(t: Tensor) -> Tensor:
    out = shallow_alias(t)
    node = _OnceNode()
    finish_node(node, (), [out], single=True)
    attach(node, [out], single=True)
    return out
