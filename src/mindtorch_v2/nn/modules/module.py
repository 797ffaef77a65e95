"""The base of all layers and models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ... import _accelerators, _device, _observer, _owners
from ... import _dtype as dt
from ..._autograd.hooks import RemovableHandle
from ..._dispatch import aten
from ..._python.devices import module_mover
from ..._python.movement import read_in_any_order
from ..._tensor import Tensor
from . import _hooks
from ._conversion import convert_parameter
from ._hooks import (
    add_hook,
    call_hooked,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._registration import RegistrationMixin, new_tables
from ._state import EXTRA_STATE_KEY as _EXTRA_STATE_KEY_SUFFIX
from ._state import StateMixin, _IncompatibleKeys

__all__ = [
    "Module",
    "_EXTRA_STATE_KEY_SUFFIX",
    "_IncompatibleKeys",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

T = TypeVar("T", bound="Module")
_global_forward_pre, _global_forward = _hooks.forward_pre_hooks, _hooks.forward_hooks
_global_backward_pre, _global_backward = _hooks.backward_pre_hooks, _hooks.backward_hooks
_global_buffer_registration_hooks = _hooks.GLOBAL.register_buffer
_global_module_registration_hooks = _hooks.GLOBAL.register_module
_global_parameter_registration_hooks = _hooks.GLOBAL.register_parameter


def _forward_unimplemented(self: Any, *input: Any) -> None:
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


def _addindent(text: str, spaces: int) -> str:
    """Indents all lines but the first."""
    return text.replace("\n", "\n" + " " * spaces)


class Module(RegistrationMixin, StateMixin):
    """Base class of layers and models.

    A subclass creates its parts in `__init__` (after `super().__init__()`) and computes in `forward`. Parameters,
    buffers and modules that are assigned to attributes are registered, so that `parameters()`, `to()`, `state_dict()`
    and the like reach them.

        >>> class Net(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.hidden = nn.Linear(4, 8)
        ...         self.out = nn.Linear(8, 2)
        ...     def forward(self, x):
        ...         return self.out(torch.relu(self.hidden(x)))
        >>> Net()(torch.zeros(3, 4)).shape
        torch.Size([3, 2])
    """

    call_super_init: bool = False
    dump_patches: bool = False
    _is_full_backward_hook: bool | None

    def __new__(cls: type[T], *args: Any, **kwargs: Any) -> T:
        made = super().__new__(cls)
        _owners.modules.add(made)
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        self.__dict__.update(new_tables())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_unimplemented

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _global_forward
            or _global_forward_pre
            or _global_backward
            or _global_backward_pre
        ):
            return call_hooked(self, args, kwargs)
        observer = _observer.active
        if observer is None or not observer.watches_modules:
            return self.forward(*args, **kwargs)
        observer.enter_module(self)
        try:  # here, not in a function: warnings name a caller by its distance, which a profile must not change
            return self.forward(*args, **kwargs)
        finally:
            observer.leave_module()

    _call_impl = _wrapped_call_impl = __call__

    # --- hooks
    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, args)` (or `(module, args, kwargs)`) runs before forward and may return other arguments."""
        return add_hook(
            self._forward_pre_hooks, hook, self._forward_pre_hooks_with_kwargs, prepend=prepend, flags=(with_kwargs,)
        )

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """`hook(module, args, output)` (or `(module, args, kwargs, output)`) runs after forward and may return another
        output. With `always_call` it runs even when forward raises."""
        return add_hook(
            self._forward_hooks,
            hook,
            self._forward_hooks_with_kwargs,
            self._forward_hooks_always_called,
            prepend=prepend,
            flags=(with_kwargs, always_call),
        )

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_output)` runs when the gradients of the outputs are known and may return others."""
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` runs when the gradients of the inputs are known and may return others
        for them."""
        return self._register_backward(hook, True, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The old form: it sees the gradients of the node that made the output, not of the whole module."""
        return self._register_backward(hook, False, False)

    def _register_backward(self, hook: Callable[..., Any], full: bool, prepend: bool) -> RemovableHandle:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self._is_full_backward_hook = full
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    # --- conversion
    def _apply(self: T, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> T:
        """Replaces the contents of all parameters, their gradients and the buffers by `fn` of them."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is not None:
                self._parameters[name] = convert_parameter(param, fn)
        for key, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[key] = fn(buffer)
        return self

    def apply(self: T, fn: Callable[[Module], None]) -> T:
        """Calls `fn` on every module below and then on this one; used to initialise weights."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """Moves and/or casts all parameters and buffers, in place: `to(device)`, `to(dtype)`, `to(device, dtype)`,
        `to(tensor)`, `to(memory_format=...)` for what has 4 or 5 dimensions. Only floating-point contents are cast."""
        device, dtype, non_blocking = _parse_to(args, kwargs)
        order = kwargs.get("memory_format")
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(t: Tensor) -> Tensor:
            wanted = dtype if dtype is not None and t.dtype.inexact else None
            if t.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead "
                    "of torch.nn.Module.to() when moving module from meta to a different device."
                )
            if order is not None and t.dim() in (4, 5):
                return t.to(device or t.device, wanted or t.dtype, non_blocking, memory_format=order)
            return t.to(device or t.device, wanted or t.dtype, non_blocking)

        return self._apply(convert)

    def to_empty(self: T, *, device: Any, recurse: bool = True) -> T:
        """Moves to a device without copying what the parameters and buffers hold."""
        return self._apply(lambda t: aten.empty_like(t, device=device), recurse=recurse)

    def cpu(self: T) -> T:
        """Moves everything to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self: T, device: int | str | None = None) -> T:
        """Asks for a CUDA device, and is refused: there is none."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self: T, device: int | str | None = None) -> T:
        """Asks for an XPU, and is refused: there is none."""
        return self._apply(lambda t: t.xpu(device))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Checks the arguments of `torch.compile`; the module runs eagerly, as before."""
        from ..._dynamo import eval_frame

        eval_frame.compile(self.forward, *args, **kwargs)

    def type(self: T, dst_type: Any) -> T:
        """Casts everything, whatever its type is."""
        return self._apply(lambda t: t.type(dst_type))

    def _cast(self: T, dtype: dt.dtype) -> T:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def bfloat16(self: T) -> T:
        """Casts floating-point contents to bfloat16."""
        return self._cast(dt.bfloat16)

    def float(self: T) -> T:
        """Casts floating-point contents to float32."""
        return self._cast(dt.float32)

    def double(self: T) -> T:
        """Casts floating-point contents to float64."""
        return self._cast(dt.float64)

    def half(self: T) -> T:
        """Casts floating-point contents to float16."""
        return self._cast(dt.float16)

    def share_memory(self: T) -> T:
        """Moves everything to memory that worker processes can share."""
        return self._apply(lambda t: t.share_memory_())

    # --- modes
    def train(self: T, mode: bool = True) -> T:
        """Switches this module and all below it to training (or, with False, to evaluation)."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: T) -> T:
        """Switches to evaluation: the same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Says for all parameters whether gradients are wanted."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or fills them with zeros."""
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                if param.grad.grad_fn is not None:
                    param.grad.detach_()
                else:
                    param.grad.requires_grad_(False)
                param.grad.zero_()

    # --- text and pickling
    def _get_name(self) -> str:
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """What stands between the brackets of the repr; for subclasses to override."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({key}): {_addindent(repr(module), 2)}" for key, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        if not lines and not children:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**new_tables(), **state})

    def _replicate_for_data_parallel(self: T) -> T:
        replica = self.__new__(type(self))
        replica.__dict__ = dict(self.__dict__)
        for table in ("_parameters", "_buffers", "_modules"):
            replica.__dict__[table] = dict(self.__dict__[table])
        return replica


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[_device.device | None, dt.dtype | None, bool]:
    """The device, type and `non_blocking` that a call of `to` asks for."""
    unknown = kwargs.keys() - {"device", "dtype", "non_blocking", "memory_format", "tensor", "copy"}
    if unknown:
        raise TypeError(
            f"to() received an invalid combination of arguments - unexpected keyword argument '{min(unknown)}'"
        )
    values = (*args, kwargs["tensor"]) if "tensor" in kwargs else args
    device, dtype, non_blocking = read_in_any_order(
        values, kwargs.get("device"), kwargs.get("dtype"), bool(kwargs.get("non_blocking", False))
    )
    return None if device is None else _device.resolve(device), dtype, non_blocking


_accelerators.each_name(lambda name: setattr(Module, name, module_mover(name)))
