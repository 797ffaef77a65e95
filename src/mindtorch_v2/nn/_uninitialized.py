"""Parameters and buffers whose shape is not known yet: `torch.nn.UninitializedParameter`, `UninitializedBuffer`.

They are classes of tensors with a `__torch_function__`, whose existence alone makes some calls look for instances;
this module is therefore imported when a program first asks for one.
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from .. import _accelerators
from .._dispatch import aten
from .._dispatch.overrides import DisableTorchFunctionSubclass, become
from .._tensor import Parameter, Tensor, shallow_alias

__all__ = ["UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin"]

T = TypeVar("T", bound=Tensor)

# What may be asked of a tensor without a shape: where it is and of what type, and to be moved and cast.
_ALLOWED = frozenset(
    {
        "to",
        "cpu",
        "cuda",
        "xpu",
        "double",
        "float",
        "half",
        "bfloat16",
        "int",
        "long",
        "short",
        "char",
        "byte",
        "type",
        "detach",
        "_to_copy",
        "__get__",
        "__set__",
        "size",
        "empty_like",
        "is_floating_point",
        "is_complex",
    }
)


class UninitializedTensorMixin:
    """A tensor without a shape: it knows its type and device, and waits for `materialize(shape)`. Operators refuse
    it.

    >>> isinstance(nn.UninitializedParameter(), nn.parameter.UninitializedTensorMixin)
    True
    """

    cls_to_become: type
    requires_grad: bool
    device: Any
    dtype: Any
    data: Any

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Takes memory for the shape, on the device and of the type that were given here or before, with no values in
        it yet.

        From then on the object is an ordinary parameter (or tensor).
        """
        with DisableTorchFunctionSubclass():
            made = aten.empty(
                shape, device=self.device if device is None else device, dtype=self.dtype if dtype is None else dtype
            )
            become(self, self.cls_to_become)
            self.data = made

    @property
    def shape(self) -> NoReturn:
        """Refused: there is none."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> NoReturn:
        """Refused: there is no memory."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, self.device, self.dtype)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name not in _ALLOWED and name not in _accelerators.names():
            raise _unusable(func)
        with DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


def _unusable(func: Any) -> ValueError:
    return ValueError(
        f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a `LazyModule` "
        "or explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When using LazyModules Call "
        "`forward` with a dummy batch to initialize the parameters before calling torch functions"
    )


def _refusal(name: str) -> Any:
    """A method that answers without an operator on other tensors, and refuses here."""

    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise _unusable(getattr(Tensor, name))

    method.__name__ = name
    method.__doc__ = "Refused: the tensor has no shape yet."
    return method


for _name in (
    "numel",
    "nelement",
    "dim",
    "ndimension",
    "stride",
    "__len__",
    "storage_offset",
    "data_ptr",
    "is_contiguous",
    "numpy",
    "tolist",
    "item",
    "requires_grad_",
    "__iter__",
):
    setattr(UninitializedTensorMixin, _name, _refusal(_name))


def _empty(cls: Any, device: Any, dtype: Any) -> Any:
    made = shallow_alias(aten.empty((0,), device=device, dtype=dtype))
    return become(made, cls)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape is known only when data arrives.

    >>> weight = torch.nn.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> weight.shape
    torch.Size([2, 3])
    """

    cls_to_become = Parameter
    _is_uninitialized = True

    def __new__(cls: type[T], requires_grad: bool = True, device: Any = None, dtype: Any = None) -> T:
        made = _empty(cls, device, dtype)
        Tensor.requires_grad_(made, requires_grad)
        return made

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        """All is done when the object is made."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer whose shape is known only when data arrives. `persistent` says whether it belongs to the state dict.

    >>> statistics = nn.UninitializedBuffer()
    >>> statistics.materialize((4,))
    >>> statistics.shape
    torch.Size([4])
    """

    cls_to_become = Tensor
    _is_uninitialized = True
    _is_buffer = True
    persistent: bool

    def __new__(
        cls: type[T], requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> T:
        made = _empty(cls, device, dtype)
        if requires_grad:
            Tensor.requires_grad_(made, True)
        made.persistent = persistent
        made._is_buffer = True
        return made

    def __init__(
        self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> None:
        """All is done when the object is made."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, self.device, self.dtype, self.persistent)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype, self.persistent)
        return memo[id(self)]
