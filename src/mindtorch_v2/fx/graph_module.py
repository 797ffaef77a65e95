"""Modules whose forward is generated from a graph."""

from __future__ import annotations

import contextlib
import copy
import itertools
import linecache
import sys
import traceback
from typing import Any, TypeVar

from ..nn.modules.module import Module
from ._codegen import PythonCode
from .graph import Graph

__all__ = ["GraphModule"]

T = TypeVar("T", bound="GraphModule")
_numbers = itertools.count()


def _exec_with_source(src: str, globals: dict[str, Any]) -> str:
    """Runs code whose lines tracebacks can show. Returns the name of its file."""
    name = f"<eval_with_key>.{next(_numbers)}"
    linecache.cache[name] = (len(src), None, src.splitlines(True), name)
    exec(compile(src, name, "exec"), globals)  # the code was generated from the graph
    return name


def _forward_from_src(src: str, globals: dict[str, Any]) -> Any:
    """The function `forward` that the code defines."""
    space = {**globals, "__name__": f"{__name__}.generated"}
    _exec_with_source(src, space)
    return space["forward"]


_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"  # in `meta`: what copies of a module keep


class _CodeOnlyModule(Module):
    """A module that has the attributes it is given, and no code. Copies of graph modules begin with one."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _copy_attr(from_module: Any, to_module: Any, target: str) -> None:
    """Gives `to_module` what stands at a path of the other module; tensors that are not parameters become buffers."""
    from .._tensor import Parameter, Tensor

    *prefix, field = target.split(".")
    for part in prefix:
        inner, to_inner = getattr(from_module, part), getattr(to_module, part, None)
        if inner is to_inner:
            return
        if to_inner is None:
            to_inner = Module()
            setattr(to_module, part, to_inner)
        from_module, to_module = inner, to_inner
    value = getattr(from_module, field)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(field, value)
    else:
        setattr(to_module, field, value)


def _assign_attr(from_obj: Any, to_module: Any, target: str) -> None:
    """Puts a value at a path of a module, making the modules on the way."""
    from .._tensor import Parameter, Tensor

    *prefix, field = target.split(".")
    for part in prefix:
        inner = getattr(to_module, part, None)
        if inner is None:
            inner = Module()
            setattr(to_module, part, inner)
        to_module = inner
    if isinstance(from_obj, Tensor) and not isinstance(from_obj, Parameter):
        to_module.register_buffer(field, from_obj)
    else:
        setattr(to_module, field, from_obj)


def reduce_graph_module(cls: Any, body: dict[str, Any], graph: Graph, name: str) -> Any:
    """A GraphModule from its pickle: attributes and graph."""
    made = GraphModule.__new__(_shown(cls), Module(), graph)
    Module.__init__(made)
    type(made).__name__ = name
    made.__dict__.update(body)
    made.graph = graph
    return made


def _shown(cls: Any) -> Any:
    """The class that a program wrote: every GraphModule has a class of its own below it."""
    return cls if not cls.__dict__.get("_is_generated", False) else cls.__mro__[1]


class _ErrorLines:
    """Calls a module and, where its generated code fails, says in which line."""

    def __init__(self, cls: Any, call: Any) -> None:
        self.cls, self.call = cls, call

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            call: Any = super(self.cls, obj).__call__ if self.call is None else self.call.__get__(obj)  # type: ignore[misc]
            return call(*args, **kwargs)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            generated = [frame for frame in frames if frame.filename.startswith("<eval_with_key>")]
            if generated and generated[-1].lineno is not None and not hasattr(error, "_fx_shown"):
                print(_around(generated[-1].filename, generated[-1].lineno), file=sys.stderr)
                with contextlib.suppress(AttributeError):  # some errors take no attributes
                    error._fx_shown = True  # type: ignore[attr-defined]
            raise


def _around(filename: str, line: int) -> str:
    """The lines of generated code around one that failed."""
    lines = linecache.getlines(filename)
    before, after = "".join(lines[max(line - 3, 0) : line]), "".join(lines[line : line + 2])
    return (
        f"Call using an FX-traced Module, line {line} of the traced Module's generated forward function:\n{before}\n"
        f"{'~' * 32} <--- HERE\n{after}"
    )


class GraphModule(Module):
    """A module made of a graph: `graph` is the program, `code` its Python source, `forward` the function compiled from
    it.

    root   a module (or dict of values by path) from which everything that the nodes name is taken.
    graph  after changing it call `recompile()`; assigning a graph does so itself.
    """

    _graph: Graph
    _code: str

    def __new__(cls: type[T], *args: Any, **kwargs: Any) -> T:
        base = _shown(cls)
        # Each instance has a class of its own, so that its forward is an ordinary method.
        own = type(base.__name__, (base,), {"_is_generated": True, "__module__": base.__module__})
        return super().__new__(own)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        type(self).__name__ = class_name
        super().__init__()
        if isinstance(root, Module):
            self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, str(node.target))
        elif isinstance(root, dict):
            self._take(root, graph)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        is_local = "<locals>" in getattr(graph._tracer_cls, "__qualname__", "")  # which cannot be pickled
        self._tracer_cls = None if is_local else graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}

    def _take(self, root: dict[str, Any], graph: Graph) -> None:
        wanted = []
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                if node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                    )
                wanted.append(str(node.target))
        for path in sorted(set(wanted), key=lambda t: t.count(".")):
            _assign_attr(root[path], self, path)

    @property
    def graph(self) -> Graph:
        """The program."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The Python source of `forward`."""
        if "_code" not in self.__dict__:
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Makes `forward` anew from the graph; to be called after every change."""
        codegen = self._graph._codegen
        if getattr(codegen, "in_spec", None) is not None:
            self._in_spec, self._out_spec = codegen.in_spec, codegen.out_spec  # type: ignore[attr-defined]
        code = self._graph.python_code(root_module="self")
        self._code = code.src
        cls: Any = type(self)
        cls.forward = _forward_from_src(code.src, code.globals)
        if "_calls" not in cls.__dict__:
            calls = cls._calls = _ErrorLines(cls, cls.__dict__.get("__call__"))

            def call_wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
                return calls(self, *args, **kwargs)

            cls.__call__ = call_wrapped
        return code

    # --- submodules
    # -----------------------------------------------------------------------------------------------------
    def add_submodule(self, target: str, m: Module) -> bool:
        """Puts a module at a path, making those on the way; False if something else stands there."""
        *prefix, field = target.split(".")
        found: Any = self
        for part in prefix:
            inner = getattr(found, part, None)
            if inner is None:
                inner = Module()
                setattr(found, part, inner)
            if not isinstance(inner, Module):
                return False
            found = inner
        found.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Removes the module at a path; False if there is none."""
        path, _, name = target.rpartition(".")
        try:
            owner = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(getattr(owner, name, None), Module):
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Removes the modules that no node names."""
        used: set[str] = set()
        for node in self._graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
                if node.op == "call_module":
                    used.update(
                        f"{node.target}.{path}"
                        for path, _ in self.get_submodule(str(node.target)).named_modules()
                        if path
                    )
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # --- copies and text
    # ------------------------------------------------------------------------------------------------
    def _state(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code")}

    def __reduce__(self) -> Any:
        return reduce_graph_module, (_shown(type(self)), self._state(), self._graph, type(self).__name__)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        body = copy.deepcopy(self._state(), memo)
        made = reduce_graph_module(_shown(type(self)), body, copy.deepcopy(self._graph, memo), type(self).__name__)
        memo[id(self)] = made
        return made

    def __copy__(self) -> Any:
        made = GraphModule(self, copy.deepcopy(self._graph), type(self).__name__)
        made.meta = getattr(self, "meta", {})
        return made

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Writes the module as a package: its state (`state_dict.pt`, and modules as files) and a class with the
        generated code."""
        from ._folders import write_folder

        write_folder(self, folder, module_name)

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        **options: Any,
    ) -> str:
        """The code as a class with those of the graph modules inside it; printed, unless told otherwise."""
        text = self._readable("")
        if print_output:
            print(text)
        return text

    def _readable(self, indent: str) -> str:
        lines = [line for line in self._code.strip("\n").splitlines() if line.strip()]
        inner = [f"class {type(self).__name__}(torch.nn.Module):", *(f"    {line}" for line in lines), ""]
        for module in self.children():
            if isinstance(module, GraphModule):
                inner.append(module._readable("    "))
        return "\n".join(f"{indent}{line}" if line else line for line in inner)

    def __str__(self) -> str:
        return "\n".join(
            [super().__repr__(), self._code, "# To see more debug info, please use `graph_module.print_readable()`"]
        )

    __repr__ = Module.__repr__
