"""A module that is trained by several processes, each with its own part of every batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ... import no_grad
from ..._tensor import Tensor
from ...distributed import collectives
from ...distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from ...distributed.objects import all_gather_object
from ...distributed.process_groups import get_global_rank, world_group
from ...utils.hooks import RemovableHandle
from ..modules.module import Module

__all__ = ["DistributedDataParallel"]

_MEGABYTE = 1 << 20
_FIRST_BUCKET = _MEGABYTE  # small, so that the first exchange begins early in the backward pass


class GradBucket:
    """Gradients that are averaged together: one flat tensor, and its parts."""

    def __init__(self, index: int, parameters: list[Tensor], is_last: bool) -> None:
        self._index, self._parameters, self._is_last = index, parameters, is_last
        self._sizes = [p.numel() for p in parameters]
        self._buffer: Tensor = parameters[0].new_zeros(sum(self._sizes))
        self._parts = self._cut()
        self.waiting: set[int] = set()
        self.future: Any = None

    def _cut(self) -> list[Tensor]:
        flat = self._buffer.split(self._sizes)
        return [part.view(p.shape) for part, p in zip(flat, self._parameters)]

    def index(self) -> int:
        """Its index among the buckets: 0 is the first to be averaged."""
        return self._index

    def buffer(self) -> Tensor:
        """The flat tensor."""
        return self._buffer

    def set_buffer(self, tensor: Tensor) -> None:
        """Replaces it by another flat tensor, for a hook that communicates something else."""
        self._buffer = tensor

    def gradients(self) -> list[Tensor]:
        """The gradient of every parameter, as views of the flat tensor."""
        return self._parts

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return self._parameters

    def is_last(self) -> bool:
        """Whether it is the last one to be averaged."""
        return self._is_last


class DistributedDataParallel(Module):
    """Averages the gradients of `module` over all processes of a group while the backward pass goes on.

    At the start all processes take the parameters and buffers of the first one. In the backward pass, gradients are
    collected in buckets of `bucket_cap_mb`; a bucket that is full is averaged while the pass computes the next.
    Losses and weights are those of one process on the joined batch, if every process has as many samples.
    `no_sync()` leaves gradients as they are, to accumulate several batches. With `find_unused_parameters` or
    `static_graph`, parameters that the result does not depend on may be left out.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:
        super().__init__()
        self.process_group = process_group or world_group()
        self.module, self.dim, self.device_ids, self.output_device = module, dim, device_ids, output_device
        self.broadcast_buffers, self.find_unused_parameters, self.static_graph = (
            broadcast_buffers,
            find_unused_parameters,
            static_graph,
        )
        self.require_backward_grad_sync = True
        self._trained = [p for p in module.parameters() if p.requires_grad]
        if not self._trained:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        self._check_alike()
        if init_sync:
            self._take_over([*module.parameters(), *module.buffers()])
        self._hook: tuple[Callable[[Any, GradBucket], Any], Any] = (allreduce_hook, self.process_group)
        self._buckets = self._make_buckets(int((25 if bucket_cap_mb is None else bucket_cap_mb) * _MEGABYTE))
        self._position = {id(p): (bucket, i) for bucket in self._buckets for i, p in enumerate(bucket.parameters())}
        self._next, self._armed = 0, False
        self._handles: list[RemovableHandle] = [
            p.register_post_accumulate_grad_hook(self._gradient_ready) for p in self._trained
        ]

    # --- at the start
    def _check_alike(self) -> None:
        """RuntimeError unless all processes have the same parameters."""
        mine = [(name, tuple(p.shape), str(p.dtype)) for name, p in self.module.named_parameters()]
        everyone: list[Any] = [None] * self.process_group.size()
        all_gather_object(everyone, mine, self.process_group)
        for rank, theirs in enumerate(everyone):
            if theirs != everyone[0]:
                wrong = next(
                    (pair for pair in zip(theirs, everyone[0]) if pair[0] != pair[1]),
                    (f"{len(theirs)} parameters", f"{len(everyone[0])}"),
                )
                raise RuntimeError(
                    "DDP expects the same model across all ranks, but rank "
                    f"{get_global_rank(self.process_group, rank)} has {wrong[0]} where rank "
                    f"{get_global_rank(self.process_group, 0)} has {wrong[1]}."
                )

    def _take_over(self, tensors: list[Tensor]) -> None:
        """All processes take these tensors from the first process of the group."""
        source = get_global_rank(self.process_group, 0)
        works = [
            collectives.broadcast(tensor.detach(), source, self.process_group, async_op=True) for tensor in tensors
        ]
        for work in works:
            if work is not None:
                work.wait()

    def _make_buckets(self, limit: int) -> list[GradBucket]:
        """Parameters from the last to the first, as a backward pass reaches them, in buckets of one type."""
        lists: list[list[Tensor]] = []
        size = 0
        for p in reversed(self._trained):
            cap = min(_FIRST_BUCKET, limit) if len(lists) == 1 else limit
            if (
                not lists
                or size + p.numel() * p.element_size() > cap
                or lists[-1][0].dtype != p.dtype
                or lists[-1][0].device != p.device
            ):
                lists.append([])
                size = 0
            lists[-1].append(p)
            size += p.numel() * p.element_size()
        return [GradBucket(i, parameters, i == len(lists) - 1) for i, parameters in enumerate(lists)]

    # --- forward
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result; gradients that it gets later are averaged."""
        from ... import is_grad_enabled

        averaging = is_grad_enabled() and self.require_backward_grad_sync
        if averaging and self._armed:
            self._complain()
        if self.broadcast_buffers and self.require_backward_grad_sync and self.training:
            self._take_over(list(self.module.buffers()))
        result = self.module(*inputs, **kwargs)
        if averaging:
            self._arm(_tensors_in(result))
        return result

    def _arm(self, results: list[Tensor]) -> None:
        """Gets ready for a backward pass: every bucket waits for the gradients of its parameters."""
        self._next, self._armed = 0, True
        for bucket in self._buckets:
            bucket.waiting = set(range(len(bucket.parameters())))
            bucket.future = None
        if self.find_unused_parameters or self.static_graph:
            used = _leaves_of(results)
            for p in self._trained:
                if id(p) not in used:
                    bucket, index = self._position[id(p)]
                    bucket.waiting.discard(index)

    def _complain(self) -> None:
        names = [
            name
            for name, p in self.module.named_parameters()
            if p.requires_grad and self._position[id(p)][1] in self._position[id(p)][0].waiting
        ]
        raise RuntimeError(
            "Expected to have finished reduction in the prior iteration before starting a new one. This error "
            "indicates that your "
            "module has parameters that were not used in producing loss. You can enable unused parameter detection "
            "by passing the "
            "keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by "
            "making sure all "
            "`forward` function outputs participate in calculating loss. Parameters without a gradient: "
            f"{', '.join(names)}"
        )

    # --- backward
    def _gradient_ready(self, parameter: Tensor) -> None:
        """Called in the backward pass when the gradient of a parameter is complete."""
        if not self._armed or not self.require_backward_grad_sync:
            return
        bucket, index = self._position[id(parameter)]
        bucket.waiting.discard(index)
        self._start_full_buckets()

    def _start_full_buckets(self) -> None:
        """Starts to average buckets that are full, in their order, which is the same in all processes; after the
        last, waits for all.
        """
        while self._next < len(self._buckets) and not self._buckets[self._next].waiting:
            bucket = self._buckets[self._next]
            with no_grad():
                for part, p in zip(bucket.gradients(), bucket.parameters()):
                    if p.grad is None:
                        part.zero_()
                    else:
                        part.copy_(p.grad)
                hook, state = self._hook
                bucket.future = hook(state, bucket)
            self._next += 1
        if self._next == len(self._buckets):
            self._finish()

    def _finish(self) -> None:
        """Puts the averages into the gradients."""
        self._armed = False
        with no_grad():
            for bucket in self._buckets:
                averaged = bucket.future.wait()
                flat = averaged[0] if isinstance(averaged, (list, tuple)) else averaged
                for part, p in zip(flat.split([p.numel() for p in bucket.parameters()]), bucket.parameters()):
                    if p.grad is not None:
                        p.grad.copy_(part.view(p.shape))
                    elif self.find_unused_parameters or self.static_graph:
                        p.grad = part.view(p.shape).to(p.dtype).clone()
                bucket.future = None

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, gradients are not averaged; the first pass after it averages what has been accumulated."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[[Any, GradBucket], Any]) -> None:
        """Has `hook(state, bucket)` average buckets: it returns a future of the flat tensor."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        self._hook = (hook, state)

    def _set_static_graph(self) -> None:
        """As `static_graph=True`."""
        self.static_graph = True

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Any:
        """Refused unless `enable` is False: all processes need the same number of batches."""
        if enable and self.process_group.size() > 1:
            raise NotImplementedError(
                "DistributedDataParallel.join: give all processes the same number of batches (DistributedSampler does)"
            )
        from contextlib import nullcontext

        return nullcontext()


def _tensors_in(result: Any) -> list[Tensor]:
    """The tensors in nested lists, tuples, dicts and objects with fields."""
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, dict):
        return [tensor for value in result.values() for tensor in _tensors_in(value)]
    if isinstance(result, (list, tuple)):
        return [tensor for value in result for tensor in _tensors_in(value)]
    return _tensors_in(vars(result)) if hasattr(result, "__dataclass_fields__") else []


def _leaves_of(results: list[Tensor]) -> set[int]:
    """Identities of the tensors without history that these results depend on."""
    leaves: set[int] = set()
    seen: set[Any] = set()
    queue: list[Any] = []
    for tensor in results:
        if tensor.grad_fn is not None:
            queue.append(tensor.grad_fn)
        elif tensor.requires_grad:
            leaves.add(id(tensor))
    while queue:
        node = queue.pop()
        variable = getattr(node, "variable", None)
        if variable is not None:
            leaves.add(id(variable))
            continue
        if node in seen:
            continue
        seen.add(node)
        queue.extend(following for following, _ in node.next_functions if following is not None)
    return leaves
