"""Proxies: values that a traced program computes with, which write down what happens to them as nodes."""

from __future__ import annotations

import dataclasses
import dis
import operator
import sys
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from .._dispatch.packets import OpOverload, OpOverloadPacket
from .._tensor import Tensor
from .graph import Graph
from .node import Node, Target, base_types, map_aggregate

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]

# Operators of Python on a proxy, by the method that Python calls; those with a reflected form.
_BINARY = ("add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "matmul")
_OTHER = ("eq", "ne", "lt", "gt", "le", "ge", "pos", "neg", "invert", "getitem", "abs")


# Own fields before __init__ ran, as while unpickling; and what operators read to tell tensors from other objects.
_NO_ATTRIBUTES = frozenset({"node", "tracer", "_keys", "_array", "_takes_ops", "_overrides"})


class TraceError(ValueError):
    """The program does something that depends on values, which are not known while it is traced."""


@dataclasses.dataclass
class Scope:
    """Where in the modules an operation happens: the path of the innermost module, and its class."""

    module_path: str
    module_type: Any


class ScopeContextManager:
    """A block in which a scope is another one."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope, self._before = scope, dataclasses.replace(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *error: Any) -> None:
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


class TracerBase:
    """Makes nodes and proxies for them. A tracer may say what happens where a program needs a value: `to_bool`,
    `iter`, `keys`."""

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: OrderedDict[str, Any]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node of the graph that is traced."""
        if kind == "call_function" and self.check_mutable_operations:
            self._check_not_mutable(target)
        made = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if hasattr(self, "node_name_to_scope"):
            self.node_name_to_scope[made.name] = (self.scope.module_path, self.scope.module_type)
        if getattr(self, "module_stack", None):
            made.meta["nn_module_stack"] = OrderedDict(self.module_stack)
        return made

    @staticmethod
    def _check_not_mutable(target: Any) -> None:
        name = getattr(target, "__name__", "")
        if name.endswith("_") and not name.endswith("__"):
            raise RuntimeError(
                f"Tried to trace mutable operation {name}. FX only supports functional code, so operations that mutate "
                "operands in-place (e.g. via `out` arguments) are not supported"
            )

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Any] | None = None,
    ) -> Any:
        """A node whose arguments may be proxies and values of the program, and its proxy."""
        made_args, made_kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, tuple(made_args), dict(made_kwargs), name, type_expr)
        if self.record_stack_traces and node.stack_trace is None:
            node.stack_trace = self._stack_trace()
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    @staticmethod
    def _stack_trace() -> str:
        """The frames of the program, without those of the tracer."""
        here = __name__.rpartition(".")[0]
        frames: list[Any] = []
        frame: Any = sys._getframe(1)
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if module != here and not module.startswith(f"{here}."):
                frames.append((frame, frame.f_lineno))
            frame = frame.f_back
        return "".join(traceback.StackSummary.extract(iter(reversed(frames))).format()).strip()

    def create_arg(self, a: Any) -> Any:
        """What a value of the program is as an argument of a node: nodes for proxies, constants as they are."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, (Node, *base_types)):
            return a
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(x) for x in a]
            return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return self._dict_arg(a)
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        if isinstance(a, (OpOverload, OpOverloadPacket)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _dict_arg(self, a: dict[Any, Any]) -> dict[Any, Any]:
        def refuse(node: Any) -> Any:
            if isinstance(node, Node):
                raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {node}")
            return node

        return {map_aggregate(self.create_arg(k), refuse): self.create_arg(v) for k, v in a.items()}

    def to_bool(self, obj: Proxy) -> bool:
        """Called where a program branches on a proxy; it may return what the trace assumes."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Called where a program iterates over a proxy of unknown length."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """Called for `proxy.keys()`."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """A tracer that only adds nodes to a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope, self.module_stack, self.node_name_to_scope = Scope("", None), OrderedDict(), {}


class Proxy:
    """Stands for a node's value while a program is traced: operators, methods and functions of torch on it become
    nodes.

    What the value is stays unknown, so that branches and loops over it raise TraceError. Unpacking into a known number
    of names works.
    """

    node: Node
    tracer: TracerBase

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.node = node
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        if k in _NO_ATTRIBUTES:
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        count = _unpacked_count(sys._getframe(1))
        return self.tracer.iter(self) if count is None else iter([_item(self, i) for i in range(count)])

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _is_asserted(sys._getframe(1)):
            import importlib

            check = importlib.import_module(__name__.partition(".")[0])._assert
            self.tracer.create_proxy("call_function", check, (self, ""), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """The keys of a value that is a dict."""
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        import copy

        made = object.__new__(type(self))
        for key, value in self.__dict__.items():
            made.__dict__[key] = copy.deepcopy(value, memo) if key not in ("node", "tracer", "root") else value
        return made

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None) -> Any:
        args, kwargs = args or (), kwargs or {}
        found: list[Any] = []
        map_aggregate((args, kwargs), lambda a: found.append(a.tracer) if isinstance(a, Proxy) else None)
        if len({id(t) for t in found}) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {found} while trying to trace operations {orig_method}"
            )
        tracer = found[0]
        from ..overrides import is_tensor_method_or_property

        name = getattr(orig_method, "__name__", "")
        if is_tensor_method_or_property(orig_method) and getattr(Tensor, name, None) is not None:
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy(
            "call_function", orig_method, args, kwargs, name=tracer.graph._target_to_str(orig_method)
        )

    __hash__ = object.__hash__


def _item(proxy: Any, index: int) -> Any:
    return proxy[index]


def _unpacked_count(frame: Any) -> int | None:
    """Into how many names the statement that asks for an iterator unpacks; None if it does something else."""
    wanted = frame.f_lasti
    instructions = list(dis.get_instructions(frame.f_code))
    for i, found in enumerate(instructions):
        if found.offset == wanted:
            while found.opname in ("EXTENDED_ARG", "CACHE", "COPY") and i + 1 < len(instructions):
                i += 1
                found = instructions[i]
            return found.argval if found.opname == "UNPACK_SEQUENCE" else None
    return None


def _is_asserted(frame: Any) -> bool:
    """Whether the value is tested by an assert statement."""
    instructions = list(dis.get_instructions(frame.f_code))
    at = next((i for i, found in enumerate(instructions) if found.offset == frame.f_lasti), None)
    if at is None:
        return False
    following = instructions[at : at + 4]
    jumps = any("JUMP" in found.opname and "TRUE" in found.opname for found in following[:2])
    # the error is loaded by an instruction of its own up to Python 3.13, as one of several constants since
    return jumps and any(
        found.opname == "LOAD_ASSERTION_ERROR" or found.argrepr == "AssertionError" for found in following
    )


class Attribute(Proxy):
    """An attribute of a proxy. It becomes a node when its value is used; calling it makes a call of the method
    instead."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that gets the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter of a module: its shape, type and sizes are known while tracing."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, Tensor):
            raise AssertionError(f"expected a parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's shape."""
        return self.param.shape

    def size(self, *args: Any) -> Any:
        """The parameter's shape, or one of its sizes."""
        return self.param.size(*args)

    def dim(self) -> int:
        """The number of dimensions."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """The number of elements."""
        return self.param.numel()

    def nelement(self) -> int:
        """The number of elements."""
        return self.param.nelement()


def _operator_method(target: Any) -> Any:
    def method(*args: Any, **kwargs: Any) -> Any:
        return args[0].tracer.create_proxy("call_function", target, args, kwargs)

    return method


def _reflected_method(target: Any) -> Any:
    def method(self: Any, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", target, (other, self), {})

    return method


for _name in (*_BINARY, *_OTHER):
    _method = _operator_method(getattr(operator, _name))
    _method.__name__ = f"__{_name.strip('_')}__"
    setattr(Proxy, _method.__name__, _method)
for _name in _BINARY:
    _method = _reflected_method(getattr(operator, _name))
    _method.__name__ = f"__r{_name.strip('_')}__"
    setattr(Proxy, _method.__name__, _method)
