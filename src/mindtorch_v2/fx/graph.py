"""Graphs: lists of nodes that can be read, changed and written as Python code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ._codegen import CodeGen, PythonCode
from ._names import Namespace as _Namespace
from ._names import snake_case
from .node import Argument, Node, Target, map_arg, nodes_in

__all__ = ["CodeGen", "Graph", "PythonCode"]


class _node_list:
    """The nodes of a graph in order; reversed(...) goes backwards. Nodes may be inserted and erased while it is
    walked."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root, node = self.graph._root, getattr(self.graph._root, self.direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> Iterator[Node]:
        return iter(_node_list(self.graph, "_prev" if self.direction == "_next" else "_next"))


class _InsertPoint:
    """A block in which new nodes are put somewhere else."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph, self.insert = graph, insert
        self.before = graph._insert
        graph._insert = insert  # from the call on, as with a plain assignment; the block ends it

    def __enter__(self) -> None:
        self.graph._insert = self.insert

    def __exit__(self, *error: Any) -> None:
        self.graph._insert = self.before


class Graph:
    """A program as a list of nodes, in the order in which they run.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> out = graph.output(graph.call_function(torch.relu, (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(
        self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: dict[str, Any] | None = None
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._insert: Callable[[Node], None] = self._root.prepend
        self._graph_namespace = _Namespace()
        self._owning_module, self._tracer_cls, self._tracer_extras = owning_module, tracer_cls, tracer_extras
        self._codegen: CodeGen = CodeGen()

    @property
    def owning_module(self) -> Any:
        """The GraphModule whose graph this is, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> _node_list:
        """The nodes in order."""
        return _node_list(self)

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, and of a target where one is given."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node(self) -> Node:
        """The node of the output."""
        last = next(reversed(self.nodes), None)
        if last is None or last.op != "output":
            raise AssertionError(f"expected an output node at the end, found {last}")
        return last

    # --- making nodes
    # ---------------------------------------------------------------------------------------------------
    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node at the insertion point (the end, if nothing else was chosen)."""
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        for used in nodes_in((args, kwargs)):
            if used.graph is not self:
                raise RuntimeError(f"the node {used} belongs to another graph")
        made = Node(self, "", op, target, args, kwargs, type_expr)
        made.name = self._graph_namespace.create_name(name if name is not None else self._target_to_str(target), made)
        self._insert(made)
        self._len += 1
        return made

    def _target_to_str(self, target: Any) -> str:
        """What a node of the target is called, before the name is made unique."""
        if callable(target) and not isinstance(target, str):
            name = getattr(target, "__name__", None) or type(target).__name__
        else:
            name = str(target)
        if name.startswith("__") and name.endswith("__") and len(name) > 4:
            name = name[2:-2]
        return snake_case(name)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input, with a default value where one is given."""
        return self.create_node(
            "placeholder", name, () if default_value is ... else (default_value,), type_expr=type_expr
        )

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter or other attribute of the module, by its path."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of the submodule at a path."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """What the graph returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A copy of a node of another graph; `arg_transform` gives the node of this graph for one of the other."""
        made = self.create_node(
            node.op,
            node.target,
            map_arg(node.args, arg_transform),
            dict(map_arg(node.kwargs, arg_transform)),
            node.name,
            node.type,
        )
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copies all nodes of another graph but its output to the insertion point. Nodes in `val_map` are replaced;
        the others are added to it. Returns what the other graph's output says in terms of this one (with the output
        node, if asked for), or None."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    # --- changing
    # -------------------------------------------------------------------------------------------------------
    def erase_node(self, to_erase: Node) -> None:
        """Removes a node that nobody uses."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._set_inputs((), {})

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """A block in which new nodes stand before `n`, or at the beginning."""
        if n is None:
            return self.inserting_after(self._root)
        self._own(n)
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """A block in which new nodes stand after `n`, or at the end."""
        if n is None:
            return self.inserting_before(self._root)
        self._own(n)
        return _InsertPoint(self, _After(n))

    def _own(self, n: Node) -> None:
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Removes nodes whose values nobody uses and that do nothing else. Returns whether something was removed."""
        self.lint()
        impure = is_impure_node if is_impure_node is not None else Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not node.users and node.op not in ("placeholder", "output") and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    # --- code
    # -----------------------------------------------------------------------------------------------------------
    def set_codegen(self, codegen: CodeGen) -> None:
        """Chooses how the generated function begins and ends."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """The inputs of the placeholders, given those of the function."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The function's result, given that of the output node."""
        return self._codegen.process_outputs(out)

    def python_code(self, root_module: str, **options: Any) -> PythonCode:
        """The source of a function `forward` that does what the graph says; `root_module` is how it calls the module:
        "self"."""
        names = _Namespace()
        for node in self.nodes:
            names.create_name(node.name, node)
        return self._codegen._gen_python_code(self, root_module, names)

    @contextlib.contextmanager
    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Iterator[None]:
        """A block in which `make_transformer(current)` gives a function that changes the lines of generated code."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        try:
            yield
        finally:
            self._codegen._body_transformer = before

    def __str__(self) -> str:
        return "\n    ".join(["graph():", *(line for line in (node.format_node() for node in self.nodes) if line)])

    def print_tabular(self) -> None:
        """Prints the nodes as a table; with the package tabulate as PyTorch does, else in aligned columns."""
        rows = [
            [n.op, n.name, n._pretty_print_target(n.target) if n.op != "call_function" else n.target, n.args, n.kwargs]
            for n in self.nodes
        ]
        headers = ["opcode", "name", "target", "args", "kwargs"]
        try:
            from tabulate import tabulate
        except ModuleNotFoundError:
            print(_format_table([headers, *([str(cell) for cell in row] for row in rows)]))
        else:
            print(tabulate(rows, headers=headers))

    # --- checking
    # -------------------------------------------------------------------------------------------------------
    def lint(self) -> None:
        """Checks that every node stands after those that it uses, that names are unique and that the module has what
        is called."""
        from ._lint import lint

        lint(self)

    # --- copies
    # ---------------------------------------------------------------------------------------------------------
    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        from ._copies import deep_copy

        return deep_copy(self, {} if memo is None else memo)

    def __reduce__(self) -> Any:
        from ._copies import reduce_graph

        return reduce_graph(self)


class _After:
    """Puts nodes after a node, each after the one before it."""

    def __init__(self, node: Node) -> None:
        self.last = node

    def __call__(self, node: Node) -> None:
        self.last.append(node)
        self.last = node


def _format_table(rows: list[list[str]]) -> str:
    """A table with columns as wide as their widest cell, and a line under the headers."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rows.insert(1, ["-" * w for w in widths])
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows)
