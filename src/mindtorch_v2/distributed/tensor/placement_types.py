"""How a tensor lies along a dimension of a DeviceMesh."""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """How a tensor lies in the processes along one dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether the processes hold parts along a dimension (this one, if it is given)."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether every process holds the whole."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the values of the processes are still to be combined."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Parts along a dimension of the tensor, as `torch.chunk` cuts them: the last ones may be smaller, or empty."""

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class Replicate(Placement):
    """The whole, in every process."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Summands (or what else `reduce_op` combines: avg, max, min, product) of the whole."""

    reduce_op: str = "sum"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


class _StridedShard(Placement):
    """Parts of groups of rows, which PyTorch uses inside. There are none here: programs that look for them find
    nothing, and those that ask for one are refused."""

    def __init__(self, dim: int, *, split_factor: int) -> None:
        raise NotImplementedError(
            f"_StridedShard(dim={dim}, split_factor={split_factor}): tensors are spread in whole parts (Shard) here"
        )
