"""The tensor: an array with a type, keys and autograd fields. No arithmetic lives here.

`_array` is a numpy array with the tensor's shape and strides, on every device: on the CPU it is the data; on the
meta device it is an array over a dummy buffer; on an asynchronous device its pointer is a device address. Views are
therefore made alike everywhere, and the keys in `_keys` say who may read the memory.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from . import _dtype as dt
from ._device import CPU as CPU_DEVICE
from ._device import META as META_DEVICE
from ._device import device as Device
from ._keys import CPU, DEVICES, GRAD, INFERENCE, META, SUBCLASS
from ._shape import Size, contiguous_strides
from ._storage import Storage, native

T = TypeVar("T", bound="Tensor")
PART_NAME = "_shard_of"  # the attribute of a tensor that is this process's part of a larger one
DEVICE_OF_KEY = {CPU: CPU_DEVICE, META: META_DEVICE}
legacy_constructor: Any = None  # torch.Tensor(2, 3): set by the creation layer
announce: Any = None  # told about every class that derives from Tensor: set by the dispatch layer


class _TensorMeta(type):
    """Makes `torch.Tensor(...)` the legacy constructor while instances are made without any call."""

    def __init__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, space)
        if announce is not None:
            announce(cls)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        kind: Any = cls
        made = kind.__new__(cls, *args, **kwargs)
        if kind.__init__ is not object.__init__ and isinstance(made, cls):
            kind.__init__(made, *args, **kwargs)
        return made


if TYPE_CHECKING:
    # what `_python.install` puts into the class: a stub without a module
    from ._op_methods import OpMethods as _OpMethods
else:
    _OpMethods = object

_ids = itertools.count(1)

if TYPE_CHECKING or native is None:

    class TensorFields(_OpMethods):
        """What a tensor holds.

        With the native core they are fields of a C struct, which calls of operators read without Python.
        """

        _array: np.ndarray
        _keys: int
        dtype: dt.dtype
        # Fields that most tensors never set live on the class, so that making a tensor stores three attributes only.
        _edge: Any = None  # where its gradient goes: a node, a slot of a node, or None for leaves
        _storage: Storage | None = None
        _base: Tensor | None = None
        _view_version: int = 0  # the storage's version when a view's _edge was made
        _grad: Tensor | None = None
        _hooks: Any = None  # hooks on a leaf's gradient
        _post_hooks: Any = None  # called after accumulation
        _retain: bool = False
        _device: Device | None = None
        _view_kind: str = ""  # "", "multi" (one of several views), "no_grad"
        _identified: tuple[int, int] = (0, 0)  # address and id; a copy of the fields has another address

        @property
        def _id(self) -> int:
            """An integer that no other tensor of the process has or had."""
            if self._identified[0] != id(self):
                self._identified = id(self), next(_ids)
            return self._identified[1]

    _new = object.__new__
else:
    TensorFields = native.TensorFields
    _new = TensorFields.__new__


class Tensor(TensorFields, metaclass=_TensorMeta):
    """A multi-dimensional array of one element type, on one device, that can take part in differentiation.

    >>> x = torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([[2., 4.],
            [6., 8.]])
    """

    __array_priority__ = 1000  # numpy leaves mixed operators to the tensor
    _overrides = False  # whether the class's __torch_function__ is asked before operators
    _dispatches = False  # whether the class's __torch_dispatch__ runs instead of operators
    # a class's function of (op, arguments) that runs operators on its instances instead of asking
    _takes_ops: Any = None
    _as_parameter: Any = None  # what nn.Parameter makes of an instance, where its class says that

    def __new__(cls: type[T], *args: Any, **kwargs: Any) -> T:
        return legacy_constructor(cls, *args, **kwargs)

    # --- shape and layout -------------------------------------------------------------------------------------------
    @property
    def shape(self) -> Size:
        """The sizes of all dimensions.

        >>> torch.zeros(2, 3).shape
        torch.Size([2, 3])
        """
        return tuple.__new__(Size, self._array.shape)

    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Size | int:
        """The shape, or one of its sizes.

        >>> torch.zeros(2, 3).size(1)
        3
        """
        if dim is None:
            return tuple.__new__(Size, self._array.shape)
        shape = self._array.shape
        if not -len(shape) <= dim < len(shape):
            raise self._no_dimension(dim)
        return shape[dim]

    def _no_dimension(self, dim: int) -> IndexError:
        n = self._array.ndim
        if not n:
            return IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        return IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")

    def dim(self) -> int:
        """The count of dimensions.

        >>> torch.zeros(2, 3).dim()
        2
        """
        return self._array.ndim

    ndimension = dim

    @property
    def ndim(self) -> int:
        """The count of dimensions.

        >>> torch.zeros(2, 3).ndim
        2
        """
        return self._array.ndim

    def numel(self) -> int:
        """The count of elements.

        >>> torch.zeros(2, 3).nelement()
        6
        """
        return self._array.size

    nelement = numel

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> tuple[int, ...] | int:
        """Steps in elements between neighbours along each dimension.

        >>> torch.zeros(2, 3).stride()
        (3, 1)
        """
        item = self._array.itemsize
        strides = (
            tuple([s // item for s in self._array.strides])
            if self._array.size
            else contiguous_strides(self._array.shape)
        )
        if dim is None:
            return strides
        if not -len(strides) <= dim < len(strides):
            raise self._no_dimension(dim)
        return strides[dim]

    def storage_offset(self) -> int:
        """The position of the first element in the storage, in elements.

        >>> torch.arange(4)[2:].storage_offset()
        2
        """
        from ._storage import root_array

        root = root_array(self._array)
        return (
            self._array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        ) // self._array.itemsize

    def data_ptr(self) -> int:
        """The address of the first element.

        >>> x = torch.ones(2)
        >>> x.data_ptr() == x[:1].data_ptr()
        True
        """
        return self._array.__array_interface__["data"][0]

    def element_size(self) -> int:
        """The size of one element in bytes.

        >>> torch.ones(2).element_size()
        4
        """
        return self._array.itemsize

    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes.

        >>> torch.ones(3).nbytes
        12
        """
        return self._array.size * self._array.itemsize

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in row-major order, or in the order of the given memory format.

        >>> torch.zeros(2, 3).T.is_contiguous()
        False
        """
        if memory_format is channels_last or memory_format is channels_last_3d:
            last = self._array.ndim == (4 if memory_format is channels_last else 5)
            return last and bool(np.moveaxis(self._array, 1, -1).flags.c_contiguous)
        return bool(self._array.flags.c_contiguous)

    # --- type and device --------------------------------------------------------------------------------------------
    @property
    def device(self) -> Device:
        """The device that holds the data.

        >>> torch.ones(2).device
        device(type='cpu')
        """
        return self._device or DEVICE_OF_KEY[self._keys & DEVICES]

    @property
    def _cdata(self) -> int:
        """An integer that tells this tensor from all others of the process, as a profile's event tree has it."""
        return self._id

    @property
    def layout(self) -> Any:
        """How the elements are laid out: always `torch.strided`."""
        return strided

    def is_floating_point(self) -> bool:
        """Whether the elements are floating-point numbers (complex ones are not).

        >>> torch.ones(1).is_floating_point()
        True
        """
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the elements are complex numbers.

        >>> torch.tensor([1j]).is_complex()
        True
        """
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the element type has negative numbers."""
        return self.dtype.is_signed

    @property
    def is_cpu(self) -> bool:
        """Whether the tensor is on the CPU."""
        return bool(self._keys & CPU)

    @property
    def is_meta(self) -> bool:
        """Whether the tensor is on the meta device: it has a shape and a type, and no data."""
        return bool(self._keys & META)

    is_cuda = is_sparse = is_quantized = is_mkldnn = is_nested = False

    def get_device(self) -> int:
        """The index of the device; -1 on the CPU."""
        return -1 if self._keys & (CPU | META) else self.device.index or 0

    # --- versions ---------------------------------------------------------------------------------------------------
    @property
    def _version(self) -> int:
        if self._keys & INFERENCE:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._storage is None else self._storage.version

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode, and can never take part in differentiation."""
        return bool(self._keys & INFERENCE)

    __hash__ = object.__hash__

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._array.shape[0]


class Parameter(Tensor):
    """A tensor that a module trains: it shows up in `Module.parameters()`.

    >>> nn.Parameter(torch.tensor([1., 2.]))
    Parameter containing:
    tensor([1., 2.], requires_grad=True)
    """

    if TYPE_CHECKING:

        def __init__(self, data: Any = None, requires_grad: bool = True) -> None: ...


class layout:
    """How elements are laid out: `torch.strided`, `torch.sparse_coo`, ...

    >>> torch.ones(2).layout
    torch.strided
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # pickled by reference to this module's global


class memory_format(layout):
    """An order of dimensions in memory.

    >>> torch.ones(1, 2, 2, 2).to(memory_format=torch.channels_last).stride()
    (8, 1, 4, 2)
    """


strided = layout("strided")
sparse_coo, sparse_csr, sparse_csc = layout("sparse_coo"), layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc, jagged = layout("sparse_bsr"), layout("sparse_bsc"), layout("jagged")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")


def wrap(array: Any, dtype: dt.dtype | None = None, key: int = CPU, device: Device | None = None) -> Tensor:
    """A tensor over an array (or a numpy scalar). The type is read from the array unless given."""
    if array.__class__ is not np.ndarray:
        array = np.asarray(array)
    t = _new(Tensor)
    t._array = array
    t._keys = key
    t.dtype = dt.BY_NUM[array.dtype.num] if dtype is None else dtype
    if device is not None:
        t._device = device
    return t


def shallow_alias(t: Tensor) -> Tensor:
    """A tensor over the same memory and version counter, outside of any graph."""
    if t._storage is None:
        t._storage = Storage()
    out = _new(Tensor)
    out._array, out._keys, out.dtype, out._storage = t._array, t._keys & ~(GRAD | SUBCLASS), t.dtype, t._storage
    if t._device is not None:
        out._device = t._device
    return out


def bump_version(t: Tensor) -> None:
    """Counts an in-place write."""
    if t._storage is None:
        t._storage = Storage()
    t._storage.version += 1
