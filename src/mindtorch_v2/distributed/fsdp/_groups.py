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
from .._shards import Shard, mark, rows_of, shard_of
from ..process_groups import ProcessGroup
from ..reduce_op import ReduceOp


class _Storage:
    """A whole parameter that is in use: which one it is, and where its memory begins."""

    def __init__(self, owner: ParameterGroup, index: int) -> None:
        self.owner, self.index = owner, index


_whole: weakref.WeakValueDictionary[int, _Storage] = weakref.WeakValueDictionary()  # by where the memory begins


class ParameterGroup:
    """Parameters of a module (and of those inside it) that are gathered together."""

    def __init__(self, owners: list[tuple[Module, str]], group: ProcessGroup, keeps: bool) -> None:
        self.owners, self.group, self.keeps = owners, group, keeps
        size, rank = group.size(), group.rank()
        self.shards: list[Parameter] = []
        self.shapes: list[tuple[int, ...]] = []
        self.padded: list[int] = []  # elements that each process gives of a parameter
        for module, name in owners:
            whole = module._parameters[name]
            assert whole is not None
            shape = tuple(whole.shape)
            rows, row = (shape[0], whole[:1].numel()) if shape else (1, 1)
            first, count = rows_of(rows, size, rank)
            with no_grad():
                part = whole.detach().reshape(rows, *shape[1:])[first : first + count].clone()
            shard = Parameter(part, requires_grad=whole.requires_grad)
            mark(shard, Shard(shape, first, count, group))
            shard.register_post_accumulate_grad_hook(_mark_gradient)
            self.shards.append(shard)
            self.shapes.append(shape)
            self.padded.append(-(-rows // size) * row)
            module._parameters[name] = shard
        self._whole: list[Tensor] | None = None
        self._storages: list[_Storage] = []
        self._again: list[Tensor] | None = None  # gathered for the backward pass

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
            flat = self._flat([shard.detach() for shard in self.shards])
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
            sent = self.shards[0].new_zeros((size, sum(self.padded)))
            for grad, padded, at in zip(gradients, self.padded, _starts(self.padded)):
                if grad is not None:
                    flat = grad.reshape(-1)
                    for other in range(size):
                        part = flat[other * padded : (other + 1) * padded]
                        sent[other, at : at + part.numel()].copy_(part)
            own = sent.new_empty(sent.shape[1])
            collectives.reduce_scatter_tensor(own, sent.reshape(-1), ReduceOp.AVG, self.group)
            parts = own.split(self.padded)
            return [part[: s.numel()].reshape(s.shape).clone() for part, s in zip(parts, self.shards)]

    # --- around the forward pass --------------------------------------------------------------------------------------
    def unshard(self) -> None:
        """Gives the modules their whole parameters."""
        if self._whole is not None:
            return
        self._whole = list(Gather.apply(self, *self.shards))
        self._storages = [_Storage(self, index) for index in range(len(self._whole))]
        for (module, name), whole, storage in zip(self.owners, self._whole, self._storages):
            _whole[whole.untyped_storage().data_ptr()] = storage
            module._parameters[name] = whole  # type: ignore[assignment]

    def reshard(self) -> None:
        """Leaves the modules the rows of this process."""
        if self._whole is None:
            return
        for (module, name), shard in zip(self.owners, self.shards):
            module._parameters[name] = shard
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
