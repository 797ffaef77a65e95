"""The arguments with which a traced function is called: proxies, or the values of `concrete_args`."""

from __future__ import annotations

import inspect
import warnings
from importlib import import_module
from typing import Any

from ..utils import _pytree as pytree
from ._codegen import CodeGen

_PACKAGE = __name__.partition(".")[0]


def root_arguments(tracer: Any, root_fn: Any, is_module: bool, concrete_args: Any) -> tuple[Any, list[Any]]:
    """The function to call and its positional arguments."""
    function = inspect.unwrap(root_fn)
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames)
    args: list[Any] = [tracer.root] if is_module else []
    if is_module and not count:
        raise RuntimeError("``self`` argument cannot be part of *args expansion!")
    parameters = dict(inspect.signature(function).parameters)
    annotations = getattr(function, "__annotations__", {})
    given = (
        dict(concrete_args)
        if isinstance(concrete_args, dict)
        else _by_position(names[bool(is_module) : count], concrete_args)
    )
    state = _Concrete(tracer, given, parameters, annotations)
    asked = names[bool(is_module) : count]
    if not is_module and parameters and next(iter(parameters)) == "self" and inspect.ismethod(root_fn):
        asked = asked[1:]
    args += [state.argument(name) for name in asked]
    extra: list[Any] = []
    if code.co_flags & inspect.CO_VARARGS:
        extra.append(tracer._proxy_placeholder(f"*{names[count]}", given, parameters, {}))
        count += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        extra.append(tracer._proxy_placeholder(f"**{names[count]}", given, parameters, {}))
    if state.nested:
        tracer.graph.set_codegen(PyTreeCodeGen(asked, state.spec(), None))
        called = root_fn
        if not code.co_kwonlyargcount and not extra:
            return _OutputFlattening(called, tracer), args
    if extra or code.co_kwonlyargcount:
        # Starred and keyword-only parameters: the body runs on the proxies as if they were plain ones.
        keyword_only = set(asked[-code.co_kwonlyargcount :]) if code.co_kwonlyargcount else set()
        return _Rebound(function, keyword_only, asked, code, len(args) - len(asked)), [*args, *extra]
    return root_fn, args


def _by_position(names: list[str], concrete_args: Any) -> dict[str, Any]:
    if concrete_args is None:
        return {}
    if len(concrete_args) != len(names):
        raise RuntimeError(f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete arguments")
    return dict(zip(names, concrete_args))


class _Rebound:
    """Calls a function with starred or keyword-only parameters, given proxies for all of them in order."""

    def __init__(self, function: Any, keyword_only: set[str], names: list[str], code: Any, leading: int) -> None:
        self.function, self.keyword_only, self.names, self.code, self.leading = (
            function,
            keyword_only,
            names,
            code,
            leading,
        )

    def __call__(self, *args: Any) -> Any:
        import types

        flags = self.code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        plain = self.code.replace(co_argcount=len(args), co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=flags)
        return types.FunctionType(
            plain, self.function.__globals__, self.function.__name__, closure=self.function.__closure__
        )(*args)


class _Concrete:
    """Makes the argument for every parameter and remembers those that have a structure."""

    def __init__(
        self, tracer: Any, given: dict[str, Any], parameters: dict[str, Any], annotations: dict[str, Any]
    ) -> None:
        self.tracer, self.given, self.parameters, self.annotations = tracer, given, parameters, annotations
        self.nested = any(isinstance(v, (tuple, list, dict)) for v in given.values())
        self.values: list[Any] = []

    def argument(self, name: str) -> Any:
        """The proxy of a parameter, or its given value."""
        if name not in self.given:
            self.values.append(0)
            return self.tracer._proxy_placeholder(name, self.given, self.parameters, self.annotations)
        leaves, spec = pytree.tree_flatten(self.given[name])
        self.values.append(self.given[name])
        return pytree.tree_unflatten([self._leaf(name, i, x) for i, x in enumerate(leaves, 1)], spec)

    def spec(self) -> Any:
        """The structure of all arguments."""
        return pytree.tree_flatten(list(self.values))[1]

    def _leaf(self, name: str, index: int, value: Any) -> Any:
        """One value of a parameter: a placeholder, and for constants a check that calls give the same."""
        from ._symbolic_trace import PHBase

        default = self.parameters[name].default
        args = () if default is inspect.Parameter.empty else (default,)
        proxy = self.tracer.create_proxy("placeholder", f"{name}_{index}", args, {})
        if isinstance(value, PHBase):
            return proxy
        if isinstance(value, (bool, int, float, str)):
            check = import_module(_PACKAGE)._assert
            self.tracer.create_proxy(
                "call_function",
                check,
                (proxy == value, f"{name} has been specialized to have value {value} but got another value"),
                {},
            )
        elif value is None:
            check_none = import_module(f"{_PACKAGE}.fx._root_arguments").assert_is_none
            message = f"{name} has been specialized to have value None but got another value"
            self.tracer.create_proxy("call_function", check_none, (proxy, message), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to "
                "the user to make sure that your inputs match the inputs you specialized the function with.",
                stacklevel=6,
            )
        return value


def assert_is_none(value: Any, msg: str) -> None:
    """AssertionError unless the value is None: an argument that was None while the program was traced must stay so."""
    if value is not None:
        raise AssertionError(msg)


class _OutputFlattening:
    """Calls a function and flattens its result, whose structure the code of the graph restores."""

    def __init__(self, function: Any, tracer: Any) -> None:
        self.function, self.tracer = function, tracer
        self.__annotations__: dict[str, Any] = {}

    def __call__(self, *args: Any) -> Any:
        leaves, spec = pytree.tree_flatten(self.function(*args))
        codegen = self.tracer.graph._codegen
        codegen.out_spec = spec
        return leaves


class PyTreeCodeGen(CodeGen):
    """Code for graphs whose inputs and outputs are leaves of containers that the function takes and gives."""

    def __init__(self, names: list[str], in_spec: Any, out_spec: Any) -> None:
        super().__init__()
        self.names, self.in_spec, self.out_spec = names, in_spec, out_spec

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        leaves = [name.partition(" ")[0].partition(":")[0] for name in free_vars if name != "self"]
        head = super().gen_fn_def(list(self.names), maybe_return_annotation)
        return (
            f"{head}\n    {', '.join(leaves)}, = fx_pytree.tree_flatten_spec([{', '.join(self.names)}], self._in_spec)"
        )

    def generate_output(self, output_args: Any, *, descs: Any = None) -> str:
        return (
            f"return pytree.tree_unflatten({output_args}, self._out_spec)"
            if self.out_spec is not None
            else f"return {output_args}"
        )

    def process_inputs(self, *args: Any) -> Any:
        return pytree.tree_flatten(list(args))[0]

    def process_outputs(self, outputs: Any) -> Any:
        return outputs if self.out_spec is None else pytree.tree_unflatten(list(outputs), self.out_spec)
