"""From an op to a function on meta tensors, which computes shapes and types only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._dispatch.checks import check_result_type
from ..._dispatch.plan import plan_of
from ..._dispatch.registry import COMPOSITES, KERNELS
from ..._dispatch.resolve import device_boxers
from ..._dispatch.specs import elementwise_strides, meta_array, output_specs
from ..._dispatch.views import box_view
from ..._keys import META
from ..._ops.rules import Spec
from ..._ops.table import Op
from ..._tensor import Tensor, bump_version, wrap

Boxed = Callable[..., Any]


def box(op: Op) -> Boxed:
    """A function on meta tensors that computes shapes and types only."""
    plan = plan_of(op)
    if plan.is_view:
        return box_view(op, KERNELS[op.name])
    if plan.writes:
        return _box_meta_writing(op)
    named_tuple, joins = plan.tuple_type, plan.joins

    def boxed(*args: Any) -> Any:
        specs = output_specs(op, args)
        if isinstance(specs, Spec):
            if joins and specs.shape and specs.strides is None:
                tensors = [args[i] for i in op.schema.tensor_params if isinstance(args[i], Tensor)]
                specs = Spec(specs.shape, specs.dtype, elementwise_strides(specs.shape, tensors))
            return wrap(meta_array(specs), specs.dtype, META)
        made = [None if s is None else wrap(meta_array(s), s.dtype, META) for s in specs]
        return tuple(made) if named_tuple is None else named_tuple(*made)

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
                    raise RuntimeError(
                        f"output with shape {list(target._array.shape)} doesn't match the broadcast shape "
                        f"{list(spec.shape)}"
                    )
        bump_version(target)
        return target

    return boxed


device_boxers[META] = box
