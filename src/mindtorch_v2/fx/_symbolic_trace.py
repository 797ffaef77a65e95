"""Tracing: running a program on proxies, to get its graph."""

from __future__ import annotations

import functools
import inspect
import math
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType, ModuleType  # noqa: F401 - libraries take FunctionType from here
from typing import Any

from .._tensor import Parameter, Tensor
from ._compatibility import compatibility  # noqa: F401 - which libraries take from here
from ._wrapping import Patcher, patch_globals, patch_wrapped, recorded_function, wrap
from .graph import Graph
from .graph_module import GraphModule
from .node import Node
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase  # noqa: F401 - Proxy likewise

__all__ = [
    "PH",
    "PHBase",
    "ProxyableClassMeta",
    "Tracer",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]

_PACKAGE = __name__.partition(".")[0]
_running = [0]  # how many traces run


def is_fx_tracing() -> bool:
    """Whether a program is being traced."""
    return _running[0] > 0


is_fx_symbolic_tracing = is_fx_tracing


class PHBase:
    """Marks an input that stays an input, in `concrete_args`."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class ProxyableClassMeta(type):
    """A class whose objects may be made of proxies: then the call of the class itself becomes a node."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        from ._wrapping import find_proxy

        proxy = find_proxy(args, kwargs)
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class Tracer(TracerBase):
    """Traces a module or function into a graph. Subclasses choose what is a leaf (`is_leaf_module`), what paths are
    called, and what becomes of calls and arguments (`call_module`, `create_proxy`, `create_arg`).

    autowrap_modules    modules whose functions are recorded as nodes when they get a proxy.
    autowrap_functions  functions for which the same holds.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_search = list(autowrap_modules)
        self._autowrap_function_ids = {
            id(f) for m in autowrap_modules for n, f in m.__dict__.items() if not n.startswith("_") and callable(f)
        } | {id(f) for f in autowrap_functions}
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Any, str] | None = None
        self.root: Any = None
        self.root_module_name = ""
        self.scope, self.module_stack, self.node_name_to_scope = Scope("", None), OrderedDict(), {}
        self.tensor_attrs: dict[Any, str] = {}
        self._fresh: dict[str, int] = {}

    # --- what subclasses change
    # -----------------------------------------------------------------------------------------
    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a call of the module is one node: the layers of torch.nn, but not Sequential."""
        from ..nn import Sequential

        return (m.__module__ + ".").startswith(
            (f"{_PACKAGE}.nn.", "torch.nn.", f"{_PACKAGE}.ao.nn.", "torch.ao.nn.")
        ) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Any) -> str:
        """The path of a submodule of the root; NameError if it is none."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is not None:
                return path
        else:
            for path, found in self.root.named_modules():
                if found is mod:
                    return path
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Any, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Called for every call of a module: a node for leaves, else `forward` is traced through."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            count = len(self.module_stack)
            key = path if path not in self.module_stack else f"{path}@{count}"
            self.module_stack[key] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.pop(key, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Called for every attribute of a module that is found in its tables: parameters become proxies."""
        if isinstance(attr_val, Parameter):
            return self._attribute_proxy(
                attr_val, self.root.named_parameters(), parameter_proxy_cache, self.param_shapes_constant
            )
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._attribute_proxy(attr_val, self.root.named_buffers(), parameter_proxy_cache, False)
        return attr_val

    def _module_getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        return self.getattr(attr, attr_val, parameter_proxy_cache)

    def _attribute_proxy(self, value: Any, named: Any, cache: dict[str, Any], constant_shape: bool) -> Any:
        for path, found in named:
            if found is value:
                if path not in cache:
                    factory = functools.partial(_parameter_proxy, self, path, value) if constant_shape else None
                    cache[path] = self.create_proxy("get_attr", path, (), {}, proxy_factory_fn=factory)
                return cache[path]
        return value

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name like `_tensor_constant0` that the root has not."""
        i = self._fresh.get(prefix, 0)
        while hasattr(self.root, f"{prefix}{i}"):
            i += 1
        self._fresh[prefix] = i + 1
        return f"{prefix}{i}"

    def create_arg(self, a: Any) -> Any:
        """Parameters and tensors become attributes of the module; new tensors are stored there as constants."""
        from ..nn import Module

        if isinstance(a, Parameter):
            for path, found in self.root.named_parameters():
                if found is a:
                    return self.create_node("get_attr", path, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for path, found in self.root.named_buffers():
                if found is a:
                    return self.create_node("get_attr", path, (), {})
            path = self.tensor_attrs.get(id(a), "")
            if not path:
                path = self.tensor_attrs[id(a)] = self.get_fresh_qualname("_tensor_constant")
                setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        if isinstance(a, Module) and self.submodule_paths is not None and a in self.submodule_paths:
            return self.create_node("get_attr", self.submodule_paths[a], (), {})
        if type(type(a)) is ProxyableClassMeta:
            return self._object_constant(a)
        return super().create_arg(a)

    def _object_constant(self, a: Any) -> Node:
        path = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
        setattr(self.root, path, a)
        return self.create_node("get_attr", path, (), {})

    # --- tracing
    # --------------------------------------------------------------------------------------------------------
    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module (its `forward`) or function. Values in `concrete_args` replace the arguments
        of these names."""
        from ..nn import Module

        is_module = isinstance(root, Module)
        if is_module:
            function = getattr(type(root), self.traced_func_name)
            self.root, self.root_module_name = root, root._get_name()
            self.submodule_paths = {m: path for path, m in root.named_modules()}
        else:
            function, self.root, self.submodule_paths = root, Module(), None
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        self.tensor_attrs = dict(_tensor_attributes(self.root))
        _running[0] += 1
        try:
            called, args = self.create_args_for_root(function, is_module, concrete_args)
            with Patcher() as patcher:
                self._patch(patcher, function)
                result = called(*args)
            annotation = getattr(inspect.unwrap(function), "__annotations__", {}).get("return")
            self.create_node(
                "output", "output", (self.create_arg(result),), {}, type_expr=_usable_annotation(annotation)
            )
        finally:
            _running[0] -= 1
            self.submodule_paths = None
        return self.graph

    def _patch(self, patcher: Patcher, function: Any) -> None:
        """Sends calls and attributes of all modules, and wrapped functions, through this tracer."""
        from ..nn import Module

        original_call, original_getattr = Module.__call__, Module.__getattr__
        cache: dict[str, Any] = {}
        ids = self._autowrap_function_ids

        @functools.wraps(original_call)
        def call(mod: Any, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return original_call(mod, *args, **kwargs)

            patch_globals(patcher, getattr(getattr(mod, "forward", mod), "__globals__", {}), ids)
            return self.call_module(mod, forward, args, kwargs)

        @functools.wraps(original_getattr)
        def get(mod: Any, attr: str) -> Any:
            return self._module_getattr(attr, original_getattr(mod, attr), cache)

        patcher.patch_method(Module, "__getattr__", get)
        patcher.patch_method(Module, "__call__", call)
        patch_wrapped(patcher)
        patch_globals(patcher, getattr(function, "__globals__", {}), ids)
        for module in self._autowrap_search:
            if patcher.visit_once(module):
                for name, value in list(module.__dict__.items()):
                    if not name.startswith("_") and callable(value) and not isinstance(value, type):
                        patcher.patch(module.__dict__, name, recorded_function(value))

    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> tuple[Any, list[Any]]:
        """The function to call and its arguments: the module, if it is a method, and a proxy for every parameter."""
        from ._root_arguments import root_arguments

        return root_arguments(self, root_fn, is_module, concrete_args)

    def _proxy_placeholder(
        self, name: str, concrete_args: Any, parameters: dict[str, Any], annotations: dict[str, Any]
    ) -> Any:
        """The proxy of one parameter of the traced function."""
        default = parameters[name].default if name in parameters else inspect.Parameter.empty
        args = () if name.startswith("*") or default is inspect.Parameter.empty else (default,)
        return self.create_proxy("placeholder", name, args, {}, type_expr=_usable_annotation(annotations.get(name)))


def _parameter_proxy(tracer: Tracer, path: str, value: Any, node: Node) -> ParameterProxy:
    return ParameterProxy(tracer, node, path, value)


def _tensor_attributes(root: Any) -> list[tuple[int, str]]:
    """Tensors that are plain attributes of modules, with their paths."""
    return [
        (id(value), f"{path}.{name}" if path else name)
        for path, module in root.named_modules()
        for name, value in module.__dict__.items()
        if isinstance(value, Tensor)
    ]


def _usable_annotation(annotation: Any) -> Any:
    """An annotation that is a string says nothing that generated code could use."""
    return None if isinstance(annotation, str) or annotation is inspect.Parameter.empty else annotation


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """The graph of a module or function, as a module that does the same.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> traced(torch.tensor([-1.0, 2.0]))
    tensor([1., 3.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    from ..nn import Module

    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", type(root).__name__)
    return GraphModule(tracer.root, graph, name)


# PyTorch's names of the same things, which tracers of libraries (PyG's) are written with.
_Patcher, _patch_wrapped_functions, _autowrap_check = Patcher, patch_wrapped, patch_globals


def __getattr__(name: str) -> Any:
    if name in ("_orig_module_call", "_orig_module_getattr"):
        from ..nn import Module

        # kept, because the methods are patched while a trace runs
        found = globals()[name] = getattr(Module, name.replace("_orig_module_", "__") + "__")
        return found
    if name == "ScriptObject":
        from ..jit import RecursiveScriptClass

        return RecursiveScriptClass
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
