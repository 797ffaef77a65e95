"""Counts the floating point operations of matrix products, convolutions and attention while a program runs, per module.

    with FlopCounterMode() as counter:
        model(x).sum().backward()
    counter.get_total_flops()

Backward passes are counted in the modules whose forward recorded them.
"""

from __future__ import annotations

import math
import threading
import warnings
import weakref
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from .. import ops as _ops
from .._ops import table as _table
from .._tensor import Tensor
from ..nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from ..ops import OpOverloadPacket, aten
from ..profiler.record.kinds import Kind
from ..profiler.record.session import add_listener, remove_listener

__all__ = ["FlopCounterMode", "register_flop_formula"]

Formula = Callable[..., int]
_F = TypeVar("_F", bound=Callable[..., Any])
_SUFFIXES = ("", "K", "M", "B", "T")
flop_registry: dict[OpOverloadPacket, Formula] = {}


def get_shape(value: Any) -> Any:
    """Tensors as their shapes, inside lists and dictionaries too; everything else as it is."""
    if isinstance(value, Tensor):
        return value.shape
    if isinstance(value, (list, tuple)):
        shapes = [get_shape(item) for item in value]
        return shapes if isinstance(value, list) else tuple(shapes)
    return {key: get_shape(item) for key, item in value.items()} if isinstance(value, dict) else value


def shape_wrapper(f: Formula) -> Formula:
    """A formula on shapes, made to take the arguments and the result of a call."""

    @wraps(f)
    def of_values(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        return f(*get_shape(args), out_shape=get_shape(out_val), **get_shape(kwargs))

    return of_values


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[_F], _F]:
    """Declares how operators are counted. The function is called with the shapes of the arguments and `out_shape`;
    with `get_raw`, with the arguments themselves and `out_val`.

    targets   `torch.ops.aten.mm`, or a list of such
    """

    def declare(formula: _F) -> _F:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    "torch.ops.mylib.foo), "
                    f"got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula if get_raw else shape_wrapper(formula)
        return formula

    return declare


# ---- formulas: multiplications and additions, two per step of a dot product
# ---------------------------------------------------


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Sequence[int], b_shape: Sequence[int], *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """(m, k) times (k, n)."""
    m, k = a_shape
    k2, n = b_shape
    if k != k2:
        raise AssertionError(f"matmul: inner dimensions must match (k == k2), got {k} and {k2}")
    return m * n * 2 * k


@register_flop_formula(aten.addmm)
def addmm_flop(
    self_shape: Any, a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any
) -> int:
    """The product alone."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any) -> int:
    """b products (m, k) times (k, n)."""
    b, m, k = a_shape
    b2, k2, n = b_shape
    if b != b2 or k != k2:
        raise AssertionError(f"bmm: batch and inner dimensions must match, got {tuple(a_shape)} and {tuple(b_shape)}")
    return b * m * n * 2 * k


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(
    self_shape: Any, a_shape: Sequence[int], b_shape: Sequence[int], out_shape: Any = None, **kwargs: Any
) -> int:
    """The products alone."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(
    x_shape: Sequence[int], w_shape: Sequence[int], out_shape: Sequence[int], transposed: bool = False
) -> int:
    """A convolution: each position of the output (of the input, where it is transposed) meets the whole filter."""
    positions = (x_shape if transposed else out_shape)[2:]
    c_out, c_in, *filter_size = w_shape
    return math.prod(positions) * math.prod(filter_size) * x_shape[0] * c_out * c_in * 2


@register_flop_formula([aten.convolution, aten._convolution])
def conv_flop(
    x_shape: Any,
    w_shape: Any,
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Any,
    x_shape: Any,
    w_shape: Any,
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    _output_padding: Any,
    _groups: Any,
    output_mask: Sequence[bool],
    out_shape: Any,
    **kwargs: Any,
) -> int:
    """The input's gradient is the opposite kind of convolution; the weight's is one of inputs with gradients over
    the batch.
    """

    def swapped(shape: Sequence[int]) -> list[int]:
        return [shape[1], shape[0], *shape[2:]]

    flops = 0
    if output_mask[0]:
        flops += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        moving, fixed = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        flops += conv_flop_count(swapped(moving), swapped(fixed), swapped(out_shape[1]), transposed=False)
    return flops


def _attention_sizes(query_shape: Any, key_shape: Any, value_shape: Any) -> tuple[int, int, int, int, int]:
    """(batch times heads, queries, keys, size of a query, size of a value), after a check that they fit."""
    b, h, s_q, d_q = query_shape
    b2, h2, s_k, d_k = key_shape
    b3, h3, s_v, d_v = value_shape
    if not (b == b2 == b3 and h2 == h3 and h % h2 == 0 and d_q == d_k and s_k == s_v):
        raise AssertionError(
            f"attention: query {tuple(query_shape)}, key {tuple(key_shape)} and value {tuple(value_shape)} do not fit"
        )
    return b * h, s_q, s_k, d_q, d_v


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Attention: queries by keys, then weights by values. Masks and causality save nothing."""
    batch, queries, keys, d_q, d_v = _attention_sizes(query_shape, key_shape, value_shape)
    return bmm_flop((batch, queries, d_q), (batch, d_q, keys)) + bmm_flop((batch, queries, keys), (batch, keys, d_v))


@register_flop_formula(aten._scaled_dot_product_flash_attention_for_cpu)
def sdpa_flop(
    query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def sdpa_backward_flop_count(grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """The weights once more, then the gradients of weights, values, queries and keys: five batches of products."""
    batch, queries, keys, d_q, d_v = _attention_sizes(query_shape, key_shape, value_shape)
    if tuple(grad_out_shape[:3]) != (*query_shape[:2], queries) or grad_out_shape[3] != d_v:
        raise AssertionError(
            f"attention: a gradient of shape {tuple(grad_out_shape)} does not fit query {tuple(query_shape)} and "
            f"value {tuple(value_shape)}"
        )
    # weights again; gradients of queries and of keys
    by_queries = bmm_flop((batch, queries, d_q), (batch, d_q, keys))
    by_values = bmm_flop((batch, queries, d_v), (batch, d_v, keys))  # gradients of weights and of values
    return 3 * by_queries + 2 * by_values


def sdpa_backward_flop(
    grad_out_shape: Any,
    query_shape: Any,
    key_shape: Any,
    value_shape: Any,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


def _register_attention_backward() -> None:
    """The backward of CPU attention is an operator only where one is declared."""
    name = "_scaled_dot_product_flash_attention_for_cpu_backward"
    if name in _table.OVERLOADS:
        register_flop_formula(getattr(aten, name))(sdpa_backward_flop)


_register_attention_backward()


# ---- as text
# --------------------------------------------------------------------------------------------------------------------


def get_suffix_str(number: int) -> str:
    """The largest unit in which a number has at least two digits."""
    return _SUFFIXES[max(0, min(len(_SUFFIXES) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: float, suffix: str) -> str:
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: float, denom: float) -> str:
    return f"{num / denom:.2%}" if denom else "0%"


def _as_table(rows: list[list[str]]) -> str:
    """Columns under headings, the first to the left and the others to the right."""
    lines = [["Module", "FLOP", "% Total"], *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(3)]
    lines.insert(1, ["-" * width for width in widths])
    texts = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in lines]
    return "\n".join(texts)


# ---- counting
# -------------------------------------------------------------------------------------------------------------------


class _Thread(threading.local):
    """What is under way on a thread: calls, how many of them are counted, and the modules around."""

    def __init__(self) -> None:
        self.calls: list[tuple[OpOverloadPacket | None, Any, tuple[Any, ...], bool]] = []
        self.counted = 0
        self.modules: list[tuple[str, ...]] = [()]


class FlopCounterMode:
    """Counts while it is entered; entering again begins at zero. A call inside a counted one is not counted again.

    mods            no longer needed
    depth           how deep in the tree of modules the table goes
    display         print the table at the end
    custom_mapping  further formulas, {operator: function}: they are called like those of `register_flop_formula`,
    with the values
                    themselves if the function has a true attribute `_get_raw`
    """

    def __init__(
        self,
        mods: Module | list[Module] | None = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        own = {
            op: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
            for op, formula in (custom_mapping or {}).items()
        }
        self.flop_registry = {**flop_registry, **own}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._entered_modules: weakref.WeakSet[Module] = weakref.WeakSet()
        self._modules_of_node: dict[int, tuple[str, ...]] = {}
        self._thread = _Thread()
        self._hooks: list[Any] = []

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._modules_of_node.clear()
        self._thread = _Thread()
        self._hooks = [
            register_module_forward_pre_hook(self._module_begins),
            register_module_forward_hook(self._module_ends, always_call=True),
        ]
        add_listener(self)
        return self

    def __exit__(self, *args: object) -> None:
        remove_listener(self)
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        if self.display:
            print(self.get_table(self.depth))

    # ---- modules --------------------------------------------------------------------------------------------

    def _name_of(self, module: Module) -> str:
        """Its path from the outermost module called, which is named by its class."""
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._entered_modules:
            self._entered_modules.add(module)
            for child_name, child in module.named_children():
                self._names[child] = f"{name}.{child_name}"
                self._name_of(child)
        return name

    def _module_begins(self, module: Module, args: Any) -> None:
        modules = self._thread.modules
        name = self._name_of(module)
        modules.append(modules[-1] if name in modules[-1] else (*modules[-1], name))

    def _module_ends(self, module: Module, args: Any, output: Any) -> None:
        if len(self._thread.modules) > 1:
            self._thread.modules.pop()

    # ---- calls: what an observer is told ----------------------------------------------------------------------

    def enter(
        self, kind: Kind, name: str, op: Any, args: tuple[Any, ...], sequence_nr: int, forward_thread: int
    ) -> None:
        thread: _Thread = self._thread
        is_backward = kind in (Kind.BACKWARD, Kind.NODE)
        if is_backward:
            thread.modules.append(self._modules_of_node.get(sequence_nr, thread.modules[-1]))
        elif sequence_nr >= 0 and thread.modules[-1]:
            # the last call with a number is the one that makes its node
            self._modules_of_node[sequence_nr] = thread.modules[-1]
        packet = None
        known: Any = _table.OPS
        if op is not None and not thread.counted and known.get(op.name) is op:
            packet = getattr(_ops.aten, op.base)
            packet = packet if packet in self.flop_registry else None
        thread.calls.append((packet, op, args, is_backward))
        thread.counted += packet is not None

    def outputs(self, result: Any) -> None:
        if not self._thread.calls:
            return
        packet, op, args, _ = self._thread.calls[-1]
        if packet is None:
            return
        params = op.schema.params
        positional = [a for a, p in zip(args, params) if not p.keyword_only]
        keywords = {p.name: a for a, p in zip(args, params) if p.keyword_only and a != p.default}
        flops = self.flop_registry[packet](*positional, **keywords, out_val=result)
        for path in ("Global", *self._thread.modules[-1]):
            self.flop_counts[path][packet] += flops

    def leave(self) -> None:
        thread = self._thread
        if thread.calls:
            packet, _, _, is_backward = thread.calls.pop()
            thread.counted -= packet is not None
            if is_backward and len(thread.modules) > 1:
                thread.modules.pop()

    # ---- results --------------------------------------------------------------------------------------------

    def get_total_flops(self) -> int:
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """{module: {operator: count}}; "Global" holds everything."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Modules to the given depth, with their operators, in shares of the whole."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        suffix = get_suffix_str(total)

        def rows_of(name: str, indent: int) -> list[list[str]]:
            counts = self.flop_counts[name]
            cells = [(name, sum(counts.values())), *((f" - {op}", count) for op, count in counts.items())]
            return [
                [" " * indent + text, convert_num_with_suffix(count, suffix), convert_to_percent_str(count, total)]
                for text, count in cells
            ]

        names = sorted(name for name in self.flop_counts if name != "Global" and name.count(".") < depth)
        is_told_by_a_module = any(sum(self.flop_counts[name].values()) >= total for name in names)
        shift = 0 if is_told_by_a_module else 1
        rows = [] if is_told_by_a_module else rows_of("Global", 0)
        for name in names:
            rows += rows_of(name, name.count(".") + shift)
        return _as_table(rows)
