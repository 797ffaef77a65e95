"""The parameters of one module, of which each process holds some rows.

`gather` is an operator that autograd knows: forward it collects the rows of all processes into whole parameters,
backward it averages their gradients and gives each process its rows. Operators of the module save whole parameters for
the backward pass; those are replaced by a note (`pack`), and collected again when the backward pass asks for them, so
that between the two passes a process holds its rows alone.
"""

from __future__ import annotations

import weakref
from typing import Any

from ... import no_grad
from ..._tensor import Tensor
from ...autograd import Function
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from .. import collectives
from .._shards import Shard, local, mark, rows_of, shard_of
from ..device_mesh import DeviceMesh
from ..reduce_op import ReduceOp
from ..tensor._api import DTensor, as_parameter, local_of, wrap
from ..tensor.placement_types import Replicate
from ..tensor.placement_types import Shard as AlongDimension
from .api import MixedPrecisionPolicy

Owner = tuple[Module, str]


class _Storage:
    """A whole parameter that is in use: which one it is, and where its memory begins."""

    def __init__(self, owner: ParameterGroup, index: int) -> None:
        self.owner, self.index = owner, index


_whole: weakref.WeakValueDictionary[int, _Storage] = weakref.WeakValueDictionary()  # by where the memory begins


class ParameterGroup:
    """Parameters of a module (and of those inside it) that are gathered together.

    `owners` has for each parameter the modules that hold it. They are spread along the last dimension of `mesh`; along
    the first of two, processes hold the same. With `as_dtensors` the modules hold DTensors, else plain rows.
    """

    def __init__(
        self,
        owners: list[list[Owner]],
        mesh: DeviceMesh,
        keeps: bool,
        policy: MixedPrecisionPolicy | None = None,
        as_dtensors: bool = True,
    ) -> None:
        self.owners, self.keeps, self._policy = owners, keeps, policy or MixedPrecisionPolicy()
        self.group = mesh.get_group(mesh.ndim - 1)
        self._copies = mesh.get_group(0) if mesh.ndim == 2 else None  # those that hold the same rows
        self._mesh = mesh if as_dtensors else None
        size = self.group.size()
        self.shards: list[Any] = []
        self.shapes: list[tuple[int, ...]] = []
        self.padded: list[int] = []  # elements that each process gives of a parameter
        self._inner: list[Any] = []  # of parameters that are DTensors of another mesh: that mesh, placements, shape
        for users in owners:
            module, name = users[0]
            whole: Any = module._parameters[name]
            inner = isinstance(whole, DTensor)
            self._inner.append((whole.device_mesh, whole.placements, tuple(whole.shape)) if inner else None)
            values = local_of(whole) if inner else whole
            shape = tuple(values.shape)
            rows, row = (shape[0], values[:1].numel()) if shape else (1, 1)
            self.shapes.append(shape)
            self.padded.append(-(-rows // size) * row)
            self.shards.append(self._part(values, rows, whole if inner else None, whole.requires_grad))
        self._put(self.shards)
        self._whole: list[Any] | None = None
        self._storages: list[_Storage] = []
        self._again: list[Tensor] | None = None  # gathered for the backward pass

    def _part(self, values: Tensor, rows: int, inner: Any, requires_grad: bool) -> Any:
        """This process's rows as a parameter; `inner` is the DTensor of which `values` are what it holds."""
        shape = tuple(values.shape)
        first, count = rows_of(rows, self.group.size(), self.group.rank())
        with no_grad():
            part = values.detach().reshape(rows, *shape[1:])[first : first + count].clone()
        if inner is not None:
            if self._mesh is None or self._mesh.ndim != 1 or inner.device_mesh.ndim != 1:
                raise NotImplementedError(
                    "parameters that are DTensors are spread by fully_shard, each over one dimension"
                )
            both = inner.device_mesh._beside(self._mesh)
            placements = (*inner.placements, AlongDimension(0))
            return as_parameter(wrap(part, both, placements, tuple(inner.shape)), requires_grad)
        if self._mesh is not None and shape:
            placements = (*[Replicate()] * (self._mesh.ndim - 1), AlongDimension(0))
            return as_parameter(wrap(part, self._mesh, placements, shape), requires_grad)
        shard = Parameter(part, requires_grad=requires_grad)
        mark(shard, Shard(shape, first, count, self.group))
        shard.register_post_accumulate_grad_hook(_mark_gradient)
        return shard

    def _put(self, tensors: list[Any]) -> None:
        """Gives the modules these tensors."""
        for users, tensor in zip(self.owners, tensors):
            for module, name in users:
                module._parameters[name] = tensor

    def _adopt(self) -> None:
        """Takes parameters that the program has replaced since (`to_empty`, `load_state_dict(assign=True)`)."""
        for index, users in enumerate(self.owners):
            module, name = users[0]
            found = module._parameters[name]
            if found is not self.shards[index]:
                assert found is not None
                if local(found).shape != local(self.shards[index]).shape:
                    raise RuntimeError(
                        f"fully_shard: the parameter {name} of {type(module).__name__} was replaced by one with the "
                        f"shape {list(local(found).shape)} here instead of {list(local(self.shards[index]).shape)}"
                    )
                self.shards[index] = found
        self._put(self.shards)

    # --- between rows and whole parameters --------------------------------------------------------------------------
    def _flat(self, parts: list[Tensor]) -> Tensor:
        """The rows of all parameters in one tensor, each filled up to the size that all processes give."""
        flat = parts[0].new_zeros(sum(self.padded))
        for part, piece in zip(parts, flat.split(self.padded)):
            piece[: part.numel()].copy_(part.reshape(-1))
        return flat

    def collect(self) -> list[Tensor]:
        """The whole parameters, from the rows of all processes."""
        with no_grad():
            flat = self._flat([local(shard).detach() for shard in self.shards])
            if self._policy.param_dtype is not None:
                flat = flat.to(self._policy.param_dtype)
            joined = flat.new_empty(self.group.size() * flat.numel())
            collectives.all_gather_into_tensor(joined, flat, self.group)
            pieces = joined.view(self.group.size(), -1).split(self.padded, 1)
            made = []
            for piece, shape in zip(pieces, self.shapes):
                count = 1
                for length in shape:
                    count *= length
                made.append(piece.reshape(-1)[:count].reshape(shape).clone())
            return made

    def spread(self, gradients: list[Tensor | None]) -> list[Tensor]:
        """This process's rows of the gradients, averaged over all processes."""
        size = self.group.size()
        with no_grad():
            dtype = self._policy.reduce_dtype or self._policy.param_dtype or self.shards[0].dtype
            sent = local(self.shards[0]).detach().new_zeros((size, sum(self.padded)), dtype=dtype)
            for grad, padded, at in zip(gradients, self.padded, _starts(self.padded)):
                if grad is not None:
                    flat = grad.reshape(-1)
                    for other in range(size):
                        part = flat[other * padded : (other + 1) * padded]
                        sent[other, at : at + part.numel()].copy_(part)
            own = sent.new_empty(sent.shape[1])
            collectives.reduce_scatter_tensor(own, sent.reshape(-1), ReduceOp.AVG, self.group)
            if self._copies is not None:
                collectives.all_reduce(own, ReduceOp.AVG, self._copies)
            held = [local(shard) for shard in self.shards]
            own = own.to(held[0].dtype)
            return [part[: h.numel()].reshape(h.shape).clone() for part, h in zip(own.split(self.padded), held)]

    # --- around the forward pass --------------------------------------------------------------------------------------
    def unshard(self) -> None:
        """Gives the modules their whole parameters."""
        if self._whole is not None:
            return
        self._adopt()
        values = Gather.apply(self, *[local(shard) for shard in self.shards])
        self._storages = [_Storage(self, index) for index in range(len(values))]
        for value, storage in zip(values, self._storages):
            _whole[value.untyped_storage().data_ptr()] = storage
        self._whole = [v if inner is None else wrap(v, *inner) for v, inner in zip(values, self._inner)]
        self._put(self._whole)

    def reshard(self) -> None:
        """Leaves the modules the rows of this process."""
        if self._whole is None:
            return
        self._put(self.shards)
        self._whole, self._storages = None, []

    def again(self, index: int) -> Tensor:
        """A whole parameter for the backward pass."""
        if self._again is None:
            self._again = self.collect()
        return self._again[index]

    def forget(self) -> None:
        """The backward pass needs the whole parameters no more."""
        self._again = None


def _mark_gradient(parameter: Tensor) -> None:
    """A gradient knows what part it is, so that norms are those of whole gradients."""
    if parameter.grad is not None:
        mark(parameter.grad, shard_of(parameter))


def _starts(sizes: list[int]) -> list[int]:
    return [sum(sizes[:i]) for i in range(len(sizes))]


class Gather(Function):
    """From the rows of this process to whole parameters."""

    @staticmethod
    def forward(ctx: Any, group: ParameterGroup, *shards: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        return tuple(group.collect())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        made = ctx.group.spread(list(gradients))
        ctx.group.forget()
        return None, *made


class _Note:
    """Stands for a saved tensor that is a whole parameter or a view of one."""

    def __init__(self, storage: _Storage, tensor: Tensor) -> None:
        self.group, self.index = storage.owner, storage.index
        self.shape, self.stride, self.offset = tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset()


def pack(tensor: Tensor) -> Any:
    """What is saved instead of a tensor."""
    storage = _whole.get(tensor.untyped_storage().data_ptr())
    return tensor if storage is None or storage.owner.keeps else _Note(storage, tensor)


def unpack(saved: Any) -> Tensor:
    """The tensor again."""
    if not isinstance(saved, _Note):
        return saved
    return saved.group.again(saved.index).as_strided(saved.shape, saved.stride, saved.offset)
