"""Handles of hooks, and the backward hooks of modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._autograd.grad_mode import is_grad_enabled
from .._autograd.hooks import RemovableHandle
from .._tensor import Tensor

__all__ = ["BackwardHook", "RemovableHandle", "warn_if_has_hooks"]


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warns that the backward hooks of a tensor are lost when it is serialized."""
    import warnings

    for hook in (tensor._hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


def unserializable_hook(function: Any) -> Any:
    """Marks a hook as not worth a warning when its tensor is serialized."""
    function.__torch_unserializable__ = True
    return function


def _identity_function() -> Any:
    """The autograd function that stands at the border of a hooked module (made when first needed, as it needs the
    public autograd package)."""
    from ..autograd import Function

    class BackwardHookFunction(Function):
        """Passes tensors and gradients through, so that a module has one node for its inputs and one for its
        outputs.
        """

        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
            return args

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads

    return BackwardHookFunction


_function: list[Any] = []


def _through_identity(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    if not _function:
        _function.append(_identity_function())
    made = _function[0].apply(*tensors)
    return made if isinstance(made, tuple) else (made,)


class BackwardHook:
    """The backward hooks of one call of a module.

    The tensors that enter and those that leave the module each pass an identity node. Gradients that arrive at the
    output's node are `grad_output` (the pre-hooks may replace them); those that leave the input's node are `grad_input`
    (the hooks may replace them). Where no input needs a gradient the hooks run when `grad_output` is known.
    """

    def __init__(
        self, module: Any, user_hooks: Sequence[Callable[..., Any]], user_pre_hooks: Sequence[Callable[..., Any]]
    ) -> None:
        self.module = module
        self.user_hooks = list(user_hooks)
        self.user_pre_hooks = list(user_pre_hooks)
        self.grad_outputs: tuple[Any, ...] | None = None
        self.input_count: int | None = None
        self.input_positions: list[int] | None = None
        self.output_count = 0
        self.output_positions: list[int] = []

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments to call `forward` with."""
        made, self.input_count, positions = self._attach(args, lambda node: node.register_hook(self._on_input))
        self.input_positions = positions or None
        return made

    def setup_output_hook(self, result: Any) -> Any:
        """The result to return from the call."""
        single = not isinstance(result, tuple)
        made, self.output_count, self.output_positions = self._attach(
            (result,) if single else result, lambda node: node.register_prehook(self._on_output)
        )
        return made[0] if single else made

    def _attach(
        self, values: tuple[Any, ...], register: Callable[[Any], Any]
    ) -> tuple[tuple[Any, ...], int, list[int]]:
        positions = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        if not (is_grad_enabled() and any(values[i].requires_grad for i in positions)):
            return values, len(values), []
        tensors = _through_identity([values[i] for i in positions])
        nodes = [t.grad_fn for t in tensors if t.grad_fn is not None]
        if not nodes:
            raise RuntimeError(
                "Error while setting up Module backward hook: not implemented. Please report this issue."
            )
        register(nodes[0])
        changed = list(values)
        for i, t in zip(positions, tensors):
            changed[i] = t
        return tuple(changed), len(values), positions

    @staticmethod
    def _spread(grads: Sequence[Any], positions: Sequence[int], count: int) -> tuple[Any, ...]:
        full: list[Any] = [None] * count
        for i, g in zip(positions, grads):
            full[i] = g
        return tuple(full)

    def _replace_gradients(self, before: tuple[Any, ...], out: Any, what: str) -> tuple[Any, ...]:
        """What a hook's answer `out` makes of the gradients `before`."""
        if not isinstance(out, tuple):
            out = (out,)
        if len(out) != len(before):
            raise RuntimeError(
                f"Backward hook returned an invalid number of grad_{what}, got {len(out)}, but expected {len(before)}"
            )
        return out

    def _run_hooks(self, grad_input: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.user_hooks:
            out = hook(self.module, grad_input, self.grad_outputs)
            if out is not None:
                grad_input = self._replace_gradients(grad_input, out, "input")
        return grad_input

    def _on_input(self, grads: Sequence[Any], _: Any) -> Any:
        if self.grad_outputs is None:
            raise RuntimeError(
                "Module backward hook for grad_input is called before the grad_output one. This happens because the "
                "gradient in your nn.Module flows to the Module's input without passing through the Module's output. "
                "Make sure that the output depends on the input and that the loss is computed based on the output."
            )
        assert self.input_positions is not None and self.input_count is not None
        full = self._run_hooks(self._spread(grads, self.input_positions, self.input_count))
        self.grad_outputs = None
        return tuple(full[i] for i in self.input_positions)

    def _on_output(self, grads: Sequence[Any]) -> Any:
        given = self._spread(grads, self.output_positions, self.output_count)
        for hook in self.user_pre_hooks:
            out = hook(self.module, given)
            if out is not None:
                given = self._replace_gradients(given, out, "output")
        self.grad_outputs = given
        if self.input_positions is None and self.input_count is not None:
            if any(g is not None for g in self._run_hooks((None,) * self.input_count)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None "
                    "for all gradients."
                )
            self.grad_outputs = None
        return tuple(given[i] for i in self.output_positions) if self.user_pre_hooks else None
