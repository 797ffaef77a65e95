"""Programs as graphs: tracing a module or function, changing its graph, and code made from the graph.

>>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
>>> [node.op for node in traced.graph.nodes]
['placeholder', 'call_function', 'call_function', 'output']
"""

from __future__ import annotations

from .._lazy_parts import lazy_parts as _lazy_parts
from . import immutable_collections
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "immutable_collections",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]


__getattr__, __dir__ = _lazy_parts(
    __name__, ("_compatibility", "_pytree", "experimental", "operator_schemas", "passes", "traceback")
)
