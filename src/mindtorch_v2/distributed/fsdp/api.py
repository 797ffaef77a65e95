"""What programs tell `FullyShardedDataParallel` and `fully_shard`. Values that ask for something that is not here are
refused where they are given."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any


class ShardingStrategy(Enum):
    """What is spread. The hybrid ones keep copies along the first dimension of a mesh. `NO_SHARD` is not here."""

    FULL_SHARD = 1
    SHARD_GRAD_OP = 2  # whole parameters are kept between the passes
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5  # SHARD_GRAD_OP with copies


class BackwardPrefetch(Enum):
    """When parameters are gathered for the backward pass. Accepted; they are gathered when a module needs them."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """What a state dict holds: whole tensors, or what lies here."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    """How a state dict is made. `offload_to_cpu` has no effect on tensors of the CPU."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Whole tensors; with `rank0_only` the other processes get an empty state dict."""

    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """What lies here."""

    _use_dtensor: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """What lies here."""


@dataclass
class OptimStateDictConfig:
    """How an optimizer's state dict is made."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Whole tensors."""

    rank0_only: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """What lies here."""

    _use_dtensor: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """What lies here."""

    offload_to_cpu: bool = False


@dataclass
class MixedPrecision:
    """Types to compute and communicate in; None for the parameters' own."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = field(default_factory=tuple)


@dataclass
class CPUOffload:
    """Whether parameters of a device lie on the CPU between the passes."""

    offload_params: bool = False


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Types to compute and communicate in; None for the parameters' own."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters of a device lie on the CPU between the passes."""

    pin_memory: bool = True


def asks_for_something(value: Any) -> bool:
    """Whether an option asks for parameters to lie elsewhere."""
    if value is None or type(value) is OffloadPolicy:
        return False
    if isinstance(value, CPUOffload):
        return value.offload_params
    return True
