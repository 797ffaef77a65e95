"""Activation checkpointing: a part of the forward pass keeps nothing for the backward pass and is run again there.

Two forms exist. Without re-entering (`use_reentrant=False`) the saved tensors are replaced by placeholders, and the
first one that the backward pass asks for runs the function again to fill them all. With re-entering the function is
one
`autograd.Function` whose backward runs it again and calls a backward pass of its own.
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .._autograd.grad_mode import enable_grad, no_grad
from .._dispatch import autocast
from .._guarded import guarded
from .._tensor import Tensor
from ..autograd import Function, backward
from ..autograd.graph import saved_tensors_hooks
from ..random import get_rng_state, set_rng_state
from ._selective_checkpoint import CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_early_stop",
]

_early_stop: list[bool | None] = [None]


class CheckpointError(RuntimeError):
    """Running the function again gave something else than the first time."""


class _AllSaved(Exception):
    """Everything that was saved has been saved again: the rest of the function need not run."""


class set_checkpoint_early_stop(contextlib.ContextDecorator):
    """Says, for checkpoints made inside, whether a second run may stop once it has all it needs."""

    def __init__(self, enable: bool) -> None:
        self.enable = enable

    def __enter__(self) -> None:
        self.before = _early_stop[0]
        _early_stop[0] = self.enable

    def __exit__(self, *exc: object) -> None:
        _early_stop[0] = self.before


def noop_context_fn() -> tuple[Any, Any]:
    """The contexts of the first and of the second run, by default none."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with their tensors cut out of the graph, wanting gradients as before."""
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: ", type(inputs).__name__)
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Sequence[Any]) -> None:
    """Warns when no gradient could flow."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=4)


class _Replay:
    """Runs a function with a saved state of the generator (None: with the present one) and puts the present one
    back, also where an interrupt ends it.
    """

    def __init__(self, state: Tensor | None) -> None:
        self._state = state
        self._before: Tensor | None = None

    @guarded("restore")
    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if self._state is None:
            return function(*args, **kwargs)
        self._before = get_rng_state()
        set_rng_state(self._state)
        result = function(*args, **kwargs)
        self.restore()
        return result

    def restore(self) -> None:
        """Puts back the state from before; may be called again."""
        if self._before is not None:
            set_rng_state(self._before)
            self._before = None


# --- without re-entering
class _Holder:
    """Stands for a saved tensor until it is computed again."""

    __slots__ = ("metadata", "value", "__weakref__")

    def __init__(self, metadata: dict[str, Any]) -> None:
        self.metadata = metadata
        self.value: Tensor | None = None


def _metadata(t: Tensor) -> dict[str, Any]:
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}


class _Frame:
    """One checkpointed call: its placeholders, and how to fill them."""

    def __init__(self, run: Callable[[], Any], check: bool, early_stop: bool) -> None:
        self.run = run
        self.check = check
        self.early_stop = early_stop
        self.holders: list[weakref.ref[_Holder]] = []
        self.expected: list[dict[str, Any]] = []

    def pack(self, t: Tensor) -> _Holder:
        holder = _Holder(_metadata(t))
        self.holders.append(weakref.ref(holder))
        self.expected.append(holder.metadata)
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        if holder.value is None:
            self._fill()
        value, holder.value = holder.value, None
        if value is None:
            raise CheckpointError(
                "torch.utils.checkpoint: a tensor that the backward pass needs was not saved by the second run."
            )
        return value

    def _fill(self) -> None:
        again: list[Tensor] = []

        def keep(t: Tensor) -> Tensor:
            again.append(t.detach())
            if self.early_stop and len(again) == len(self.holders):
                raise _AllSaved
            return again[-1]

        with contextlib.suppress(_AllSaved):
            enable_grad().run(saved_tensors_hooks(keep, lambda t: t).run, self.run)
        self._compare(again)
        for ref, value in zip(self.holders, again):
            holder = ref()
            if holder is not None:
                holder.value = value

    def _compare(self, again: list[Tensor]) -> None:
        if len(again) != len(self.holders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {len(again)}."
            )
        if not self.check:
            return
        lines = []
        for i, (first, t) in enumerate(zip(self.expected, again)):
            second = _metadata(t)
            if first != second:
                lines.append(f"tensor at position {i}:\nsaved metadata: {first}\nrecomputed metadata: {second}")
        if lines:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                "during the forward pass.\n" + "\n".join(lines) + "\n."
            )


def _checkpoint_without_reentrant(
    function: Callable[..., Any],
    preserve_rng_state: bool,
    context_fn: Callable[[], tuple[Any, Any]],
    check: bool,
    early_stop: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    first, second = context_fn()
    random = get_rng_state() if preserve_rng_state else None
    repeated = autocast.as_now(function)

    def again() -> None:
        with second:
            _Replay(random).run(repeated, *args, **kwargs)

    frame = _Frame(again, check, early_stop)

    def forward() -> Any:
        with first:
            return function(*args, **kwargs)

    return saved_tensors_hooks(frame.pack, frame.unpack).run(forward)


# --- with re-entering
class CheckpointFunction(Function):
    """The function as one node: forward without a graph, backward by running it again."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = autocast.as_now(run_function)
        ctx.random = get_rng_state() if preserve_rng_state else None
        ctx.positions = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.arguments = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[a for a in args if isinstance(a, Tensor)])
        return no_grad().run(run_function, *args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        arguments = list(ctx.arguments)
        for i, t in zip(ctx.positions, ctx.saved_tensors):
            arguments[i] = t
        inputs = detach_variable(tuple(arguments))
        outputs = _Replay(ctx.random).run(enable_grad().run, ctx.run_function, *inputs)
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        wanted = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not wanted:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in wanted], [g for _, g in wanted])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in inputs))


# --- the public functions
def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Calls `function(*args, **kwargs)` and keeps only its inputs for the backward pass, which runs it again.

    use_reentrant       which form; pass it explicitly (False is recommended).
    preserve_rng_state  (keyword, default True) the second run draws the same random numbers.
    context_fn          gives the contexts of the first and the second run; only without re-entering.
    determinism_check   "default" compares shapes, types and devices of what is saved; "none" does not.
    early_stop          the second run ends once all saved tensors are there.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([0.5403, 0.5403])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
            "if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
            "more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if use_reentrant:
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    stop = early_stop if _early_stop[0] is None else _early_stop[0]
    return _checkpoint_without_reentrant(
        function, preserve, context_fn, determinism_check == "default", stop, args, kwargs
    )


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Runs a sequence of functions in `segments` parts, all but the last checkpointed.

    >>> layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    >>> torch.utils.checkpoint.checkpoint_sequential(layers, 2, torch.ones(1, 2), use_reentrant=False).shape
    torch.Size([1, 2])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In "
            "version 2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True. "
            "Refer to docs for more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions)
    size = len(steps) // segments

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            for step in steps[start:end]:
                x = step(x)
            return x

        return run

    for start in range(0, size * (segments - 1), size):
        input = checkpoint(part(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(size * (segments - 1), len(steps))(input)


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """(indices, random states) of the accelerator's devices that tensors among the arguments lie on."""
    found = sorted({t.get_device() for t in args if isinstance(t, Tensor) and t.get_device() >= 0})
    return found, [_device_module(args).get_rng_state(i) for i in found]


def set_device_states(devices: list[int], states: list[Any], *, device_type: str | None = None) -> None:
    """Puts random states back into the accelerator's devices."""
    from .._device_modules import get_device_module

    for index, state in zip(devices, states):
        get_device_module(device_type).set_rng_state(state, index)


def _device_module(args: Any) -> Any:
    from .._device_modules import get_device_module

    return get_device_module(next(t.device.type for t in args if isinstance(t, Tensor) and t.get_device() >= 0))
