"""`torch.library`: operators that a program defines. They are found as `torch.ops.<namespace>.<name>`, have kernels
by device, a shape function for tensors without data, and a formula for gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._library.infer import infer_schema
from ._library.registry import CustomOp
from ._library.registry import define as _define
from ._library.registry import find as _find
from ._library.registry import forget as _forget
from ._library.registry import kernel_key as _kernel_key
from ._library.registry import set_fake as _set_fake

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "triton_op",
    "wrap_triton",
]


def _words(device_types: Any) -> list[str]:
    return [""] if device_types is None else [device_types] if isinstance(device_types, str) else list(device_types)


class CustomOpDef:
    """What `custom_op` makes of a function: calling it calls the operator."""

    def __init__(self, op: CustomOp, function: Callable[..., Any]) -> None:
        self._opoverload, self._init_fn = op, function
        self._qualname, self._namespace, self._name = op.qualified_name, op.namespace, op._opname
        self.__name__ = op._opname

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """The kernel for a type of device, or several; None for all."""
        return register_kernel(self._qualname, device_types, fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """The function that gives results without data, for tensors on the meta device."""
        return register_fake(self._qualname, fn)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """The formula for gradients: `backward(ctx, *grads)`, after `setup_context(ctx, inputs, output)`."""
        register_autograd(self._qualname, backward, setup_context=setup_context)


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Makes an operator of a function: `@custom_op("mylib::mine", mutates_args=())`. Its schema comes from the
    annotations.

    The function is opaque: gradients do not flow through it, they need `register_autograd`.
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        space, separator, word = name.partition("::")
        if not separator or not word:
            raise ValueError(f"expected a name of the form 'namespace::name', got {name!r}")
        op = _define(space, word + text)
        op.wants_formula = True
        for device_type in _words(device_types):
            op.kernels[_kernel_key(device_type)] = function
        return CustomOpDef(op, function)

    return make if fn is None else make(fn)


def triton_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None
) -> Any:
    """`custom_op` for a function that launches Triton's kernels."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Callable[..., Any], /) -> Callable[..., Any]:
    """The kernel itself: nothing is traced."""
    return triton_kernel


def _find_op(op: Any) -> CustomOp:
    if isinstance(op, CustomOp):
        return op
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if not isinstance(op, str):
        raise ValueError(f"got unexpected type for op: {type(op)}")
    if op.startswith("aten::"):
        raise NotImplementedError(
            f"{op}: operators of this package are declared in it; a program defines its own under another namespace"
        )
    return _find(op)


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """Declares an operator: `define("mylib::mine", "(Tensor x) -> Tensor")`."""
    space, separator, word = qualname.partition("::")
    if not separator:
        raise ValueError(
            "torch.library.define(qualname, schema): expected qualname to be of the form 'namespace::name', got "
            f"{qualname}"
        )
    _define(space, word + schema)


def impl(qualname: Any, types: Any = None, func: Callable[..., Any] | None = None, *, lib: Any = None) -> Any:
    """The kernel of an operator for devices (`"cpu"`) or dispatch keys (`"CPU"`); as a decorator without a function."""
    if isinstance(qualname, Library):  # impl(library, "name", "CPU")
        return qualname._decorator(types, func)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for word in _words(types):
            _find_op(qualname).kernels[_kernel_key(word)] = function
        return function

    return register if func is None else register(func)


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """The same."""
    return impl(_find_op(op).qualified_name, device_types, func)


def register_fake(
    op: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Any = None,
    _stacklevel: int = 1,
    allow_override: bool = False,
) -> Any:
    """The function that gives results without data, for tensors on the meta device; as a decorator without a
    function.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(op, str) and not op.startswith("aten::"):
            _set_fake(op, function)
        else:
            _find_op(op).fake = function
        return function

    return register if func is None else register(func)


impl_abstract = register_fake


class FakeImplCtx:
    """What `get_ctx` gives to a shape function."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:  # noqa: A002 - PyTorch's names
        """Refused: a size that depends on data is not known without data, and there are no symbolic sizes."""
        raise NotImplementedError(
            "new_dynamic_size: sizes are numbers here, and this one depends on data that a meta tensor does not have"
        )

    create_unbacked_symint = new_dynamic_size


def get_ctx() -> FakeImplCtx:
    """For a function registered by `register_fake`: whom it asks for sizes that depend on data. They are refused here.

    >>> try:
    ...     torch.library.get_ctx().new_dynamic_size()
    ... except NotImplementedError as error:
    ...     print(str(error).partition(":")[0])
    new_dynamic_size
    """
    return FakeImplCtx()


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Any = None
) -> None:
    """The formula for gradients: `backward(ctx, *grads)` gives one gradient per argument, None where there is none."""
    found = _find_op(op)
    if any("!" in p.alias for p in found.schema.params):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {found} with schema {found._schema}. Please "
            "create a functional operator and register an autograd formula for that."
        )
    found.backward, found.setup_context = backward, setup_context


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Inside `autocast` of that device, floating tensors are cast to `cast_inputs` first."""
    found = _find_op(op)
    inner = dict(found.kernels)

    def cast(*args: Any, **kwargs: Any) -> Any:
        import mindtorch_v2 as torch

        from .utils._pytree import tree_map_only

        if torch.is_autocast_enabled(device_type):
            args, kwargs = tree_map_only(
                torch.Tensor, lambda t: t.to(cast_inputs) if t.is_floating_point() else t, (args, kwargs)
            )
        return inner.get(device_type, inner.get(""))(*args, **kwargs)  # type: ignore[misc]

    found.kernels[_kernel_key(device_type)] = cast


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """As a kernel: the next one runs. There is no next one here."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """A set of operators of one namespace: `Library("mylib", "DEF")` defines, "IMPL" adds kernels, "FRAGMENT" both."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim",) or ns == "aten" and kind == "DEF":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._ops: list[CustomOp] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declares an operator: `define("mine(Tensor x, int n=2) -> Tensor")`; returns its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        made = _define(self.ns, schema)
        self._ops.append(made)
        return schema.partition("(")[0]

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """The kernel of an operator for a dispatch key."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        name = op_name if isinstance(op_name, str) else _find_op(op_name).qualified_name
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        _find_op(name if "::" in name else f"{self.ns}::{name}").kernels[_kernel_key(key)] = fn

    def _decorator(self, name: Any, key: Any) -> Callable[..., Any]:
        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.impl(name, function, key or "")
            return function

        return register

    def _register_fake(
        self, op_name: str, fn: Callable[..., Any], _stacklevel: int = 1, *, allow_override: bool = False
    ) -> None:
        register_fake(op_name if "::" in op_name else f"{self.ns}::{op_name}", fn)

    def _destroy(self) -> None:
        """Takes its operators away again."""
        for op in self._ops:
            _forget(op)
        self._ops.clear()


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: Any = ("test_schema", "test_faketensor"),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str]:
    """Tries an operator: that it writes to what its schema says and nothing else, and that its fake gives the same
    shapes.

    "SUCCESS" or the error's text, by test. PyTorch's other tests are about its compiler and are refused.
    """
    from ._library.check import CHECKS

    words = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    unknown = [w for w in words if w not in CHECKS]
    if unknown:
        raise NotImplementedError(f"opcheck: {unknown} is about PyTorch's compiler; here are {sorted(CHECKS)}")
    found: dict[str, str] = {}
    for word in words:
        try:
            CHECKS[word](_find_op(op), args, kwargs or {})
            found[word] = "SUCCESS"
        except AssertionError as error:
            if raise_exception:
                raise
            found[word] = str(error)
    return found
