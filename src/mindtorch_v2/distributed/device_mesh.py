"""`torch.distributed.device_mesh`: processes in rows and columns, with a group of processes along every direction."""

from __future__ import annotations

import os
import weakref
from typing import Any

import numpy as np

from .. import tensor as make_tensor
from .._tensor import Tensor
from .new_groups import new_group
from .process_groups import ProcessGroup, get_rank, get_world_size, is_initialized, world_group

__all__ = ["DeviceMesh", "init_device_mesh"]


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None
) -> DeviceMesh:
    """A mesh of all processes, in the order of their ranks. Every process calls it."""
    shape = (mesh_shape,) if isinstance(mesh_shape, int) else tuple(mesh_shape)
    if mesh_dim_names is not None and len(mesh_dim_names) != len(shape):
        raise RuntimeError(
            f"mesh_shape and mesh_dim_names should have same length, found len(mesh_dim_names): {len(mesh_dim_names)} "
            f"and len(mesh_shape): {len(shape)}"
        )
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError(f"Each mesh_dim_name must be unique, found repeated names in {mesh_dim_names}")
    _form_world()
    _check_size(int(np.prod(shape)))
    return DeviceMesh(device_type, np.arange(int(np.prod(shape))).reshape(shape), mesh_dim_names=mesh_dim_names)


_known: weakref.WeakSet[DeviceMesh] = weakref.WeakSet()


def _loaded(device_type: str, ranks: Any, names: tuple[str, ...] | None) -> DeviceMesh:
    """The mesh that is there already, else a new one, whose groups all processes form."""
    for mesh in _known:
        same = (mesh.device_type, mesh._ranks.tolist(), mesh.mesh_dim_names) == (device_type, ranks, names)
        if same and all(group is None or group.comm for group in mesh._groups):
            return mesh
    return DeviceMesh(device_type, ranks, mesh_dim_names=names)


def _form_world() -> None:
    if not is_initialized():
        from .process_groups import init_process_group

        init_process_group()


def _check_size(count: int) -> None:
    if count > get_world_size():
        raise RuntimeError(
            f"Mesh should not be bigger than default world size {get_world_size()}, but found {count} ranks!"
        )


class DeviceMesh:
    """Ranks as an array: `mesh` holds them, `get_group(d)` is the group of those that differ from this process in
    dimension `d` alone, and `mesh["name"]` is the part along one named dimension."""

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        _groups: list[ProcessGroup] | None = None,
    ) -> None:
        self.device_type, self.mesh_dim_names = device_type, mesh_dim_names
        _form_world()
        self._ranks = np.asarray(mesh.tolist() if isinstance(mesh, Tensor) else mesh, dtype=np.int64)
        if len(np.unique(self._ranks)) != self._ranks.size:
            raise RuntimeError(f"a mesh has each rank once, got {self._ranks.tolist()}")
        _check_size(self._ranks.size)
        coordinate = np.argwhere(self._ranks == get_rank())
        self._coordinate: tuple[int, ...] | None = tuple(coordinate[0].tolist()) if len(coordinate) else None
        self._sliced: tuple[DeviceMesh, list[int]] | None = None  # the mesh that this is a part of, and its dimensions
        self._groups = _groups if _groups is not None else self._form_groups()
        _known.add(self)

    def _form_groups(self) -> list[Any]:
        """A group along each dimension; all processes of the world form all of them, in one order."""
        own: list[Any] = []
        for dim in range(self._ranks.ndim):
            lines = np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim]).tolist()
            mine: Any = None
            for line in lines:
                everyone = sorted(line) == list(range(get_world_size())) == line
                made = world_group() if everyone else new_group(line)
                mine = made if get_rank() in line else mine
            own.append(mine)
        return own

    @property
    def mesh(self) -> Tensor:
        """The ranks."""
        return make_tensor(self._ranks.tolist()).int()

    @property
    def own_device(self) -> str:
        """The device of this process: under a launcher that of its rank on its machine."""
        own = "" if self.device_type == "cpu" else os.environ.get("LOCAL_RANK", "")
        return f"{self.device_type}:{own}" if own else self.device_type

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions."""
        return tuple(self._ranks.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._ranks.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of processes, or the length of one dimension."""
        return int(self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim])

    def _dimension(self, mesh_dim: int | str | None, *more: str) -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                    *more,
                )
            return 0
        return self._names(mesh_dim)[0] if isinstance(mesh_dim, str) else mesh_dim

    def _names(self, *names: str) -> list[int]:
        """The indices of named dimensions."""
        known = list(self.mesh_dim_names or ())
        if not known:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        if any(name not in known for name in names):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {known}.")
        return [known.index(name) for name in names]

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of this process along a dimension."""
        told = (
            "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
            "please use `get_all_groups()` instead."
        )
        return self._groups[self._dimension(mesh_dim, told)]

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of this process along all dimensions."""
        return list(self._groups)

    def get_rank(self) -> int:
        """This process's rank among all."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This process's index along a dimension."""
        dim = self._dimension(mesh_dim)
        if self._coordinate is None:
            raise RuntimeError(f"rank {get_rank()} is not in {self!r}")
        return self._coordinate[dim]

    def get_coordinate(self) -> tuple[int, ...] | None:
        """This process's index along all dimensions; None where it is not in the mesh."""
        return self._coordinate

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the mesh that differs from this process in these dimensions alone, with the same groups."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        dims = self._names(*names)
        coordinate = self._coordinate or (0,) * self.ndim
        part = self._ranks[tuple(slice(None) if d in dims else coordinate[d] for d in range(self.ndim))]
        part = np.transpose(part, np.argsort(np.argsort(dims)))
        made = DeviceMesh(self.device_type, part, mesh_dim_names=names, _groups=[self._groups[d] for d in dims])
        made._sliced = (self, dims)
        return made

    def _beside(self, other: DeviceMesh) -> DeviceMesh:
        """The mesh of two dimensions whose rows are this one and whose columns are another slice of the same mesh."""
        (whole, (own,)), (same, (second,)) = self._sliced or (None, [0]), other._sliced or (None, [0])
        if whole is None or whole is not same or whole.ndim != 2 or own == second:
            raise NotImplementedError(
                f"{self!r} and {other!r} are to be the two dimensions of one mesh: slice both from it (mesh['tp'], "
                "mesh['dp'])"
            )
        names = (*(self.mesh_dim_names or ()), *(other.mesh_dim_names or ()))
        groups = [whole._groups[own], whole._groups[second]]
        return DeviceMesh(
            self.device_type, np.transpose(whole._ranks, (own, second)), mesh_dim_names=names, _groups=groups
        )

    def __reduce__(self) -> Any:
        """Where it is loaded it is the mesh of these processes that is there."""
        return _loaded, (self.device_type, self._ranks.tolist(), self.mesh_dim_names)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeviceMesh)
            and self.device_type == other.device_type
            and self.mesh_dim_names == other.mesh_dim_names
            and np.array_equal(self._ranks, other._ranks)
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.mesh_dim_names, self._ranks.tobytes(), self.shape))

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        sizes = [f"{names[i]}={n}" if names else str(n) for i, n in enumerate(self.shape)]
        return f"DeviceMesh(({', '.join(sizes)}), {self.device_type!r})"
