"""The backward pass: nodes run in the reverse order of their creation, each when all its gradients have arrived."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from sys import getrefcount
from typing import Any

from .. import _observer
from .._dispatch import aten, modes
from .._dispatch.overrides import DisableTorchFunctionSubclass
from .._observer import NODE_PREFIX
from .._storage import native as _native
from .._tensor import Parameter, Tensor
from .accumulate import SOLE_LOCAL, accumulate
from .conform import add_gradients, conform
from .evaluate import apply_observed, apply_post_hooks, apply_pre_hooks, names_of, run_hooked
from .function import CustomNode
from .hooks import run_hooks
from .node import Node, Slot, edge_of

_LEAF_PRIORITY = -(1 << 62)  # leaves run as soon as they are ready
_ACCUMULATE = "torch::autograd::AccumulateGrad"
_EVALUATE_LEAF = NODE_PREFIX + _ACCUMULATE


def target_of(edge: Any) -> Any:
    return edge.node if edge.__class__ is Slot else edge


class Pass:
    """One backward pass. `captures` maps (target, output nr) to the index of a wanted input gradient."""

    __slots__ = (
        "keep",
        "create",
        "captures",
        "capture_only",
        "captured",
        "waiting",
        "buffers",
        "heap",
        "order",
        "needed",
    )

    def __init__(
        self, keep_graph: bool, create_graph: bool, captures: dict[tuple[Any, int], int], capture_only: bool
    ) -> None:
        self.keep, self.create = keep_graph, create_graph
        self.captures, self.capture_only = captures, capture_only
        self.captured: dict[int, Tensor] = {}
        self.waiting: dict[Any, int] = {}  # target -> gradients still to come
        self.buffers: dict[Any, Any] = {}  # target -> gradient, or a list for nodes with several outputs
        self.heap: list[tuple[int, int, Any]] = []
        self.order = 0
        self.needed: set[Any] | None = None

    # --- preparation --------------------------------------------------------------------------------------------------
    def count(self, roots: Sequence[Any]) -> None:
        """Counts how many gradients each target will receive."""
        waiting = self.waiting
        stack = [r for r in (roots if len(roots) == 1 else dict.fromkeys(roots)) if not isinstance(r, Tensor)]
        seen = set(stack)
        while stack:
            for edge in stack.pop().next:
                if edge is None:
                    continue
                target = edge.node if edge.__class__ is Slot else edge
                if target in waiting:
                    waiting[target] += 1
                    continue
                waiting[target] = 1
                kind = target.__class__
                if (
                    kind is not Tensor
                    and kind is not Parameter
                    and target not in seen
                    and not isinstance(target, Tensor)
                ):
                    stack.append(target)

    def restrict(self, roots: Sequence[Any]) -> None:
        """Finds the targets that lie on a way to a wanted input; all others are skipped."""
        wanted = {t for t, _ in self.captures}
        needed: set[Any] = set(wanted)
        state: dict[Any, int] = {}
        stack: list[tuple[Any, bool]] = [(r, False) for r in roots]
        while stack:
            target, done = stack.pop()
            if done:
                if any(target_of(e) in needed for e in target.next if e is not None):
                    needed.add(target)
                continue
            if target in state or isinstance(target, Tensor):
                continue
            state[target] = 1
            stack.append((target, True))
            stack.extend((target_of(e), False) for e in target.next if e is not None)
        self.needed = needed

    # --- gradients on their way ---------------------------------------------------------------------------------------
    def deliver(self, edge: Any, grad: Tensor) -> None:
        """Adds a gradient to what its target has received."""
        buffers = self.buffers
        if edge.__class__ is Slot:
            node, nr = edge.node, edge.nr
            slots = buffers.get(node)
            if slots is None:
                slots = buffers[node] = [None] * len(node.specs)
            slots[nr] = grad if slots[nr] is None else self.sum(slots[nr], grad)
            return
        if edge in buffers:
            old = buffers.pop(edge)
            sole = getrefcount(old) <= SOLE_LOCAL
            buffers[edge] = self.sum(old, grad, sole)
        else:
            buffers[edge] = grad

    def sum(self, old: Tensor, new: Tensor, sole: bool = False) -> Tensor:
        return add_gradients(old, new, self.create, sole)

    def ready(self, target: Any) -> None:
        self.order += 1
        seq = _LEAF_PRIORITY if isinstance(target, Tensor) else -target.seq
        heappush(self.heap, (seq, self.order, target))

    def note_arrival(self, edge: Any) -> None:
        """Notes that one awaited gradient (or its absence) is settled."""
        target = edge.node if edge.__class__ is Slot else edge
        waiting = self.waiting
        left = waiting[target] = waiting[target] - 1
        if left == 0:
            self.ready(target)

    # --- running ------------------------------------------------------------------------------------------------------
    def run(self) -> None:
        heap, buffers, needed = self.heap, self.buffers, self.needed
        while heap:
            target = heappop(heap)[2]
            if needed is not None and target not in needed:
                continue
            observer = _observer.active
            if isinstance(target, Tensor):
                if target in buffers:
                    self.run_leaf(target, observer)
            elif target in buffers:
                self.run_node(target, observer)
            else:
                for edge in target.next:
                    if edge is not None:
                        self.note_arrival(edge)

    def run_node(self, node: Node, observer: Any) -> None:
        if observer is None:
            self.evaluate(node, None)
            return
        hooked = node.pre_hooks or node.retains
        observer.enter_node(names_of(node)[0], -1 if hooked else node.seq, node.forward_thread, (), False)
        try:
            self.evaluate(node, observer)
        finally:
            observer.leave()

    def run_leaf(self, leaf: Tensor, observer: Any) -> None:
        grad = self.buffers.pop(leaf)
        if observer is None:
            if leaf._hooks:
                grad = run_hooks(leaf._hooks, grad)
            sole = getrefcount(grad) <= SOLE_LOCAL
            self.finish_leaf(leaf, grad, sole)
            return
        observer.enter_node(_EVALUATE_LEAF, -1, 0, (), False)
        try:
            if leaf._hooks:
                grad = run_hooks(leaf._hooks, grad)
            where = self.captures.get((leaf, 0))
            if where is not None and self.capture_only:
                self.captured[where] = grad
                return
            sole = getrefcount(grad) <= SOLE_LOCAL
            observer.enter_node(_ACCUMULATE, -1, 0, (grad,), True)
            try:
                accumulate(leaf, grad, self.create, sole)
            finally:
                observer.leave()
        finally:
            observer.leave()

    def finish_leaf(self, leaf: Tensor, grad: Tensor, sole: bool) -> None:
        where = self.captures.get((leaf, 0)) if self.captures else None
        if where is not None and self.capture_only:
            self.captured[where] = grad
        else:
            accumulate(leaf, grad, self.create, sole)

    def evaluate(self, node: Node, observer: Any) -> None:
        g = self.buffers.pop(node)
        if node.pre_hooks or node.retains or node.node_pre_hooks:
            g = apply_pre_hooks(node, g)
        if self.captures and self.capture(node, g):
            for edge in node.next:
                if edge is not None:
                    self.note_arrival(edge)
            return
        grads = apply_observed(node, g, observer)
        if node.post_hooks:
            grads = apply_post_hooks(node, grads, g)
        if not self.keep:
            node.release()
        del g
        grads = list(grads)
        for i, edge in enumerate(node.next):
            if edge is None:
                continue
            grad = grads[i]
            grads[i] = None
            if grad is not None:
                self.deliver(edge, conform(node, i, edge, grad))
                del grad
            self.note_arrival(edge)

    def capture(self, node: Node, g: Any) -> bool:
        """Takes wanted gradients of this node's outputs; True if no node that it leads to is wanted."""
        found = False
        for nr in range(1 if node.specs is None else len(node.specs)):
            where = self.captures.get((node, nr))
            if where is not None:
                found = True
                grad = g[nr] if g.__class__ is list else g
                if grad is not None:
                    self.captured[where] = grad
        if not found or self.needed is None:
            return False
        return not any(e is not None and target_of(e) in self.needed for e in node.next)


def run_backward(
    tensors: Sequence[Tensor],
    grads: Sequence[Tensor],
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Tensor] = (),
    capture_only: bool = False,
) -> list[Tensor | None]:
    """Runs a backward pass from `tensors`. With `inputs`, only what leads to them is computed; with `capture_only`
    their gradients are returned (None where unused) instead of accumulated.
    """
    # gradients are plain tensors, whatever the graph saved
    if modes.SPACE["_overridden"] and not modes.state.subclasses_are_plain:
        return DisableTorchFunctionSubclass().run(
            run_backward, tensors, grads, keep_graph, create_graph, inputs, capture_only
        )
    state = modes.state
    outer, callbacks = state.after_pass, list[Any]()
    try:
        state.after_pass = callbacks
        if len(tensors) == 1 and not inputs and _native is not None and not state.anomaly:
            only = list(grads)
            del grads
            edge = edge_of(tensors[0])
            modes.call_with_grad(create_graph, _native.run_backward, edge, only, keep_graph, create_graph)
            found: list[Tensor | None] = []
        else:
            found = _run_general(tensors, grads, keep_graph, create_graph, inputs, capture_only)
        for callback in callbacks:  # one may bring others
            callback()
    finally:
        state.after_pass = outer
    return found


def queue_callback(callback: Any) -> None:
    """Has `callback()` called when the backward pass that runs on this thread ends without an error."""
    if modes.state.after_pass is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    modes.state.after_pass.append(callback)


def _run_general(
    tensors: Sequence[Tensor],
    grads: Sequence[Tensor],
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Tensor],
    capture_only: bool,
) -> list[Tensor | None]:
    roots = [edge_of(t) for t in tensors]
    captures: dict[tuple[Any, int], int] = {}
    for i, t in enumerate(inputs):
        edge = edge_of(t)
        captures[(edge.node, edge.nr) if edge.__class__ is Slot else (edge, 0)] = i
    work = Pass(keep_graph, create_graph, captures, capture_only)
    targets = [target_of(r) for r in roots]
    work.count(targets)
    if inputs:
        work.restrict(targets)
    modes.call_with_grad(create_graph, _run_pass, work, roots, list(grads), targets)
    return _collect(work, inputs, capture_only)


def _run_pass(work: Pass, roots: list[Any], grads: list[Tensor], targets: list[Any]) -> None:
    """Takes the gradients out of `grads`, so that nothing but the pass holds them."""
    for root in roots:
        work.deliver(root, grads.pop(0))
    for target in dict.fromkeys(targets):
        if not work.waiting.get(target):
            work.ready(target)
    work.run()


def _collect(work: Pass, inputs: Sequence[Tensor], capture_only: bool) -> list[Tensor | None]:
    found: list[Tensor | None] = []
    for t in inputs:
        edge = edge_of(t)
        grad = work.captured.get(work.captures[(edge.node, edge.nr) if edge.__class__ is Slot else (edge, 0)])
        found.append(grad)
        if grad is not None and not capture_only:
            t._grad = grad if t._grad is None else aten.add(t._grad, grad)
    return found


if _native is not None:
    _native.configure_engine(
        Tensor,
        Slot,
        accumulate,
        conform,
        add_gradients,
        run_hooked,
        names_of,
        vars(_observer),
        aten,
        CustomNode,
        run_hooks,
    )
