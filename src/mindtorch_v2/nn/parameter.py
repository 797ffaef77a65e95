"""Tensors with a role in a module: parameters (trained) and buffers (state)."""

from __future__ import annotations

from typing import Any

from .._dispatch.overrides import disabled_torch_function_impl
from .._lazy_parts import lazy_parts as _lazy_parts
from .._tensor import Parameter, Tensor

__all__ = ["Buffer", "Parameter", "is_lazy"]


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    """`Buffer(data)` is the tensor itself, marked; `isinstance(t, Buffer)` reads the mark."""

    def __call__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            from .._dispatch import aten

            data = aten.empty((0,))
        made = data.detach().requires_grad_(data.requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module keeps as state without training it: assigning one to an attribute registers a buffer.

    `persistent` says whether it belongs to the state dict.

    >>> layer = nn.Module()
    >>> layer.steps = nn.Buffer(torch.tensor(0))
    >>> [name for name, _ in layer.named_buffers()]
    ['steps']
    """

    persistent: bool
    _is_buffer: bool
    __torch_function__ = staticmethod(disabled_torch_function_impl)


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return type(param).__dict__.get("_is_uninitialized", False)


# the classes of parameters without a shape, made when first asked for
__getattr__, __dir__ = _lazy_parts(
    __name__,
    names=dict.fromkeys(
        ("UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin"), "nn._uninitialized"
    ),
)
