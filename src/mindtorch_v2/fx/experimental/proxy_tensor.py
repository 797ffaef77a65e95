"""Tracing below autograd: `make_fx` runs a function and writes down the operators that it calls, also those of its
derivatives.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

from ..._dispatch import aten
from ..._tensor import Parameter, Tensor
from ...nn.modules.module import Module
from ...utils._python_dispatch import TorchDispatchMode
from ...utils._pytree import tree_map
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["get_proxy_mode", "make_fx"]
_running: list[_ProxyMode] = []


def get_proxy_mode() -> Any:
    """The mode that traces operators of the running program; None where nothing is traced."""
    return _running[-1] if _running else None


def _memory(tensor: Tensor) -> tuple[Any, ...]:
    """What two tensors have in common that are the same values: autograd keeps results as other objects."""
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype


class _ProxyMode(TorchDispatchMode):
    """Runs operators and adds a node for each. Tensors of the run are kept, so that no address comes twice."""

    def __init__(self, decompositions: dict[Any, Callable[..., Any]]) -> None:
        super().__init__()
        self.graph, self.root = Graph(), Module()
        self._decompositions = decompositions
        self._nodes: dict[int, Node] = {}
        self._by_memory: dict[Any, Node] = {}
        self._kept: list[Tensor] = []
        self._constants = {"param": 0, "tensor": 0}

    def note(self, tensor: Tensor, node: Node) -> None:
        """From now on the tensor is what the node computes."""
        self._nodes[id(tensor)] = node
        if tensor.device.type != "meta" and tensor.numel():
            self._by_memory[_memory(tensor)] = node
        self._kept.append(tensor)
        size, stride = tuple(tensor.shape), tensor.stride()
        node.meta["val"] = aten.empty_strided(size, stride, dtype=tensor.dtype, device="meta")

    def value(self, value: Any) -> Any:
        """An argument as the graph has it: a node for a tensor."""
        if not isinstance(value, Tensor):
            return value
        node = self._nodes.get(id(value))
        if node is None and value.device.type != "meta" and value.numel():
            node = self._by_memory.get(_memory(value))
        return self._constant(value) if node is None else node

    def _constant(self, tensor: Tensor) -> Node:
        """A tensor that comes from outside becomes an attribute of the module."""
        kind = "param" if isinstance(tensor, Parameter) else "tensor"
        name = f"_{kind}_constant{self._constants[kind]}"
        self._constants[kind] += 1
        if isinstance(tensor, Parameter):
            self.root.register_parameter(name, tensor)
        else:
            self.root.register_buffer(name, tensor)
        node = self.graph.get_attr(name)
        self.note(tensor, node)
        return node

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in self._decompositions:
            with self:
                answer = self._decompositions[func](*args, **kwargs)
            if answer is not NotImplemented:
                return answer
        given, keywords = tree_map(self.value, (tuple(args), kwargs))
        made = func(*args, **kwargs)
        name = self.graph._target_to_str(str(func.__name__).partition(".")[0])
        node = self.graph.create_node("call_function", func, given, keywords, name)
        if isinstance(made, Tensor):
            self.note(made, node)
        elif isinstance(made, (tuple, list)):
            for position, item in enumerate(made):
                if isinstance(item, Tensor):
                    self.note(item, self.graph.call_function(operator.getitem, (node, position)))
        return made


def _drop_unused(graph: Graph) -> None:
    """Takes out what nobody needs; an operator that writes into its arguments is needed."""
    for node in reversed(list(graph.nodes)):
        name = str(getattr(node.target, "__name__", "")).partition(".")[0]
        writes = name.endswith("_") and not name.endswith("__")
        if node.op in ("call_function", "get_attr") and not node.users and not writes:
            graph.erase_node(node)


def _names(f: Callable[..., Any], count: int) -> list[str]:
    """Names of placeholders: the function's parameters."""
    try:
        found = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        found = []
    plain = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [f"{plain[n] if n < len(plain) else f'arg{n}'}_1" for n in range(count)]


def make_fx(
    f: Callable[..., Any],
    decomposition_table: dict[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
) -> Callable[..., GraphModule]:
    """A function that runs `f` on its arguments and gives a GraphModule of the operators that ran.

    Arguments are tensors, or plain values, which the graph then holds fixed. Sizes and branches are those of this run.
    Tensors from outside become attributes. "fake" traces as "real" does; "symbolic" is refused: sizes are numbers.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
    >>> traced = make_fx(lambda x: x.sin() + 1)(torch.zeros(2))
    >>> [str(node.target) for node in traced.graph.nodes]
    ['x_1', 'aten.sin.default', 'aten.add.Tensor', 'output']
    >>> traced(torch.zeros(2))
    tensor([1., 1.])
    """
    if tracing_mode not in ("real", "fake"):
        raise NotImplementedError(f"make_fx(tracing_mode={tracing_mode!r}): sizes are numbers here; use 'real'")
    if pre_dispatch:
        raise NotImplementedError("make_fx(pre_dispatch=True): operators are traced below autograd only")

    def trace(*args: Any) -> GraphModule:
        mode = _ProxyMode(dict(decomposition_table or {}))
        for name, value in zip(_names(f, len(args)), args):
            if isinstance(value, (list, tuple, dict)):
                raise NotImplementedError(
                    f"make_fx: arguments are tensors and plain values, {name[:-2]} is a container"
                )
            node = mode.graph.placeholder(name)
            if isinstance(value, Tensor):
                mode.note(value, node)
        _running.append(mode)
        try:
            with mode:
                result = f(*args)
        finally:
            _running.pop()
        mode.graph.output(tree_map(mode.value, result))
        _drop_unused(mode.graph)
        return GraphModule(mode.root, mode.graph, getattr(f, "__name__", type(f).__name__))

    return trace
