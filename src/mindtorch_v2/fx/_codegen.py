"""The Python code of a graph."""

from __future__ import annotations

import builtins
import math
import re
import types
import typing
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _dtype as dt
from .._device import device
from .._tensor import Tensor, layout
from ._names import PACKAGE, Namespace, module_and_name, qualified_name
from .node import Node

if TYPE_CHECKING:
    from .graph import Graph

# Functions of the module `operator` that are written as expressions and statements.
EXPRESSIONS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "floordiv": "{} // {}",
    "truediv": "{} / {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "and_": "{} & {}",
    "or_": "{} | {}",
    "xor": "{} ^ {}",
    "getitem": "{}[{}]",
    "matmul": "{} @ {}",
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "gt": "{} > {}",
    "le": "{} <= {}",
    "ge": "{} >= {}",
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
}
STATEMENTS = {
    "iadd": "{} += {}",
    "isub": "{} -= {}",
    "imul": "{} *= {}",
    "ifloordiv": "{} //= {}",
    "itruediv": "{} /= {}",
    "imod": "{} %= {}",
    "ipow": "{} **= {}",
    "ilshift": "{} <<= {}",
    "irshift": "{} >>= {}",
    "iand": "{} &= {}",
    "ior": "{} |= {}",
    "ixor": "{} ^= {}",
    "imatmul": "{} @= {}",
    "setitem": "{}[{}] = {}",
}
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$")


class PythonCode(NamedTuple):
    """The source of a function and the objects that its free names stand for."""

    src: str
    globals: dict[str, Any]


def common_globals() -> dict[str, Any]:
    """What every generated function may use."""
    return {
        "inf": math.inf,
        "nan": math.nan,
        "NoneType": type(None),
        "torch": import_module(PACKAGE),
        "device": device,
        "fx_pytree": import_module(f"{PACKAGE}.fx._pytree"),
        "pytree": import_module(f"{PACKAGE}.utils._pytree"),
    }


def attribute_path(base: str, path: str) -> str:
    """`base` with the attributes of a path: "self.layers" + getattr for names that are not identifiers."""
    for part in path.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


class Writer:
    """Writes nodes as lines of code and collects the globals that they need."""

    def __init__(self, root_module: str, namespace: Namespace) -> None:
        self.root, self.namespace = root_module, namespace
        self.globals: dict[str, Any] = common_globals()
        self.wrapped: dict[str, None] = {}

    # --- names
    # ----------------------------------------------------------------------------------------------------------
    def global_name(self, hint: str, obj: Any) -> str:
        """The name under which an object is in the globals."""
        if obj is Tensor:
            return "torch.Tensor"
        if getattr(obj, "__module__", "").partition(".")[0] == PACKAGE or getattr(obj, "__module__", "").startswith(
            "torch."
        ):
            found = module_and_name(obj)
            if found is not None:
                return ".".join(part for part in ("torch", *found) if part)
            if hint.startswith("torch.ops."):
                return hint
        plain = re.sub(r"[^0-9a-zA-Z_]+", "_", hint.removeprefix("builtins."))
        name = self.namespace.create_name(plain, obj) if not self._is_builtin(plain, obj) else plain
        self.globals.setdefault(name, obj)
        return name

    @staticmethod
    def _is_builtin(name: str, obj: Any) -> bool:
        return getattr(builtins, name, None) is obj and obj is not None

    def type_name(self, kind: Any) -> str:
        """An annotation as an expression."""
        if kind is None or kind is type(None):
            return "None"
        if kind is ...:
            return "..."
        origin = getattr(kind, "__origin__", None)
        if origin is not None and isinstance(kind, (types.GenericAlias, typing._GenericAlias)):  # type: ignore[attr-defined]
            name = getattr(kind, "_name", None)
            base = getattr(typing, name, origin) if name else (typing.Union if origin is typing.Union else origin)
            inner = ", ".join(self.type_name(a) for a in typing.get_args(kind))
            return f"{self.global_name(self._hint(base), base)}[{inner}]"
        if isinstance(kind, str):
            return repr(kind)
        return self.global_name(self._hint(kind), kind)

    @staticmethod
    def _hint(obj: Any) -> str:
        name = getattr(obj, "__qualname__", None) or getattr(obj, "_name", None) or str(obj)
        module = getattr(obj, "__module__", "")
        return name if module in ("", "builtins") else f"{module}.{name}"

    # --- values
    # ---------------------------------------------------------------------------------------------------------
    def value(self, arg: Any) -> str:
        """An argument as an expression."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple):
            parts = [self.value(a) for a in arg]
            if hasattr(arg, "_fields"):
                return f"{self.global_name(self._hint(type(arg)), type(arg))}({', '.join(parts)})"
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if isinstance(arg, list):
            return f"[{', '.join(self.value(a) for a in arg)}]"
        if isinstance(arg, dict):
            return "{" + ", ".join(f"{k!r}: {self.value(v)}" for k, v in arg.items()) + "}"
        if isinstance(arg, slice):
            return f"slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})"
        if isinstance(arg, type) or callable(arg):
            return self.global_name(self._hint(arg), arg)
        if isinstance(arg, (dt.dtype, layout, device)):
            return repr(arg)
        if hasattr(arg, "_fx_repr") and callable(arg._fx_repr):
            text, needed = arg._fx_repr()
            self.globals.update(needed)
            return str(text)
        return repr(arg)

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        """Arguments between brackets."""
        return ", ".join([*(self.value(a) for a in args), *(f"{k} = {self.value(v)}" for k, v in kwargs.items())])

    # --- nodes
    # ----------------------------------------------------------------------------------------------------------
    def line(self, node: Node) -> str:
        """The statement of a node that is neither input nor output."""
        kind = "" if node.type is None else f" : {self.type_name(node.type)}"
        if node.op == "get_attr":
            return f"{node!r}{kind} = {attribute_path(self.root, str(node.target))}"
        if node.op == "call_method":
            rest = self.arguments(node.args[1:], node.kwargs)
            return f"{node!r}{kind} = {self._receiver(node.args[0])}.{node.target}({rest})"
        if node.op == "call_module":
            called = attribute_path(self.root, str(node.target))
            return f"{node!r}{kind} = {called}({self.arguments(node.args, node.kwargs)})"
        return self._function_line(node, kind)

    def _receiver(self, arg: Any) -> str:
        text = self.value(arg)
        return text if _DOTTED.match(text) else f"({text})"

    def _function_line(self, node: Node, kind: str) -> str:
        target: Any = node.target
        name = getattr(target, "__name__", "")
        values = [self.value(a) for a in node.args]
        if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
            pattern = EXPRESSIONS.get(name)
            if pattern is not None and pattern.count("{}") == len(values):
                return f"{node!r}{kind} = {pattern.format(*values)}"
            pattern = STATEMENTS.get(name)
            if pattern is not None and pattern.count("{}") == len(values) and isinstance(node.args[0], Node):
                return f"{pattern.format(*values)};  {node!r}{kind} = {values[0]}"
        if target is getattr and len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return f"{node!r}{kind} = {self._receiver(node.args[0])}.{node.args[1]}"
        called = self.global_name(self._function_hint(target), target)
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(called)
        return f"{node!r}{kind} = {called}({self.arguments(node.args, node.kwargs)})"

    @staticmethod
    def _function_hint(target: Any) -> str:
        hint = qualified_name(target)
        return (
            f"_operator.{hint[9:]}"
            if hint.startswith("operator.") and getattr(target, "__module__", "") == "_operator"
            else hint
        )


class CodeGen:
    """How the function of a graph begins and ends; subclasses may take their inputs in other forms
    (`Graph.set_codegen`)."""

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line `def forward(...)`, and those that follow it before the first node."""
        names = free_vars if free_vars and free_vars[0] == "self" else ["self", *free_vars]
        return f"def {self._func_name}({', '.join(names)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Any = None) -> str:
        """The return statement; `output_args` is the text of the value."""
        return f"return {output_args}"

    def process_inputs(self, *args: Any) -> Any:
        """What the inputs of the graph are, given those of the function."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the function gives, given the outputs of the graph."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names for the generated code besides those of its nodes."""
        return []

    def _gen_python_code(self, graph: Graph, root_module: str, namespace: Namespace) -> PythonCode:
        writer = Writer(root_module, namespace)
        writer.globals.update(self.additional_globals())
        last_uses = last_uses_of(graph)
        parameters: list[tuple[int, str]] = []
        body: list[str] = []
        returned = ""
        for node in graph.nodes:
            if node.op == "placeholder":
                order, parameter = _parameter(node, writer)
                parameters.append((order, parameter))
                if str(node) != str(node.target):
                    body.append(f"{node!r} = {str(node.target).lstrip('*')}\n")
            elif node.op == "output":
                returned = "" if node.type is None else f" -> {writer.type_name(node.type)}"
                body.append(self.generate_output(writer.value(node.args[0])))
            else:
                body.append(f"{writer.line(node)}{_release_code(node, last_uses)}\n")
        if not body:
            body.append("pass\n")
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        wrapped = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped)
        definition = self.gen_fn_def([text for _, text in sorted(parameters, key=lambda p: p[0])], returned)
        lines = "".join(body).split("\n")
        source = (
            f"\n{wrapped}\n\n{definition}\n"
            + "\n".join(f"    {line}" for line in lines)
            + ("\n    " if lines[-1].strip() else "")
        )
        return PythonCode(source, writer.globals)


def _parameter(node: Node, writer: Writer) -> tuple[int, str]:
    """A parameter's text, and where it stands: starred ones last."""
    target = str(node.target)
    kind = "" if node.type is None else f" : {writer.type_name(node.type)}"
    default = f" = {writer.value(node.args[0])}" if node.args else ""
    stars = len(target) - len(target.lstrip("*"))
    return stars, f"{target if stars else target}{kind}{default}"


def last_uses_of(graph: Graph) -> dict[Node, list[Node]]:
    """For every node, the nodes whose values nobody needs after it."""
    seen: set[Node] = set()
    found: dict[Node, list[Node]] = {}
    for node in reversed(graph.nodes):
        unused = [node] if not node.users and node.op not in ("placeholder", "output") else []
        last = [used for used in node.all_input_nodes if used not in seen]
        seen.update(last)
        if last or unused:
            found[node] = [*last, *unused]
    return found


def _release_code(node: Node, last_uses: dict[Node, list[Node]]) -> str:
    """Code that drops values after their last use."""
    unused = last_uses.get(node, [])
    return f";  {' = '.join([*(repr(n) for n in unused), 'None'])}" if unused else ""
