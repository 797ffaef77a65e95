"""PowerSGD (Vogels, Karimireddy and Jaggi, 2019): what travels is a low-rank approximation of the gradients.

A gradient of n x m elements is sent as n x r and r x m. One step of the power method per iteration, which begins with
the factor of the iteration before, and the error is added to the next gradient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....autograd import no_grad
from ....futures import Future
from ....linalg import qr
from ....random import fork_rng, manual_seed
from ...collectives import all_reduce
from ...process_groups import get_world_size
from .default_hooks import allreduce_hook

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]
_MAX_SEED = 1_000_000_000


class PowerSGDState:
    """What the hook keeps between iterations; `register_comm_hook(PowerSGDState(None), powerSGD_hook)`.

    The first `start_powerSGD_iter` iterations average whole gradients. A gradient is approximated with
    `matrix_approximation_rank` columns where that makes it at least `min_compression_rate` times smaller.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD "
                "can only be applied after the first two iterations in DDP."
            )
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = (
            orthogonalization_epsilon  # not needed: Householder's method divides by nothing
        )
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, Any] = {}  # what the approximation of a bucket left out
        self.q_memory_dict: dict[int, list[Any]] = {}  # the right factors of a bucket
        self.total_numel_before_compression = self.total_numel_after_compression = 0
        self.iter = 0

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.process_group = None  # that of all processes: a group cannot be saved

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Counts the iteration with its last bucket."""
        self.iter += int(bucket.is_last())

    def compression_stats(self) -> tuple[float, int, int]:
        """(rate, elements before, elements after) of everything since the approximation began."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return before / after if after else 0.0, before, after

    def pays(self, rows: int, columns: int) -> bool:
        """Whether a matrix is approximated."""
        sent = (rows + columns) * self.matrix_approximation_rank
        self.total_numel_before_compression += rows * columns
        is_smaller = sent * self.min_compression_rate < rows * columns
        self.total_numel_after_compression += sent if is_smaller else rows * columns
        return is_smaller

    def right_factors(self, index: int, matrices: list[Any]) -> list[Any]:
        """The right factors to begin with: those of the last iteration, or random ones, the same in all processes."""
        if self.warm_start and index in self.q_memory_dict:
            return self.q_memory_dict[index]
        with fork_rng(devices=[]):
            manual_seed(int(self.rng.randint(_MAX_SEED)))
            made = [m.new_empty(m.shape[1], min(*m.shape, self.matrix_approximation_rank)) for m in matrices]
            for factor in made:
                factor.normal_()
        self.q_memory_dict[index] = made
        return made


def _orthogonal(matrix: Any) -> Any:
    """An orthonormal basis of the columns; zeros give one too."""
    return qr(matrix.float())[0].to(matrix.dtype)


def _summed(tensors: list[Any], group: Any) -> None:
    """Adds tensors up over the processes, in one communication."""
    if not tensors:
        return
    flat = tensors[0].new_empty(sum(t.numel() for t in tensors))
    parts = flat.split([t.numel() for t in tensors])
    for part, tensor in zip(parts, tensors):
        part.copy_(tensor.reshape(-1))
    all_reduce(flat, group=group)
    for part, tensor in zip(parts, tensors):
        tensor.copy_(part.view(tensor.shape))


def _approximate(state: PowerSGDState, index: int, matrices: list[Any]) -> None:
    """Replaces matrices by approximations of their averages over the processes."""
    errors = state.error_dict.get(index, []) if state.use_error_feedback else []
    for matrix, error in zip(matrices, errors):
        matrix.add_(error)
    before = [matrix.clone() for matrix in matrices] if state.use_error_feedback else []
    rights = state.right_factors(index, matrices)
    lefts = [matrix @ _orthogonal(right) for matrix, right in zip(matrices, rights)]
    _summed(lefts, state.process_group)
    lefts = [_orthogonal(left) for left in lefts]
    rights[:] = [matrix.t() @ left for matrix, left in zip(matrices, lefts)]
    _summed(rights, state.process_group)
    size = get_world_size(state.process_group)
    for matrix, left, right in zip(matrices, lefts, rights):
        right.div_(size)
        matrix.copy_(left @ right.t())
    state.error_dict[index] = [was.sub_(matrix) for was, matrix in zip(before, matrices)]


def _run(state: PowerSGDState, bucket: Any, average: Callable[[PowerSGDState, Any], None]) -> Any:
    """Averages a bucket: whole in the first iterations, then by `average`. All processes communicate in the order of
    their buckets, so a bucket is done when this returns."""
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    with no_grad():
        average(state, bucket)
    state.maybe_increase_iter(bucket)
    done: Any = Future()
    done.set_result(bucket.buffer())
    return done


def _average_each(state: PowerSGDState, bucket: Any) -> None:
    matrices: list[Any] = []
    whole: list[Any] = []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0] if gradient.dim() else 1, -1)
        (matrices if state.pays(*matrix.shape) else whole).append(matrix)
    _summed(whole, state.process_group)
    for tensor in whole:
        tensor.div_(get_world_size(state.process_group))
    if matrices:
        _approximate(state, bucket.index(), matrices)


def powerSGD_hook(state: PowerSGDState, bucket: Any) -> Any:
    """Averages the gradients, each large one by an approximation of a low rank."""
    return _run(state, bucket, _average_each)


def _average_together(state: PowerSGDState, bucket: Any) -> None:
    buffer = bucket.buffer()
    side = math.ceil(math.sqrt(buffer.numel()))
    square = buffer.new_zeros(side * side)
    square[: buffer.numel()].copy_(buffer)
    state.total_numel_before_compression += buffer.numel()
    state.total_numel_after_compression += 2 * side * state.matrix_approximation_rank
    _approximate(state, bucket.index(), [square.view(side, side)])
    buffer.copy_(square[: buffer.numel()])


def batched_powerSGD_hook(state: PowerSGDState, bucket: Any) -> Any:
    """Averages a bucket by one approximation of all its gradients, as a square matrix: quicker, and less exact."""
    return _run(state, bucket, _average_together)
