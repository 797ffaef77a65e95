"""Nodes: the operations of a graph, linked in the order in which they run."""

from __future__ import annotations

import builtins
import operator
import types
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _dtype as dt
from .._device import device
from .._tensor import layout, memory_format
from ._names import qualified_name
from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Argument", "Node", "Target", "base_types", "has_side_effect", "map_aggregate", "map_arg"]

Target = Callable[..., Any] | str
Argument = Any
base_types = (
    str,
    int,
    float,
    bool,
    complex,
    dt.dtype,
    device,
    memory_format,
    layout,
    type(None),
    type(Ellipsis),
    range,
)

OPCODES = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_side_effectful_functions: set[Any] = set()


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function whose calls must not be removed as dead code. Returns the function."""
    _side_effectful_functions.add(fn)
    return fn


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """The argument with every node in it replaced by `fn(node)`."""
    if not callable(fn):
        raise AssertionError(f"torch.fx.map_arg(a, fn): fn must be a callable, got {type(fn)}")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """The argument with every leaf of its tuples, lists, dicts and slices replaced by `fn(leaf)`."""
    if isinstance(a, tuple):
        parts = tuple([map_aggregate(x, fn) for x in a])
        return parts if not hasattr(a, "_fields") else type(a)(*parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict((k, map_aggregate(v, fn)) for k, v in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def _type_repr(obj: Any) -> str:
    """How a type is written in generated code."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return f"{_torch_name(obj.__module__)}.{obj.__qualname__}" if obj.__name__ != "Tensor" else "torch.Tensor"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj).replace(f"{_PACKAGE}.", "torch.").replace("torch._tensor.", "torch.")


_PACKAGE = __name__.partition(".")[0]


def _torch_name(module: str) -> str:
    """A module of this package by its name in torch."""
    head, dot, rest = module.partition(".")
    return f"torch{dot}{rest}" if head == _PACKAGE else module


def _format_arg(arg: Any) -> str:
    """An argument of a node in the text of a graph: nodes as %name."""
    if isinstance(arg, list):
        return f"[{', '.join(map(_format_arg, arg))}]"
    if isinstance(arg, tuple):
        return f"({', '.join(map(_format_arg, arg))}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """One operation of a graph.

    op       "placeholder": an input; `target` is the argument's name, `args` its default, if any.
             "get_attr": a parameter or other attribute of the module, `target` its path.
             "call_function": `target(*args, **kwargs)`.
             "call_module": the submodule at the path `target`, called with the arguments.
             "call_method": the method `target` of `args[0]`, called with the others.
             "output": `args[0]` is what the graph returns.
    name     under which the value is known in the generated code, unique in its graph.
    args, kwargs  arguments: nodes, constants, and tuples, lists, dicts and slices of them. They are assigned as a
    whole. users    the nodes that use this one, as keys, in order.
    type     the annotation of the value, or None. meta: a dict for passes.
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        return_type: Any = None,
    ) -> None:
        if op not in OPCODES:
            raise AssertionError(f"expected one of {', '.join(OPCODES)}, got {op!r}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a Callable "
                    "is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a str is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._set_inputs(args, kwargs)
        self._prev: Node = self
        self._next: Node = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self.meta: dict[str, Any] = {}

    # --- links
    # ----------------------------------------------------------------------------------------------------------
    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    def prepend(self, x: Node) -> None:
        """Moves (or inserts) the node `x` before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        x._erased = False

    def append(self, x: Node) -> None:
        """Moves (or inserts) the node `x` after this one."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    # --- arguments
    # ------------------------------------------------------------------------------------------------------
    @property
    def args(self) -> tuple[Any, ...]:
        """Positional arguments."""
        return self._args

    @args.setter
    def args(self, a: tuple[Any, ...]) -> None:
        self._set_inputs(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """Keyword arguments."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Any]) -> None:
        self._set_inputs(self._args, k)

    def _set_inputs(self, args: Any, kwargs: Any) -> None:
        """Takes new arguments, and tells the nodes that are used no longer and now."""
        if not isinstance(args, (tuple, list)):
            raise AssertionError(f"expected a tuple of arguments, got {type(args)}")
        for used in self._input_nodes:
            used.users.pop(self, None)
        self._input_nodes = {}

        def use(node: Node) -> Node:
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args = tuple(map_arg(tuple(args), use))
        self._kwargs = map_arg(dict(kwargs), use)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes that this one uses, each once, in order."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replaces one positional argument."""
        changed = list(self._args)
        changed[idx] = arg
        self.args = tuple(changed)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Inserts a positional argument before position `idx`."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Sets one keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Uses another node wherever `old_input` is used as an argument."""

        def swap(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set_inputs(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """All users for which `delete_user_cb` is True use the other node instead; returns those users."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already "
                    "has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # --- facts
    # ----------------------------------------------------------------------------------------------------------
    @property
    def stack_trace(self) -> str | None:
        """Where the program asked for the operation, if the tracer recorded it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node does something besides giving a value: then it is not removed although nobody uses it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            name = getattr(self.target, "__name__", "")
            writes = name.endswith("_") and not name.endswith("__")
            return (
                self.target in _side_effectful_functions
                or self.target in (operator.setitem, builtins.setattr)
                or writes
                or "out" in self._kwargs
            )
        if self.op == "call_method":
            name = str(self.target)
            return name.endswith("_") and not name.endswith("__")
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return bool(getattr(owner.get_submodule(str(self.target)), "_is_impure", False))
        return False

    def normalized_arguments(
        self, root: Any, arg_types: Any = None, kwarg_types: Any = None, normalize_to_only_use_kwargs: bool = False
    ) -> Any:
        """The arguments as the target's signature names them (args, kwargs), or None where there is no signature to
        read."""
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function" and not isinstance(self.target, str):
            return normalize_function(
                self.target, self._args, self._kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return normalize_module(root, str(self.target), self._args, self._kwargs, normalize_to_only_use_kwargs)
        return None

    # --- text
    # -----------------------------------------------------------------------------------------------------------
    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", "") == "_operator":
            return f"operator.{target.__name__}"
        return qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The line of this node in the text of its graph.

        With lists given, the graph's header is collected in them: a placeholder adds its name, the output its type,
        and only others give a line.
        """
        kind = f"{_type_repr(self.type)} " if self.type is not None else ""
        target = self._pretty_print_target(self.target)
        start = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={target}]"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"{self.target}{f' : {kind.strip()}' if kind else ''}")
                return None
            return start + (f"(default={self._args[0]})" if self._args else "")
        if self.op == "get_attr":
            return start
        if self.op == "output":
            if self.type is not None and maybe_return_typename is not None:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self._args[0]}"
        return f"{start}(args = {_format_arg(self._args)}, kwargs = {_format_arg(self._kwargs)})"

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn is not None else self.name

    def _rename(self, candidate: str) -> None:
        """Takes another name, made unique."""
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    def __lt__(self, other: Node) -> bool:
        return self._position() < other._position()

    def __gt__(self, other: Node) -> bool:
        return self._position() > other._position()

    def _position(self) -> int:
        return next(i for i, node in enumerate(self.graph.nodes) if node is self)


def nodes_in(arg: Any) -> Iterable[Node]:
    """The nodes in an argument."""
    found: list[Node] = []
    map_arg(arg, lambda node: found.append(node) or node)  # type: ignore[func-returns-value]
    return found
