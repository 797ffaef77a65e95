"""Running graphs node by node, and rewriting them while doing so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._codegen import last_uses_of
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, Target, map_aggregate, map_arg
from .proxy import Proxy
from .traceback import preserve_node_meta, set_current_meta

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a GraphModule one node after another. Subclasses override what happens for a kind of node:
    `call_function(target, args, kwargs)`, `call_method`, `call_module`, `get_attr`, `placeholder`, `output`, or for
    all of them: `run_node(node)`.

        >>> class Swap(torch.fx.Interpreter):
        ...     def call_function(self, target, args, kwargs):
        ...         return super().call_function(torch.neg if target is torch.relu else target, args, kwargs)
        >>> Swap(torch.fx.symbolic_trace(lambda x: torch.relu(x))).run(torch.ones(2))
        tensor([-1., -1.])
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Iterator[Any] = iter(())
        self.user_to_last_uses = last_uses_of(self.graph) if garbage_collect_values else {}

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """What the graph gives for the arguments. Nodes in `initial_env` are not run: they have the values there."""
        self.env = {} if initial_env is None else dict(initial_env)
        given = self.graph.process_inputs(*args) if enable_io_processing else args
        self.args_iter = iter(given)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    self._explain(error, node)
                raise
            if self.garbage_collect_values:
                for done in self.user_to_last_uses.get(node, []):
                    self.env.pop(done, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    @staticmethod
    def _explain(error: Exception, node: Node) -> None:
        """Adds to an error's message which node failed, and where the program asked for it."""
        text = f"While executing {node.format_node()}"
        text = f"{error.args[0]}\n\n{text}" if error.args else str(text)
        text += f"\nOriginal traceback:\n{node.stack_trace}"
        if isinstance(error, KeyError):
            error.args = (text,)
        else:
            error.args = (text, *error.args[1:])

    def boxed_run(self, args_list: list[Any]) -> Any:
        """The same for a list of arguments, which is emptied so that they can be freed while the graph runs."""
        names = [n for n in self.graph.nodes if n.op == "placeholder"]
        if len(names) != len(args_list):
            raise AssertionError(f"expected {len(names)} arguments, got {len(args_list)}")
        env = dict(zip(names, args_list))
        args_list.clear()
        return self.run(initial_env=env)

    def run_node(self, n: Node) -> Any:
        """The value of one node."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def _set_current_node(self, node: Node) -> Any:
        return set_current_meta(node)

    # --- kinds of nodes
    # -------------------------------------------------------------------------------------------------
    def placeholder(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument, or the default value."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute of the module, by its path."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a method of the first argument."""
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the graph gives."""
        return args[0]

    # --- values
    # ---------------------------------------------------------------------------------------------------------
    def fetch_attr(self, target: str) -> Any:
        """What stands at a path of the module."""
        found: Any = self.module
        parts = target.split(".")
        for i, part in enumerate(parts):
            if not hasattr(found, part):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), dict(self.map_nodes_to_values(n.kwargs, n))

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Arguments with the values of the nodes in them."""

        def load(used: Node) -> Any:
            if used not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {used}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[used]

        return _mutable(map_arg(args, load))


def _mutable(value: Any) -> Any:
    """Plain lists and dicts instead of those that cannot be changed: functions get what the program would have
    given them."""
    if isinstance(value, tuple) and not hasattr(value, "_fields") and type(value) is tuple:
        return tuple([_mutable(v) for v in value])
    if type(value).__name__ == "immutable_list":
        return [_mutable(v) for v in value]
    if type(value).__name__ == "immutable_dict":
        return {k: _mutable(v) for k, v in value.items()}
    return value


class Transformer(Interpreter):
    """Runs a graph on proxies and gives the graph of what happened: overriding a method changes what becomes of its
    nodes."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)
        from ._symbolic_trace import Tracer

        class TransformerTracer(Tracer):
            """Adds nodes to the new graph; every module is a leaf."""

            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph

            def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
                return True

        self.tracer: Any = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(str(target), default_value=default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.call_module(self.fetch_attr(target), self.fetch_attr(target).forward, args, kwargs)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module with the new graph."""
        with preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            made = self.new_graph.output(map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a))
            old = next((n for n in self.graph.nodes if n.op == "output"), None)
            if old is not None:
                made.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)
