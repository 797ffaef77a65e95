"""A module that is trained by several processes, each with its own part of every batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ... import no_grad, zeros
from ... import tensor as make_tensor
from ..._dtype import int32, uint8
from ..._tensor import Tensor
from ...distributed import collectives
from ...distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from ...distributed.algorithms.join import Join, Joinable, JoinHook
from ...distributed.objects import all_gather_object
from ...distributed.process_groups import get_global_rank, world_group
from ...distributed.reduce_op import ReduceOp
from ...utils.hooks import RemovableHandle
from ..modules.module import Module
from ._buckets import GradBucket, make_buckets
from .scatter_gather import moved

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module, Joinable):
    """Averages the gradients of `module` over all processes of a group while the backward pass goes on.

    At the start all processes take the parameters and buffers of the first one. In the backward pass, gradients are
    collected in buckets of `bucket_cap_mb`; a bucket that is full is averaged while the pass computes the next.
    Losses and weights are those of one process on the joined batch, if every process has as many samples.
    `no_sync()` leaves gradients as they are, to accumulate several batches. With `find_unused_parameters` or
    `static_graph`, parameters that the result does not depend on may be left out. With `device_ids` inputs are moved to
    the module's device. `join()` is for processes that have
    different numbers of batches.
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
        Joinable.__init__(self)
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
        self._buckets = make_buckets(self._trained, 25 if bucket_cap_mb is None else bucket_cap_mb)
        self._position = {id(p): (bucket, i) for bucket in self._buckets for i, p in enumerate(bucket.parameters())}
        self._next, self._armed = 0, False
        self._touched: set[int] = set()  # parameters that got a gradient here since gradients were averaged last
        self._exchange: Any = None  # of which parameters got one, over all processes
        self._reached: Tensor | None = None  # what it gave
        self._scale, self._divide_by_initial_world_size = 1.0, True
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

    def _take_over(self, tensors: list[Tensor], rank: int = 0) -> None:
        """All processes take these tensors from one process of the group."""
        source = get_global_rank(self.process_group, rank)
        works = [
            collectives.broadcast(tensor.detach(), source, self.process_group, async_op=True) for tensor in tensors
        ]
        for work in works:
            if work is not None:
                work.wait()

    # --- forward
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result; gradients that it gets later are averaged."""
        from ... import is_grad_enabled

        averaging = is_grad_enabled() and self.require_backward_grad_sync
        if averaging and self._armed:
            self._complain()
        with_buffers, source = self.broadcast_buffers and self.require_backward_grad_sync and self.training, 0
        if self._join_config.enable:
            Join.notify_join_context(self)
            source = self._agree(averaging, with_buffers)[2]
        if with_buffers:
            self._take_over(list(self.module.buffers()), source)
        if self.device_ids and self.join_device.type != "cpu":
            device = self.join_device
            inputs, kwargs = moved(inputs, device), moved(kwargs, device)
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
            "indicates that your module has parameters that were not used in producing loss. You can enable unused "
            "parameter detection by passing the keyword argument `find_unused_parameters=True` to "
            "`torch.nn.parallel.DistributedDataParallel`, and by making sure all `forward` function outputs "
            f"participate in calculating loss. Parameters without a gradient: {', '.join(names)}"
        )

    # --- backward
    def _gradient_ready(self, parameter: Tensor) -> None:
        """Called in the backward pass when the gradient of a parameter is complete."""
        self._touched.add(id(parameter))
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
                        part.copy_(p.grad.to_dense() if p.grad.is_sparse else p.grad)
                self._start(bucket)
            self._next += 1
        if self._next == len(self._buckets):
            self._finish()

    def _start(self, bucket: GradBucket) -> None:
        """Starts to average a bucket; with the last one, to ask which parameters got a gradient in any process."""
        hook, state = self._hook
        bucket.future = hook(state, bucket)
        asks = self.find_unused_parameters or (self.static_graph and self._reached is None)
        if bucket.is_last() and asks:
            self._reached = make_tensor([id(p) in self._touched for p in self._trained], dtype=uint8)
            self._exchange = collectives.all_reduce(self._reached, ReduceOp.MAX, self.process_group, async_op=True)

    def _with_gradient(self) -> set[int]:
        """The parameters that got a gradient in some process; all of them where none may be left out."""
        if self._exchange is not None:
            self._exchange.wait()
            self._exchange = None
        if self._reached is None:
            return set(self._position)
        return {id(p) for p, reached in zip(self._trained, self._reached.tolist()) if reached}

    def _finish(self) -> None:
        """Puts the averages into the gradients. Those of parameters that no process used stay as they are."""
        self._armed = False
        with no_grad():
            for bucket in self._buckets:
                averaged = bucket.future.wait()
                flat = averaged[0] if isinstance(averaged, (list, tuple)) else averaged
                if self._scale != 1.0:
                    flat.mul_(self._scale)
                bucket.result = flat
                bucket.future = None
            with_gradient = self._with_gradient()
            for bucket in self._buckets:
                parts = bucket.result.split([p.numel() for p in bucket.parameters()])
                for part, p in zip(parts, bucket.parameters()):
                    if id(p) not in with_gradient:
                        continue
                    if p.grad is not None and p.grad.is_sparse:  # with the rows that are not zero
                        p.grad = part.view(p.shape).to_sparse(1)
                    elif p.grad is not None:
                        p.grad.copy_(part.view(p.shape))
                    else:
                        p.grad = part.view(p.shape).to(p.dtype).clone()
                bucket.result = None
        self._touched.clear()

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

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Facts about this module that PyTorch collects for its logs, as far as they are known here."""
        return {
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "module_name": type(self.module).__name__,
            "backend_name": self.process_group.name(),
            "broadcast_buffers": int(self.broadcast_buffers),
            "find_unused_parameters": int(self.find_unused_parameters),
            "static_graph": int(self.static_graph),
            "num_parameter_tensors": len(self._trained),
            "total_parameter_size_bytes": sum(p.nbytes for p in self._trained),
        }

    def _set_static_graph(self) -> None:
        """As `static_graph=True`."""
        self.static_graph = True

    # --- processes with different numbers of batches
    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """A context for a loop of which processes have different numbers of iterations: those that have none left give
        zeros to the averages of the others, and take over the last one's module at the end. Sums of gradients are
        divided by the number of all processes, or else by that of those with an input left.
        """
        options = {"divide_by_initial_world_size": divide_by_initial_world_size}
        return Join([self], enable, throw_on_early_termination, **options)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process without batches does for the others."""
        return _Shadow(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self._trained[0].device

    @property
    def join_process_group(self) -> Any:
        """The group that averages."""
        return self.process_group

    def _agree(self, averaging: bool, with_buffers: bool, has_input: bool = True) -> tuple[bool, bool, int]:
        """Tells processes without batches what the others do in this iteration: whether gradients are averaged and
        buffers handed over, and from whom."""
        size = self.process_group.size()
        said = zeros(size + 2, dtype=int32, device=self.join_device)
        said[0], said[1], said[2 + self.process_group.rank()] = int(averaging), int(with_buffers), int(has_input)
        collectives.all_reduce(said, group=self.process_group)
        averages, buffers, *there = said.tolist()
        is_plain = self._hook[0] is allreduce_hook and not self._divide_by_initial_world_size
        self._scale = size / sum(there) if is_plain else 1.0
        return averages > 0, buffers > 0, max(rank for rank, one in enumerate(there) if one)

    def _average_nothing(self) -> None:
        """Takes part in an average with zeros."""
        with no_grad():
            for bucket in self._buckets:
                bucket.buffer().zero_()
                self._start(bucket)
        self._finish()


class _Shadow(JoinHook):
    """A process whose batches have ended, in the iterations of the others."""

    def __init__(self, model: DistributedDataParallel, divide_by_initial_world_size: bool) -> None:
        self._model = model
        model._divide_by_initial_world_size = divide_by_initial_world_size

    def main_hook(self) -> None:
        """One forward and backward pass of the others."""
        model = self._model
        averaging, with_buffers, source = model._agree(False, False, has_input=False)
        if with_buffers:
            model._take_over(list(model.module.buffers()), source)
        if averaging:
            model._average_nothing()

    def post_hook(self, is_last_joiner: bool) -> None:
        """All take over the module of one of those whose batches ended last."""
        model = self._model
        model._scale = 1.0
        last = make_tensor([model.process_group.rank() if is_last_joiner else -1], device=model.join_device)
        collectives.all_reduce(last, ReduceOp.MAX, model.process_group)
        model._take_over([*model.module.parameters(), *model.module.buffers()], int(last.item()))


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
