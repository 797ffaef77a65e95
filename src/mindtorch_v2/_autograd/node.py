"""Nodes of the graph of derivatives, their edges, and what they save.

An edge says where a gradient goes: a Node with one output, a Slot of a node with several, a leaf Tensor (its
gradient is accumulated there), or None. Leaves stand for themselves, so that a parameter and the graphs that use it
form no cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .. import _dtype as dt
from .._dispatch import modes
from .._dispatch.checks import type_word
from .._keys import CPU, GRAD
from .._storage import native
from .._tensor import Parameter, Tensor, shallow_alias

state = modes.state
_FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


if TYPE_CHECKING or native is None:

    class NodeFields:
        """What every node holds; with the native core they are fields of a C struct."""

        next: tuple[Any, ...] = ()  # edges, one per differentiable input
        saved: tuple[Any, ...] | None = ()
        versions: tuple[int, ...] | None = None  # of the saved tensors; None means all zero
        seq: int = 0
        shape: tuple[int, ...] = ()  # of the output (nodes with several keep specs)
        dtype: dt.dtype = dt.float32
        forward_thread: int = 0
        hooked: bool = False  # whether anything but `apply` has to happen when the node runs
else:
    NodeFields = native.NodeFields


class Node(NodeFields):
    """One step of a backward pass. Subclasses are made from derivative rows; `apply` maps output to input gradients."""

    specs: Any = None  # (shape, dtype, key) of each output, None for one output
    key: int = CPU
    device: Any = None
    counts: tuple[int, ...] = ()  # how many edges each input of a list-taking op has
    saved_names: tuple[str, ...] = ()
    pre_hooks: Any = None  # nr -> list of hooks on that output's gradient
    retains: Any = None  # nr -> weakref of the tensor that wants its gradient
    node_pre_hooks: Any = None  # hooks on all output gradients (register_prehook)
    post_hooks: Any = None  # hooks on (input gradients, output gradients)
    trace: Any = None  # forward traceback in anomaly mode
    saves_result: bool = False  # whether an output is among the saved values
    metadata_store: Any = None

    def apply(self, g: Any) -> Any:
        raise NotImplementedError

    def release(self) -> None:
        """Drops what was saved; a second pass over a node that needs it is an error."""
        if self.saved:
            self.saved = None

    def name(self) -> str:
        return type(self).__name__

    def output_of(self, index: int) -> int:
        """Which output the saved value at an index is; -1 for an input."""
        name = self.saved_names[index]
        return int(name[6:] or 0) if name in self.derivative.results else -1

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return tuple(_public_edge(e) for e in self.next)

    @property
    def metadata(self) -> dict[Any, Any]:
        if self.metadata_store is None:
            self.metadata_store = {}
        return self.metadata_store

    def register_hook(self, hook: Any) -> Any:
        """Calls `hook(grad_inputs, grad_outputs)` after the node has run."""
        return _add_hook(self, "post_hooks", hook)

    def register_prehook(self, hook: Any) -> Any:
        """Calls `hook(grad_outputs)` before the node runs."""
        return _add_hook(self, "node_pre_hooks", hook)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_") and name[7:] in self.saved_names:
            return unpack(self)[self.saved_names.index(name[7:])]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


def _add_hook(node: Node, field: str, hook: Any) -> Any:
    from .hooks import RemovableHandle

    node.hooked = True
    hooks = getattr(node, field)
    if hooks is None:
        hooks = {}
        setattr(node, field, hooks)
    return RemovableHandle.add(hooks, hook)


class Slot:
    """One output of a node that has several."""

    __slots__ = ("node", "nr")

    def __init__(self, node: Node, nr: int) -> None:
        self.node, self.nr = node, nr


class AccumulateGrad(Node):
    """What stands for a leaf in `next_functions`; the engine itself accumulates into the tensor."""

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def apply(self, g: Any) -> Any:
        from .accumulate import accumulate

        accumulate(self.variable, g, modes.grad_enabled())
        return ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return hash(id(self.variable))


def _public_edge(edge: Any) -> tuple[Any, int]:
    if edge is None:
        return None, 0
    if isinstance(edge, Tensor):
        return AccumulateGrad(edge), 0
    return (edge.node, edge.nr) if edge.__class__ is Slot else (edge, 0)


def edge_of(t: Tensor) -> Any:
    """Where the gradient of `t` goes; None if it needs none."""
    if t._base is not None:
        return view_edge(t)
    return t._edge or (t if t._keys & GRAD else None)


def view_edge(t: Tensor) -> Any:
    """The edge of a view. If its base was written in place since, the view's history is made anew from the base's."""
    base, storage = t._base, t._storage
    if base is not None and storage is not None and storage.version != t._view_version and base._edge is not None:
        from .inplace import regenerate_view

        regenerate_view(t, base)
    return t._edge or (t if t._keys & GRAD else None)


def node_and_nr(t: Tensor) -> tuple[Any, int]:
    """The node that made a non-leaf tensor, and which of its outputs the tensor is."""
    edge = edge_of(t)
    return (edge.node, edge.nr) if edge.__class__ is Slot else (edge, 0)


def versions_of(saved: Iterable[Any]) -> tuple[int, ...]:
    """The present versions of saved values; 0 for what is not a tensor."""
    return tuple([v._storage.version if isinstance(v, Tensor) and v._storage is not None else 0 for v in saved])


class Packed:
    """A saved tensor that went through a pack hook. `edge` is its link to the graph, which unpacking restores."""

    __slots__ = ("value", "hook", "edge")

    def __init__(self, value: Any, hook: Any, edge: Any) -> None:
        self.value, self.hook, self.edge = value, hook, edge

    def unpack(self) -> Any:
        out = self.hook(self.value)
        if self.edge is None or not isinstance(out, Tensor) or not state.grad or out._keys & GRAD:
            return out
        out = shallow_alias(out)
        out._edge, out._keys = self.edge, out._keys | GRAD
        return out


def unpack(node: Node) -> tuple[Any, ...]:
    """The saved values, checked for in-place changes since they were saved."""
    saved = node.saved
    if saved is None:
        raise RuntimeError(_FREED)
    versions = node.versions
    i = 0
    for v in saved:
        kind = v.__class__
        if kind is Tensor or kind is Parameter:
            storage = v._storage
            if storage is not None and storage.version != (0 if versions is None else versions[i]):
                raise _version_error(node, i, storage.version, 0 if versions is None else versions[i])
        elif kind is Packed:
            return _unpack_packed(node, saved)
        i += 1  # noqa: SIM113 - this runs for every node of every pass
    if node.saves_result and state.grad:
        return tuple(
            [
                _output_again(node, v, n) if n.startswith("result") and isinstance(v, Tensor) else v
                for v, n in zip(saved, node.saved_names)
            ]
        )
    return saved


saved_of: Callable[[Node], tuple[Any, ...]] = unpack  # the same, where no output needs its history back
if native is not None:
    native.setup_saved(unpack, Packed)
    saved_of = native.node_saved


def _unpack_packed(node: Node, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    made = [v.unpack() if v.__class__ is Packed else v for v in saved]
    if node.saves_result and state.grad:
        made = [
            _output_again(node, v, n) if n.startswith("result") and isinstance(v, Tensor) else v
            for v, n in zip(made, node.saved_names)
        ]
    return tuple(made)


def _output_again(node: Node, alias: Tensor, name: str) -> Tensor:
    """A saved output with its edge restored, for second derivatives."""
    nr = int(name[6:] or 0)
    if not alias.dtype.inexact or nr in node.derivative.constant:
        return alias
    out = shallow_alias(alias)
    out._edge = node if node.specs is None else Slot(node, nr)
    out._keys |= GRAD
    return out


def function_name(node: Node) -> str:
    """What errors call the function that a node differentiates: `Exp` for ExpBackward0."""
    return node.name().partition("Backward")[0]


def _version_error(node: Node, index: int, now: int, expected: int) -> RuntimeError:
    t = node.saved[index] if node.saved else None
    assert isinstance(t, Tensor)
    word = f"torch.{type_word(t.dtype)}Tensor"
    made = ""
    nr = node.output_of(index)
    if t._edge is not None:
        where, nr = node_and_nr(t)
        made = f", which is output {nr} of {function_name(where)},"
    elif nr >= 0:
        made = f", which is output {nr} of {function_name(node)},"
    return RuntimeError(
        f"one of the variables needed for gradient computation has been modified by an inplace operation: [{word} "
        f"{list(t._array.shape)}]{made} is at version {now}; expected version {expected} instead. Hint: enable anomaly "
        "detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
