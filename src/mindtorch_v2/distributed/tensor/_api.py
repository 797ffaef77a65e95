"""Tensors of which each process of a mesh holds a part, or a summand, or the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._dispatch import aten
from ..._dispatch.overrides import DisableTorchFunctionSubclass, become
from ..._shape import Size
from ..._tensor import Parameter, Tensor
from .. import collectives
from .._shards import Shard as PartOfRows
from .._shards import rows_of
from ..device_mesh import DeviceMesh
from ._redistribute import Placements, local_shape, redistribute, take_gradient
from .placement_types import Placement, Replicate, Shard


class DTensor(Tensor):
    """A tensor of the shape of the whole; the memory, gradient and graph are of what this process holds.

    An operator keeps parts where they are wherever each process can compute its part of the result; else the whole is
    gathered first.
    """

    _device_mesh: DeviceMesh
    _placements: Placements
    _whole: tuple[int, ...]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from ._rules import call

        return call(func, args, kwargs or {})

    # --- what it is
    @property
    def device_mesh(self) -> DeviceMesh:
        """The processes."""
        return self._device_mesh

    @property
    def placements(self) -> Placements:
        """How it lies along each dimension of the mesh."""
        return self._placements

    @property
    def shape(self) -> Any:
        return Size(self._whole)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self._whole[dim]

    def dim(self) -> int:
        return len(self._whole)

    ndim = property(dim)  # type: ignore[assignment]
    ndimension = dim

    def numel(self) -> int:
        return self.shape.numel()

    nelement = numel

    def __len__(self) -> int:
        return self._whole[0]

    @property  # type: ignore[misc]
    def grad(self) -> Any:  # type: ignore[override]
        """The gradient, placed as the tensor; Replicate where that is Partial."""
        found = Tensor.grad.__get__(self)  # type: ignore[attr-defined]
        return None if found is None else wrap(found, self._device_mesh, gradient_of(self._placements), self._whole)

    @grad.setter
    def grad(self, value: Any) -> None:
        if isinstance(value, DTensor):
            value = local_of(value.redistribute(self._device_mesh, gradient_of(self._placements)))
        Tensor.grad.__set__(self, value)  # type: ignore[attr-defined]

    @property
    def _shard_of(self) -> PartOfRows:
        """The rows that this process holds, where rows are all that is spread; AttributeError otherwise."""
        spread = [i for i, placement in enumerate(self._placements) if not placement.is_replicate()]
        if len(spread) != 1 or not self._placements[spread[0]].is_shard(0):
            raise AttributeError("not spread by rows")
        group = self._device_mesh.get_group(spread[0])
        return PartOfRows(self._whole, *rows_of(self._whole[0], group.size(), group.rank()), group)

    def _as_parameter(self, requires_grad: bool) -> Any:
        """What `nn.Parameter` makes of it."""
        return as_parameter(self, requires_grad)

    # --- its parts
    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
        grad_placements: Any = None,
    ) -> DTensor:
        """The tensor of which every process holds `local_tensor`: its part, its summand, or the whole. `run_check`
        takes the whole from the first process."""
        mesh = device_mesh or _default_mesh(local_tensor)
        chosen = checked(placements, mesh, local_tensor.dim())
        if run_check:
            for index, placement in enumerate(chosen):
                if placement.is_replicate():
                    collectives.broadcast(local_tensor.detach(), group=mesh.get_group(index), group_src=0)
        whole = tuple(shape) if shape is not None else _whole_shape(local_tensor, mesh, chosen)
        if list(local_tensor.shape) != local_shape(whole, mesh, chosen):
            raise ValueError(
                f"from_local: parts of a tensor of shape {list(whole)} placed {describe(chosen)} have the shape "
                f"{local_shape(whole, mesh, chosen)} here, got {list(local_tensor.shape)}"
            )
        return wrap(local_tensor, mesh, chosen, whole)

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """What this process holds; gradients pass through it. `grad_placements` says how the gradient of the result
        lies where it does not lie as this tensor does: Partial if each process has a summand of it."""
        held, own = local_of(self), gradient_of(self._placements)
        given = own if grad_placements is None else checked(grad_placements, self._device_mesh, self.dim())
        return held if given == own else take_gradient(held, self._whole, self._device_mesh, given, own)

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """The same tensor, placed so."""
        if device_mesh is not None and device_mesh != self._device_mesh:
            raise NotImplementedError("a DTensor cannot be moved to another DeviceMesh")
        wanted = checked(placements, self._device_mesh, self.dim())
        if wanted == self._placements:
            return self
        made = redistribute(local_of(self), self._whole, self._device_mesh, self._placements, wanted)
        return wrap(made, self._device_mesh, wanted, self._whole)

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole, in every process; `grad_placements` as in `to_local`."""
        whole: DTensor = self.redistribute(placements=[Replicate()] * self._device_mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    # --- as Python values
    def item(self) -> Any:
        return self.full_tensor().item()

    def tolist(self) -> Any:
        return self.full_tensor().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        return self.full_tensor().numpy(force=force)

    def __repr__(self, **kwargs: Any) -> str:
        where = f"device_mesh={self._device_mesh}, placements={describe(self._placements)}"
        return f"DTensor(local_tensor={local_of(self).detach()}, {where})"

    def __deepcopy__(self, memo: Any) -> Any:
        local = local_of(self).detach().clone()
        made = wrap(local, self._device_mesh, self._placements, self._whole)
        copied = as_parameter(made, self.requires_grad) if isinstance(self, Parameter) else made
        memo[id(self)] = copied
        return copied if isinstance(self, Parameter) else copied.requires_grad_(self.requires_grad)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """What this process holds, and where: loaded in the same process of a job of the same size it is the same."""
        local = local_of(self).detach()
        parts = (local, self._device_mesh, self._placements, self._whole, isinstance(self, Parameter))
        return _rebuilt, (*parts, self.requires_grad)


class DTensorParameter(DTensor, Parameter):
    """A DTensor that a module trains."""

    __torch_function__ = DTensor.__torch_function__


def _rebuilt(
    local: Tensor, mesh: DeviceMesh, placements: Placements, whole: tuple[int, ...], trained: bool, requires_grad: bool
) -> DTensor:
    """A DTensor that was pickled."""
    made = wrap(local, mesh, placements, whole)
    if trained:
        return as_parameter(made, requires_grad)
    with DisableTorchFunctionSubclass():
        return made.requires_grad_(requires_grad)


def describe(placements: Placements) -> str:
    """Placements as errors write them."""
    return f"({', '.join(map(str, placements))})"


def gradient_of(placements: Placements) -> Placements:
    """How the gradient of a tensor lies."""
    return tuple(Replicate() if placement.is_partial() else placement for placement in placements)


def wrap(local: Tensor, mesh: DeviceMesh, placements: Placements, whole: Sequence[int], cls: Any = DTensor) -> Any:
    """The DTensor of which this process holds `local`, in whose graph it stands."""
    with DisableTorchFunctionSubclass():
        made = become(aten.alias(local), cls)
    made._device_mesh, made._placements, made._whole = mesh, placements, tuple(whole)
    return made


def local_of(tensor: DTensor) -> Tensor:
    """What this process holds of it, in its graph."""
    with DisableTorchFunctionSubclass():
        return become(aten.alias(tensor), Tensor)


def as_parameter(tensor: DTensor, requires_grad: bool = True) -> Any:
    """The DTensor as a parameter of a module."""
    local = local_of(tensor).detach()
    made = wrap(local, tensor._device_mesh, tensor._placements, tensor._whole, DTensorParameter)
    with DisableTorchFunctionSubclass():
        return made.requires_grad_(requires_grad)


def checked(placements: Sequence[Placement] | None, mesh: DeviceMesh, dims: int) -> Placements:
    """The placements, one for each dimension of the mesh (Replicate where none are given), without negative
    dimensions."""
    chosen: list[Placement] = [Replicate() for _ in range(mesh.ndim)] if placements is None else list(placements)
    if len(chosen) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(chosen)}, "
            f"and device_mesh.ndim: {mesh.ndim}."
        )
    for index, placement in enumerate(chosen):
        if isinstance(placement, Shard):
            dim = placement.dim + dims if placement.dim < 0 else placement.dim
            if not 0 <= dim < max(dims, 1):
                raise ValueError(f"Shard({placement.dim}) of a tensor with {dims} dimensions")
            chosen[index] = Shard(dim)
        elif not isinstance(placement, Placement):
            raise TypeError(f"a placement is Shard, Replicate or Partial, got {placement!r}")
    return tuple(chosen)


def _default_mesh(tensor: Tensor) -> DeviceMesh:
    from ..device_mesh import init_device_mesh
    from ..process_groups import get_world_size

    return init_device_mesh(tensor.device.type, (get_world_size(),))


def _whole_shape(local: Tensor, mesh: DeviceMesh, placements: Placements) -> tuple[int, ...]:
    """The shape of a tensor whose processes hold parts like this one."""
    whole = list(local.shape)
    for index in reversed(range(mesh.ndim)):
        placement = placements[index]
        if isinstance(placement, Shard):
            whole[placement.dim] *= mesh.size(index)
    return tuple(whole)


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """A whole tensor as a DTensor: the values are those of the first process of the mesh, or with `src_data_rank=None`
    each process's own. They are moved to the mesh's type of device."""
    mesh = device_mesh or _default_mesh(tensor)
    chosen = checked(placements, mesh, tensor.dim())
    if isinstance(tensor, DTensor):
        return tensor.redistribute(mesh, chosen)
    if any(placement.is_partial() for placement in chosen):
        raise RuntimeError("distribute_tensor places values as Shard or Replicate; Partial has no meaning for them")
    whole, local = tuple(tensor.shape), tensor.detach().clone()
    if local.device.type not in ("meta", mesh.device_type):
        local = local.to(mesh.own_device)
    for index in range(mesh.ndim) if src_data_rank is not None and local.device.type != "meta" else ():
        collectives.broadcast(local, group=mesh.get_group(index), group_src=src_data_rank)
    for index, placement in enumerate(chosen):
        if isinstance(placement, Shard):
            first, count = rows_of(local.shape[placement.dim], mesh.size(index), mesh.get_local_rank(index))
            local = aten.narrow(local, placement.dim, first, count)
    made = wrap(local.contiguous(), mesh, chosen, whole)
    with DisableTorchFunctionSubclass():
        return made.requires_grad_(tensor.requires_grad)
