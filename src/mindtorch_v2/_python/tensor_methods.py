"""The parts of Tensor that stand above the dispatcher: autograd, conversion, Python protocols."""

from __future__ import annotations

import copy
import warnings
import weakref
from typing import Any

import numpy as np

from .. import _accelerators, _device, _observer
from .. import _dtype as dt
from .._autograd.engine import run_backward
from .._autograd.hooks import RemovableHandle
from .._autograd.node import edge_of, node_and_nr
from .._dispatch import aten, modes
from .._dispatch.checks import type_word
from .._dispatch.namespace import public
from .._dispatch.overrides import become
from .._keys import ACCELERATORS, CPU, DEVICES, GRAD, META, OBSERVED, SPECIAL, SUBCLASS
from .._storage import Storage, root_array, taken
from .._tensor import Parameter, Tensor, _new, shallow_alias, wrap
from . import dlpack, element_methods, sparse_methods, storage_methods  # noqa: F401 - which put methods onto Tensor
from .constructors import TypedConstructor, make_legacy
from .creation import from_numpy

_NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated "
    "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
    ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the "
    "leaf "
    "Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations."
)


def method(function: Any) -> Any:
    """Puts a function into Tensor under its own name."""
    setattr(Tensor, function.__name__, function)
    return function


def getter(function: Any) -> Any:
    """Puts a read-only property into Tensor."""
    setattr(Tensor, function.__name__, property(function))
    return function


# --- autograd
def _get_requires_grad(self: Tensor) -> bool:
    """Whether gradients are computed for this tensor; may be set on leaves."""
    return bool(self._keys & GRAD)


def _set_requires_grad(self: Tensor, value: bool) -> None:
    if value and not self.dtype.inexact:
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    if not value and self._edge is not None:
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
            "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
        )
    self._keys = self._keys | GRAD if value else self._keys & ~GRAD


Tensor.requires_grad = property(_get_requires_grad, _set_requires_grad)  # type: ignore[assignment, attr-defined, unused-ignore]


@method
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Marks a leaf as one whose gradient is wanted; returns it."""
    if requires_grad and not self.dtype.inexact:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    _set_requires_grad(self, requires_grad)
    return self


@getter
def is_leaf(self: Tensor) -> bool:
    """Whether the tensor was made by the program and not by a differentiable operation."""
    return not self._keys & GRAD or self._edge is None


@getter
def grad_fn(self: Tensor) -> Any:
    """The node of the graph that computes this tensor's gradient further; None for leaves."""
    edge = edge_of(self)
    if edge is None or isinstance(edge, Tensor):
        return None
    return node_and_nr(self)[0]


@getter
def output_nr(self: Tensor) -> int:
    """Which output of its node the tensor is."""
    return 0 if self._edge is None else node_and_nr(self)[1]


@getter
def retains_grad(self: Tensor) -> bool:
    """Whether `retain_grad` was called on this tensor, which is not a leaf."""
    return self._retain


def _get_grad(self: Tensor) -> Tensor | None:
    """The gradient that backward passes have added up so far, or None; of leaves and of tensors that retain it."""
    if self._edge is not None and self._grad is None and not self._retain:
        warnings.warn(_NON_LEAF_GRAD, UserWarning, stacklevel=2)
    return self._grad


def _set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is None:
        self._grad = None
        return
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value._array.shape != self._array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(self.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size"
        )
    if value.dtype is not self.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{value.dtype.cpp_name}' to a tensor with grad_dtype "
            f"'{type_word(self.dtype)}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
            "dtype)."
        )
    self._grad = value


def _del_grad(self: Tensor) -> None:
    self._grad = None


Tensor.grad = property(_get_grad, _set_grad, _del_grad)  # type: ignore[assignment, method-assign]


_SEEDS = {d: np.ones((), d.np) for d in (dt.float16, dt.float32, dt.float64)}  # the others are rarer
for _one in _SEEDS.values():
    _one.flags.writeable = False  # shared by all passes; what would be written in place is copied first


def _seed(t: Tensor) -> Tensor:
    """The gradient of a single number with respect to itself."""
    return wrap(
        _SEEDS[t.dtype] if t._array.ndim == 0 and t.dtype in _SEEDS else np.ones(t._array.shape, t._array.dtype),
        t.dtype,
    )


@method
def backward(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Computes the gradients of the leaves that this tensor depends on, and adds them to their `grad`."""
    if (
        gradient is None
        and inputs is None
        and self._keys & (CPU | GRAD) == CPU | GRAD
        and self._array.size == 1
        and self.dtype.is_floating_point
        and not modes.SPACE["_mode"] & SPECIAL
    ):
        run_backward(
            (self,),
            [_seed(self) if _observer.active is None else public.ones_like(self)],
            create_graph if retain_graph is None else retain_graph,
            create_graph,
        )
        return
    from ..autograd import backward as run

    run((self,), gradient, retain_graph, create_graph, inputs=inputs)


@method
def register_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Calls `hook(grad)` whenever this tensor's gradient is computed; what it returns replaces the gradient."""
    if not self._keys & GRAD:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._edge is None:
        if self._hooks is None:
            self._hooks = {}
        return RemovableHandle.add(self._hooks, hook)
    node, nr = node_and_nr(self)
    node.hooked = True
    if node.pre_hooks is None:
        node.pre_hooks = {}
    return RemovableHandle.add(node.pre_hooks.setdefault(nr, {}), hook)


@method
def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Calls `hook(tensor)` after a gradient was added to this leaf."""
    if self._edge is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self._post_hooks is None:
        self._post_hooks = {}
    return RemovableHandle.add(self._post_hooks, hook)


@method
def retain_grad(self: Tensor) -> None:
    """Keeps the gradient of a non-leaf in its `grad`."""
    if not self._keys & GRAD:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._edge is None or self._retain:
        return
    node, nr = node_and_nr(self)
    node.hooked = True
    if node.retains is None:
        node.retains = {}
    node.retains[nr] = weakref.ref(self)
    self._retain = True


@getter
def _backward_hooks(self: Tensor) -> Any:
    return self._hooks


def _get_data(self: Tensor) -> Tensor:
    """The same data outside the graph, with a version counter of its own; assigning replaces the data."""
    out = shallow_alias(self)
    out._storage = Storage()  # .data does not share the version counter
    return become(out, type(self)) if self._keys & SUBCLASS else out


def _set_data(self: Tensor, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    self._array, self.dtype = value._array, value.dtype
    self._keys = (self._keys & ~DEVICES) | (value._keys & DEVICES)
    self._device = value._device


Tensor.data = property(_get_data, _set_data)  # type: ignore[assignment, method-assign]


@method
def _is_view(self: Tensor) -> bool:
    return self._base is not None


# --- conversion
def _host_array(self: Tensor) -> np.ndarray:
    if self._keys & META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    return self._array if self._keys & CPU else self.cpu()._array


@method
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """The data as a numpy array that shares memory with the tensor."""
    if force:
        return _as_numpy(self.detach())
    if self._keys & GRAD and modes.state.grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if not self._keys & CPU:
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
            "memory "
            "first."
        )
    return _as_numpy(self)


def _as_numpy(self: Tensor) -> np.ndarray:
    if self._array.dtype.num >= dt.FIRST_USER_NUM:
        raise TypeError(f"Got unsupported ScalarType {self.dtype.word}")
    return _host_array(self).view()


@method
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


@method
def __array_wrap__(self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
    """What numpy's functions of a tensor give: a tensor again."""
    array = np.asarray(array)
    return from_numpy(array.astype(np.uint8) if array.dtype == np.bool_ else array)


@method
def tolist(self: Tensor) -> Any:
    """Nested lists of Python numbers; a number for a 0-dim tensor."""
    return _host_array(self).tolist()


@method
def __dlpack__(self: Tensor, *, stream: Any = None, **options: Any) -> Any:
    """A capsule over this tensor's memory, for another library."""
    return dlpack.pack(self, stream, **options)


@method
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    return dlpack.device_of(self)


@method
def new(self: Tensor, *args: Any) -> Tensor:
    """A tensor of this one's type: of a shape, uninitialised, or with the given values."""
    return make_legacy(self.dtype, *args).to(self.device)


@method
def __bool__(self: Tensor) -> bool:
    a = self._array
    if a.size != 1:
        if a.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(aten.is_nonzero(self)) if modes.SPACE["_mode"] & OBSERVED else bool(_host_array(self).item())


def _number(self: Tensor) -> Any:
    if self._array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return aten.item(self)


@method
def __int__(self: Tensor) -> int:
    return int(_number(self))


@method
def __float__(self: Tensor) -> float:
    value = _number(self)
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        return value.real
    return float(value)


@method
def __complex__(self: Tensor) -> complex:
    return complex(_number(self))


@method
def __index__(self: Tensor) -> int:
    if self.dtype.category > 1 or self._array.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(_host_array(self).item())


@method
def __contains__(self: Tensor, element: Any) -> bool:
    if not isinstance(element, (Tensor, int, float, complex, bool)):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    return bool(aten.eq(self, element).any().item())


@method
def __iter__(self: Tensor) -> Any:
    if self._array.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(aten.unbind(self, 0))


@method
def __reversed__(self: Tensor) -> Tensor:
    return self if self._array.ndim == 0 else aten.flip(self, [0])


@method
def __repr__(self: Tensor, *, tensor_contents: Any = None) -> str:
    from .tensor_str import tensor_repr

    return tensor_repr(self)


@method
def __format__(self: Tensor, spec: str) -> str:
    if self._array.ndim == 0 and not self._keys & META:
        return self.item().__format__(spec)
    return object.__format__(self, spec)


def _copied_array(array: np.ndarray, memo: dict[int, Any]) -> np.ndarray:
    """A copy of the array within a copy of all its memory, which other tensors over the same memory will share."""
    root = root_array(array)
    if not root.flags.forc:
        return array.copy(order="K")
    if id(root) not in memo:
        memo[id(root)] = root.copy(order="K")
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, memo[id(root)], offset, array.strides)


@method
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if self._edge is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
            " If "
            "you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]
    out = _new(type(self))
    out._array = _copied_array(self._array, memo) if self._keys & CPU else self.detach().clone()._array
    out._keys, out.dtype = self._keys, self.dtype
    out._device = self._device
    memo[id(self)] = taken(out)
    out._grad = copy.deepcopy(self._grad, memo)
    for name, value in self.__dict__.items():
        if name not in _FIELDS:
            out.__dict__[name] = copy.deepcopy(value, memo)
    return out


_FIELDS = {
    "_array",
    "_keys",
    "dtype",
    "_edge",
    "_storage",
    "_base",
    "_view_version",
    "_grad",
    "_hooks",
    "_post_hooks",
    "_retain",
    "_device",
    "_view_kind",
}


def _rebuild_as(cls: type, attributes: dict[str, Any], *args: Any) -> Tensor:
    """An instance of a subclass, with what the program has put on it."""
    out = become(_rebuild(*args), cls)
    out.__dict__.update(attributes)
    return out


def _rebuild(array: np.ndarray, cls: str, requires_grad: bool, device: str = "cpu") -> Tensor:
    out = taken(wrap(array)) if device == "cpu" else wrap(array).to(device)
    if cls == "Parameter":
        out.__class__ = Parameter
    return out.requires_grad_(requires_grad) if requires_grad else out


@method
def __reduce_ex__(self: Tensor, protocol: Any) -> Any:
    parts = _host_array(self), type(self).__name__, self.requires_grad, str(self.device)
    if type(self) is Tensor or type(self) is Parameter:
        return _rebuild, parts
    return _rebuild_as, (type(self), {k: v for k, v in self.__dict__.items() if k not in _FIELDS}, *parts)


# --- devices and storages
@method
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in host memory that an accelerator can reach directly; the tensor itself if it lies there already."""
    if not self._keys & CPU:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if not _accelerators.available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return self if self.is_pinned() else _pinned_copy(self, None if device is None else _device.device(device).type)


def _pinned_copy(t: Tensor, name: str | None = None) -> Tensor:
    """A copy in pinned memory of the named accelerator, or of the first that has some."""
    for backend in _accelerators.available():
        if name in (None, backend.name) and (array := backend.pinned_like(t._array)) is not None:
            return taken(wrap(array, t.dtype))
    raise RuntimeError(
        f"no accelerator that is available here ({', '.join(b.name for b in _accelerators.available())}) has pinned "
        "memory"
    )


def pinned_result(made: Tensor) -> Tensor:
    """The fresh tensor of a call with `pin_memory=True`, in pinned memory."""
    if made._keys & META:
        return made
    if not made._keys & CPU:
        raise RuntimeError("Only dense CPU tensors can be pinned")
    if not _accelerators.available():
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available "
            "on this "
            "system."
        )
    return _pinned_copy(made)


@method
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the tensor lies in host memory that an accelerator reaches directly."""
    if not self._keys & CPU:
        return False
    backends, owner = _accelerators.loaded_backends(), self._array.base
    while owner is not None and not any(backend.is_pinned(owner) for backend in backends):
        owner = getattr(owner, "base", None)
    return owner is not None


@method
def record_stream(self: Tensor, stream: Any) -> None:
    """Says that a stream uses the tensor's memory, so that it is not reused before the stream has passed."""
    backend = _accelerators.of_keys(self._keys)
    if backend is not None:
        backend.record_use(self._array, stream)


@method
def is_shared(self: Tensor) -> bool:
    """Whether the tensor lies in memory that other processes can see."""
    from .shared_memory import block_of

    return block_of(self._array) is not None


@method
def share_memory_(self: Tensor) -> Tensor:
    """Moves the tensor into memory that other processes can see. Views that were made before stay where they are."""
    from .shared_memory import share

    if self.is_cpu:
        share(self)
    return self


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The legacy type name, or a copy in another type."""
    if dtype is None:
        prefix = f"{self.device.type}." if self._keys & ACCELERATORS else ""
        return f"torch.{prefix}{type_word(self.dtype)}Tensor"
    if isinstance(dtype, TypedConstructor):
        dtype = dtype.dtype
    elif isinstance(dtype, str):
        found = [d for d in dt.ALL if f"torch.{type_word(d)}Tensor" == dtype]
        if not found:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = found[0]
    return self.to(dtype)


setattr(Tensor, "type", _type)  # noqa: B010 - assigned by name, since the class does not declare it


class UntypedStorage:
    """The bytes behind a tensor and its views."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self._root = root_array(tensor._array)

    def nbytes(self) -> int:
        return int(self._root.nbytes)

    __len__ = size = nbytes

    def data_ptr(self) -> int:
        return int(self._root.__array_interface__["data"][0])

    @property
    def device(self) -> Any:
        return self._tensor.device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._root is self._root

    def __hash__(self) -> int:
        return id(self._root)

    def to(self, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on another device; the storage itself if it is there."""
        where = _device.resolve(device)
        if where == self.device:
            return self
        return UntypedStorage(wrap(np.frombuffer(bytearray(bytes(self.tolist())), np.uint8)).to(where))

    def cpu(self) -> UntypedStorage:
        return self.to("cpu")

    def tolist(self) -> list[int]:
        return np.frombuffer(np.ascontiguousarray(self._root).tobytes(), np.uint8).tolist()


@method
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The storage that this tensor and its views share."""
    return UntypedStorage(self)


@method
def storage(self: Tensor) -> Any:
    """The same, as elements of the tensor's type."""
    from importlib import import_module

    return import_module(f"{__name__.partition('.')[0]}.storage").TypedStorage(
        wrap_storage=UntypedStorage(self), dtype=self.dtype
    )


@getter
def T(self: Tensor) -> Tensor:
    """The tensor with its dimensions in reverse order."""
    return aten.numpy_T(self)


@getter
def mT(self: Tensor) -> Tensor:
    """The tensor with its last two dimensions exchanged."""
    return aten.mT(self)


@getter
def H(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    return aten.matrix_H(self)


@getter
def mH(self: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
    return aten.mH(self)


@getter
def real(self: Tensor) -> Tensor:
    """The real parts: a view of a complex tensor, a real one itself."""
    return aten.real(self)


@getter
def imag(self: Tensor) -> Tensor:
    """The imaginary parts of a complex tensor, as a view."""
    return aten.imag(self)
