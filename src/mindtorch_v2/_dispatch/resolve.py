"""From an op and a device to the function that runs it: kernels on arrays, boxed so that they take and give tensors."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _device, _observer, _storage
from .. import _dtype as dt
from .._keys import BACKEND_NAMES, CPU, DEVICES, INFERENCE, META, NPU
from .._ops.movement_shapes import dense_strides
from .._ops.rules import Spec, as_float, result_type
from .._ops.table import Op
from .._quiet import cast as cast_array
from .._quiet import copyto, quiet
from .._shape import broadcast_shapes, contiguous_strides
from .._storage import Storage
from .._tensor import Tensor, bump_version, wrap
from . import modes
from .families import load_family
from .loading import shown_as_loading
from .registry import CHECKS, COMPOSITES, INPLACE, KERNELS, STEPS, STEPWISE, UFUNCS
from .steps import with_steps
from .widening import Widened

Boxed = Callable[..., Any]
device_boxers: dict[int, Callable[[Op], Boxed]] = {}  # key of a further device -> its way of boxing an op
_NUMBERS = (int, float, bool, complex)
_HOST_OPERANDS = ("_pack_padded_sequence", "_pack_padded_sequence_backward")   # lengths are read by the host


def backend_kernel(op: Op, key: int, args: tuple[Any, ...]) -> Boxed:
    """The boxed kernel of `op` for the device bits `key`; remembered for the next call."""
    boxed: Boxed = shown_as_loading(op.event, _find_kernel, op, key, args)
    return boxed


def _find_kernel(op: Op, key: int, args: tuple[Any, ...]) -> Boxed:
    load_family(op.family)
    op.is_composite = op.name in COMPOSITES
    if op.is_composite:
        boxed: Boxed = COMPOSITES[op.name]
    elif key == CPU:
        boxed = box_cpu(op)
    elif key == META:
        boxed = box_meta(op)
    elif key in device_boxers:
        boxed = device_boxers[key](op)
    elif key == 0 and any(p.is_tensor and p.is_list for p in op.schema.params):
        return box_cpu(op)  # an empty list: the kernel says what is wrong with it
    elif key == 0:
        raise NotImplementedError(f"{op.event} got no tensor and no device, so no kernel can be chosen")
    else:
        return _mixed_devices(op, key, args)
    if op.name in STEPWISE:
        boxed = _in_steps(STEPWISE[op.name], boxed, key not in device_boxers or getattr(boxed, "wants_steps", False))
    if op.name in STEPS:
        boxed = with_steps(STEPS[op.name], boxed, allocates=not (op.is_view or op.writes))
    if key == CPU:
        from .on_arrays import on_arrays
        from .plan import plan_of
        boxed = on_arrays(plan_of(op), boxed)
    op.backends[key] = boxed
    return boxed


def _in_steps(steps: Boxed, kernel: Boxed, always: bool) -> Boxed:
    """The kernel as the middle of a function that calls other ops, which record no gradients; the kernel alone while nobody watches,
    unless the steps are wanted always."""
    def boxed(*args: Any) -> Any:
        if _observer.active is None and not always:
            return kernel(*args)
        return modes.call_with_grad(False, steps, kernel, *args)
    return boxed


# --- casting ------------------------------------------------------------------------------------------------------------
def cast_operands(operands: Sequence[Any], to_float: bool) -> tuple[list[Any], dt.dtype]:
    """Arrays (or numbers left as they are) of the operands in their common type, and that type."""
    operands = [x.item() if isinstance(x, np.generic) else x for x in operands]
    common = result_type(*[x for x in operands if x is not None])
    if to_float:
        common = as_float(common)
    out: list[Any] = []
    for x in operands:
        if isinstance(x, Tensor):
            out.append(x._array if x.dtype is common else cast_array(x._array, common.np))
        else:
            out.append(x if x is None or common.inexact else common.np.type(x) if x.__class__ is bool else x)
    return out, common


def _unwrapper(op: Op) -> Callable[[tuple[Any, ...]], list[Any]]:
    """Turns the tensors among the arguments into arrays."""
    lists = {i for i, p in enumerate(op.schema.params) if p.is_tensor and p.is_list}
    singles = {i for i in op.schema.tensor_params if i not in lists}

    def unwrap(args: tuple[Any, ...]) -> list[Any]:
        out = list(args)
        for i in singles:
            x = out[i]
            if isinstance(x, Tensor):
                out[i] = x._array
        for i in lists:
            out[i] = [x._array if isinstance(x, Tensor) else x for x in out[i]]
        return out
    return unwrap


def casting_positions(op: Op) -> list[int]:
    """Where the arguments stand that decide the common type: tensors, and numbers that the rule names."""
    names = op.rule.names if op.rule is not None else None
    return [i for i, p in enumerate(op.schema.params)
            if (p.is_tensor and (names is None or p.name in names)) or (p.type == "Scalar" and names is not None and p.name in names)]


def _caster(op: Op) -> Callable[[tuple[Any, ...]], tuple[list[Any], dt.dtype | None]]:
    """Arrays of all arguments, cast as the op's rule says, and the common type (None without casting)."""
    unwrap = _unwrapper(op)
    rule = op.rule
    if rule is None or rule.cast is None:
        return lambda args: (unwrap(args), None)
    where = casting_positions(op)
    to_float = rule.cast == "float"
    check = CHECKS.get(op.name if op.inplace_of is None else op.inplace_of.name)

    def cast(args: tuple[Any, ...]) -> tuple[list[Any], dt.dtype | None]:
        if check is not None:
            check(*args)
        out = unwrap(args)
        arrays, common = cast_operands([args[i] for i in where], to_float)
        for i, a in zip(where, arrays):
            out[i] = a
        return out, common
    return cast


def explain(op: Op, args: tuple[Any, ...], error: ValueError) -> Exception:
    """PyTorch's error where numpy said that shapes do not fit; the error itself otherwise."""
    if op.rule is not None and op.rule.elementwise:
        shapes = [x._array.shape for x in args if isinstance(x, Tensor)]
        try:
            whole = broadcast_shapes(*shapes)
        except RuntimeError as mismatch:
            return mismatch
        if op.writes and whole != shapes[0]:
            return RuntimeError(f"output with shape {list(shapes[0])} doesn't match the broadcast shape {list(whole)}")
    return error


# --- memory order -------------------------------------------------------------------------------------------------------
_ELEMENTWISE_TOO = {"mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "complex", "polar"}
_ROW_MAJOR = {"masked_fill", "rrelu_with_noise"}


def joins_layouts(op: Op) -> bool:
    """Whether an op makes one elementwise result of several tensors, whose memory may be ordered differently."""
    elementwise = (op.rule is not None and op.rule.elementwise and op.base not in _ROW_MAJOR) or op.base in _ELEMENTWISE_TOO
    return (elementwise and not op.writes and op.inplace_of is None and not op.is_view
            and len(op.schema.returns) == 1 and len(op.schema.tensor_params) > 1)


@lru_cache(maxsize=1024)
def _joint_strides(shape: tuple[int, ...], *operands: tuple[tuple[int, ...], tuple[int, ...]]) -> tuple[int, ...]:
    aligned = []
    for sizes, strides in operands:
        lead = len(shape) - len(sizes)
        aligned.append((*(0,) * lead, *(0 if n == 1 and shape[lead + i] != 1 else s for i, (n, s) in enumerate(zip(sizes, strides)))))
    return dense_strides(shape, *aligned)


def settle(made: Any, operands: Sequence[Any]) -> Any:
    """An elementwise result in the memory order of its operands, of which the first decides before those after it. Numpy's own
    choice differs where they do not agree."""
    arrays = [a for a in operands if a.__class__ is np.ndarray]
    if made.ndim < 2 or len(arrays) < 2 or all(a.flags.c_contiguous for a in arrays):
        return made
    item = made.itemsize
    wanted = _joint_strides(made.shape, *[(a.shape, tuple([s // a.itemsize for s in a.strides])) for a in arrays])
    if tuple([s // item for s in made.strides]) == wanted or not made.size:
        return made
    out: np.ndarray = np.ndarray(made.shape, made.dtype, strides=[s * item for s in wanted])
    out[...] = made
    return out


# --- boxing for the CPU -------------------------------------------------------------------------------------------------
def box_cpu(op: Op) -> Boxed:
    """A function on tensors that runs the op's numpy kernel."""
    kernel = KERNELS.get(op.name)
    if op.inplace_of is not None and kernel is None:
        return _box_inplace_twin(op)
    if kernel is None:
        raise NotImplementedError(f"{op.event} ({op.name}) has no CPU kernel")
    if op.is_view:
        return _box_view(op, kernel, CPU)
    if op.writes:
        return _box_writing(op, kernel)
    return _box_plain(op, kernel)


def _box_plain(op: Op, kernel: Boxed) -> Boxed:
    cast = _caster(op)
    out_type = op.rule.out if op.rule else "numpy"
    names = return_type(op)
    joins = joins_layouts(op)

    def boxed(*args: Any) -> Any:
        arrays, common = cast(args)
        try:
            result = settle(kernel(*arrays), arrays) if joins else kernel(*arrays)
        except ValueError as error:
            raise explain(op, args, error) from None
        if result.__class__ is tuple or result.__class__ is list:
            made = [None if r is None else wrap(r) for r in result]
            return tuple(made) if names is None else names(*made)
        if result is None or result.__class__ in _NUMBERS:
            return result
        t = wrap(result)
        if out_type == "cast" and t.dtype is not common and common is not None:
            t._array, t.dtype = cast_array(t._array, common.np), common
        return t
    return boxed


def return_type(op: Op) -> Any:
    """The tuple type of several outputs (named as in torch.return_types), or None for a list."""
    if op.schema.returns_list or len(op.schema.returns) == 1:
        return None
    from .return_types import named
    return named(op)


def share_storage(view: Tensor, source: Tensor, tracked: bool = True) -> Tensor:
    """Ties a fresh view to the storage of what it views, and if autograd is to know it as a view, to its base."""
    if source._storage is None:
        source._storage = Storage()
    view._storage = source._storage
    if tracked:
        view._base = source if source._base is None else source._base
        view._view_version = source._storage.version
    if source._device is not None:
        view._device = source._device
    return view


def _box_view(op: Op, kernel: Boxed, key: int) -> Boxed:
    unwrap = _unwrapper(op)
    tracked = op.no_grad is None  # what leaves the graph, as detach does, is no view for autograd

    def boxed(*args: Any) -> Any:
        source = args[0]
        key = source._keys & DEVICES
        result = kernel(*unwrap(args))
        if result.__class__ is list or result.__class__ is tuple:
            return tuple([share_storage(wrap(r, None, key), source, tracked) for r in result])
        return share_storage(wrap(result, None, key), source, tracked)
    return boxed


def check_writable(t: Tensor) -> None:
    """RuntimeError for a tensor whose elements share memory, which cannot be written as a whole."""
    a = t._array
    if a.size == 0:
        return
    if not a.flags.writeable or (0 in a.strides and any(s == 0 and n > 1 for s, n in zip(a.strides, a.shape))):
        if not a.flags.writeable and 0 not in a.strides:
            raise RuntimeError("the tensor is backed by read-only memory and cannot be written")
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory "
                           "location. Please clone() the tensor before performing the operation.")


def _box_writing(op: Op, kernel: Boxed) -> Boxed:
    """An op that is declared in place: its kernel writes into the first array."""
    unwrap = _unwrapper(op)

    def boxed(*args: Any) -> Any:
        target = args[0]
        check_writable(target)
        try:
            kernel(*unwrap(args))
        except ValueError as error:
            raise explain(op, args, error) from None
        bump_version(target)
        return target
    return boxed


def type_word(d: dt.dtype) -> str:
    """PyTorch's word for a type in errors: Float, Long, ..."""
    return d.word


def check_result_type(made: dt.dtype, target: dt.dtype) -> None:
    if not dt.can_cast(made, target):
        raise RuntimeError(f"result type {type_word(made)} can't be cast to the desired output type {type_word(target)}")


def check_broadcast(args: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """RuntimeError unless all tensors broadcast to the shape of what is written; PyTorch looks at that before it looks at types."""
    if any(isinstance(x, Tensor) and x._array.shape != shape for x in args):
        whole = broadcast_shapes(shape, *(x._array.shape for x in args if isinstance(x, Tensor)))
        if whole != shape:
            raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(whole)}")


def _box_inplace_twin(op: Op) -> Boxed:
    """The in-place form of a functional op: a kernel that writes if there is one, else compute and copy."""
    assert op.inplace_of is not None
    source = op.inplace_of
    if source.name in COMPOSITES:
        return _composite_inplace(source)
    kernel = KERNELS[source.name]
    writer = INPLACE.get(source.name)
    ufunc = UFUNCS.get(source.name)
    run_ufunc = None if ufunc is None else quiet(ufunc, Widened(source.name, ufunc))
    cast = _caster(op)
    rule_out = op.rule.out if op.rule else "numpy"
    inputs = 1 if ufunc is None else ufunc.nin
    elementwise = op.rule is not None and op.rule.elementwise
    check = CHECKS.get(source.name)

    def boxed(*args: Any) -> Any:
        target = args[0]
        check_writable(target)
        if check is not None:
            check(*args)
        if elementwise:
            check_broadcast(args, target._array.shape)
        arrays, common = cast(args)
        if common is not None and rule_out == "cast":
            check_result_type(common, target.dtype)
        direct = arrays[0] is target._array and (common is None or common is target.dtype)
        try:
            if direct and writer is not None:
                writer(*arrays)
            elif direct and run_ufunc is not None and rule_out != "bool":
                run_ufunc(*arrays[:inputs], out=target._array)
            else:
                _copy_result(target, np.asarray(kernel(*arrays)))
        except ValueError as error:
            raise explain(op, args, error) from None
        bump_version(target)
        return target
    return boxed


def _copy_result(target: Tensor, result: np.ndarray) -> None:
    if result.shape != target._array.shape:
        raise RuntimeError(f"output with shape {list(target._array.shape)} doesn't match the broadcast shape {list(result.shape)}")
    copyto(target._array, result, casting="unsafe")


def _composite_inplace(source: Op) -> Boxed:
    composite = COMPOSITES[source.name]

    def boxed(target: Tensor, *rest: Any) -> Any:
        return target.copy_(composite(target, *rest))
    return boxed


# --- boxing for the meta device -----------------------------------------------------------------------------------------
def meta_array(spec: Spec) -> np.ndarray:
    """An array of the right shape, strides and type over a dummy buffer. It must never be read, and refuses to be written."""
    item = spec.dtype.itemsize
    strides = tuple(s * item for s in spec.strides or contiguous_strides(spec.shape))
    return np.lib.stride_tricks.as_strided(np.zeros(1, spec.dtype.np), tuple(spec.shape), strides, writeable=False)


def elementwise_strides(shape: tuple[int, ...], tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """The strides of an elementwise result: it lies in memory as its operands do."""
    operands = [np.broadcast_to(t._array, shape) for t in tensors]
    return dense_strides(shape, *[tuple(s // a.itemsize for s in a.strides) for a in operands])


def elementwise_spec(op: Op, args: tuple[Any, ...]) -> Spec:
    """The output of an elementwise op by its rule."""
    rule = op.rule
    assert rule is not None
    tensors = [args[i] for i in op.schema.tensor_params if isinstance(args[i], Tensor)]
    shape = broadcast_shapes(*(t._array.shape for t in tensors))
    named = [args[i] for i in casting_positions(op) if args[i] is not None]
    strides = elementwise_strides(shape, tensors)
    if rule.out == "bool":
        return Spec(shape, dt.bool_, strides)
    if rule.cast is None:
        return Spec(shape, tensors[0].dtype, strides)
    common = result_type(*named)
    return Spec(shape, as_float(common) if rule.cast == "float" else common, strides)


def output_specs(op: Op, args: tuple[Any, ...]) -> Any:
    """What the op's outputs look like: a Spec or a sequence of them."""
    if op.rule is not None and op.rule.elementwise:
        return elementwise_spec(op, args)
    if op.meta is None:
        raise NotImplementedError(f"{op.event} ({op.name}) has no meta rule")
    return op.meta(*args)


def box_meta(op: Op) -> Boxed:
    """A function on meta tensors that computes shapes and types only."""
    if op.is_view:
        return _box_view(op, KERNELS[op.name], META)
    if op.writes:
        return _box_meta_writing(op)
    names = return_type(op)

    joins = op.base in _ELEMENTWISE_TOO

    def boxed(*args: Any) -> Any:
        specs = output_specs(op, args)
        if isinstance(specs, Spec):
            if joins and specs.shape:
                tensors = [args[i] for i in op.schema.tensor_params if isinstance(args[i], Tensor)]
                specs = Spec(specs.shape, specs.dtype, elementwise_strides(specs.shape, tensors))
            return wrap(meta_array(specs), specs.dtype, META)
        made = [None if s is None else wrap(meta_array(s), s.dtype, META) for s in specs]
        return tuple(made) if names is None else names(*made)
    return boxed


def _box_meta_writing(op: Op) -> Boxed:
    source = op.inplace_of

    def boxed(*args: Any) -> Any:
        target = args[0]
        if source is not None and source.name not in COMPOSITES:
            spec = output_specs(source, args)
            if isinstance(spec, Spec):
                check_result_type(spec.dtype, target.dtype)
                if tuple(spec.shape) != target._array.shape:
                    raise RuntimeError(f"output with shape {list(target._array.shape)} doesn't match the broadcast shape "
                                       f"{list(spec.shape)}")
        bump_version(target)
        return target
    return boxed


# --- mixed devices, observation -----------------------------------------------------------------------------------------
def flat_tensors(values: Sequence[Any]) -> list[Tensor]:
    """The tensors among arguments or outputs, lists opened."""
    found: list[Tensor] = []
    for v in values:
        if isinstance(v, Tensor):
            found.append(v)
        elif v.__class__ is list or v.__class__ is tuple:
            found.extend(x for x in v if isinstance(x, Tensor))
    return found


def _mixed_devices(op: Op, key: int, args: tuple[Any, ...]) -> Boxed:
    """Numbers wrapped as 0-dim CPU tensors travel to the other device; any other mixture is an error."""
    tensors = flat_tensors(args)
    others = key & ~CPU
    movable = all(t._array.ndim == 0 for t in tensors if t._keys & CPU)
    if key & CPU and others in BACKEND_NAMES and movable and not (op.writes and tensors[0]._keys & CPU) and op.base != "copy_":
        target = next(t.device for t in tensors if t._keys & others)
        inner = op.backends.get(others) or backend_kernel(op, others, args)
        return lambda *given: inner(*[x.to(target) if isinstance(x, Tensor) and x._keys & CPU else x for x in given])
    if op.base == "copy_" or (key == CPU | NPU and op.name in _HOST_OPERANDS):
        return device_boxers[NPU](op) if key & NPU else box_meta(op)
    names = list(dict.fromkeys(str(t.device) for t in tensors))
    raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {names[0]} and {names[1]}!")


def watch_outputs(op: Op, out: Any, observer: Any) -> None:
    """Reports the memory of fresh outputs."""
    if op.is_view or op.writes:
        return
    if isinstance(out, Tensor):
        _storage.watch(out, observer)
    elif out is not None:
        for t in flat_tensors((out,) if out.__class__ is list else tuple(out) if isinstance(out, tuple) else ()):
            _storage.watch(t, observer)


def mark_inference(op: Op, out: Any) -> None:
    """Outputs made in inference mode are marked, so that autograd refuses to save them."""
    if op.writes:
        return
    for t in flat_tensors((out,) if not isinstance(out, tuple) else tuple(out)):
        t._keys |= INFERENCE


def key_of_device(device: _device.device) -> int:
    """The key bit of a device that can be used; RuntimeError says what an unusable one lacks."""
    if device.type == "cpu":
        return CPU
    if device.type == "meta":
        return META
    if NPU not in device_boxers:
        from .._npu_missing import activate
        activate()
    return NPU
