"""Differentiation: `torch.autograd`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as _np

from .. import _autograd as _autograd
from .._autograd.engine import run_backward as _run_backward
from .._autograd.function import Function as Function
from .._autograd.grad_mode import enable_grad as enable_grad
from .._autograd.grad_mode import inference_mode as inference_mode
from .._autograd.grad_mode import no_grad as no_grad
from .._autograd.grad_mode import set_grad_enabled as set_grad_enabled
from .._dispatch.modes import SPACE as _SPACE
from .._dispatch.namespace import public as _public
from .._dispatch.overrides import ask as _ask
from .._dispatch.overrides import asks as _asks
from .._keys import CPU as _CPU
from .._keys import OBSERVED as _OBSERVED
from .._keys import SPECIAL as _SPECIAL
from .._lazy_parts import lazy_parts as _lazy_parts
from .._tensor import Tensor
from .._tensor import preserve_format as _preserve_format
from .._tensor import wrap as _wrap
from . import functional as functional
from . import grad_mode as grad_mode
from . import graph as graph
from .anomaly_mode import detect_anomaly as detect_anomaly
from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
from .grad_mode import set_multithreading_enabled as set_multithreading_enabled
from .gradcheck import GradcheckError as GradcheckError
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck
from .variable import Variable as Variable

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "functional",
    "GradcheckError",
]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, Tensor) or value is None else tuple(value)


def _gradients(outputs: Sequence[Tensor], given: Sequence[Any]) -> list[Tensor]:
    """The starting gradients: those given, or ones for scalars."""
    made = []
    for i, out in enumerate(outputs):
        if not out.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        grad = given[i] if i < len(given) else None
        if grad is None:
            if out.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if not out.is_floating_point():
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
            is_plain = out._keys & _CPU and not _SPACE["_mode"] & (_SPECIAL | _OBSERVED)
            grad = (
                _wrap(_np.ones(out._array.shape, out._array.dtype))
                if is_plain
                else _public.ones_like(out, memory_format=_preserve_format)
            )
        elif not isinstance(grad, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
        elif grad.shape != out.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {grad.shape} and output[{i}] has a shape of "
                f"{out.shape}."
            )
        elif grad.is_complex() != out.is_complex():
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                f"dtype: grad_output[{i}] has a dtype of {grad.dtype} and output[{i}] has a dtype of {out.dtype}."
            )
        made.append(grad)
    return made


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Adds to the leaves' `grad` the gradients of `tensors`, weighted by `grad_tensors` (ones for scalars).

    retain_graph  keep what was saved, so that a second pass is possible; defaults to create_graph.
    create_graph  record the pass itself, for higher derivatives.
    inputs        compute and accumulate only for these tensors.

    >>> x = torch.tensor([3.], requires_grad=True)
    >>> torch.autograd.backward(x * x)
    >>> x.grad
    tensor([6.])
    """
    if inputs is not None and len(_as_tuple(inputs)) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    outputs = _as_tuple(tensors)
    given = _as_tuple(grad_tensors) if grad_tensors is not None else ()
    grads = _gradients(outputs, given)
    keep = create_graph if retain_graph is None else retain_graph
    _run_backward(outputs, grads, keep, create_graph, () if inputs is None else _as_tuple(inputs))


def _batch_size(grad_outputs: Any) -> int:
    sizes = {len(g) for g in _as_tuple(grad_outputs) if g is not None}
    if len(sizes) != 1:
        raise ValueError(
            "is_grads_batched=True needs grad_outputs whose first dimensions are the batch, all of one size; got sizes "
            f"{sorted(sizes)}"
        )
    return sizes.pop()


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of `outputs` with respect to `inputs`, as a tuple; nothing is accumulated.

    >>> x = torch.tensor([3.], requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor([6.]),)
    """
    if _SPACE["_overridden"] and _asks((outputs, inputs)):
        options = {
            "grad_outputs": grad_outputs,
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "only_inputs": only_inputs,
            "allow_unused": allow_unused,
            "is_grads_batched": is_grads_batched,
            "materialize_grads": materialize_grads,
        }
        return _ask(grad, (outputs, inputs), (outputs, inputs), options)
    if is_grads_batched:
        rows = [
            grad(
                outputs,
                inputs,
                [None if g is None else g[i] for g in _as_tuple(grad_outputs)],
                True,
                create_graph,
                only_inputs,
                allow_unused,
                False,
                materialize_grads,
            )
            for i in range(_batch_size(grad_outputs))
        ]
        return tuple(None if column[0] is None else _public.stack(column) for column in zip(*rows))  # type: ignore[misc]
    wanted = _as_tuple(inputs)
    for t in wanted:
        if not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    outs = _as_tuple(outputs)
    grads = _gradients(outs, _as_tuple(grad_outputs) if grad_outputs is not None else ())
    keep = create_graph if retain_graph is None else retain_graph
    found = _run_backward(outs, grads, keep, create_graph, wanted, capture_only=True)
    if materialize_grads:
        return tuple(_public.zeros_like(t) if g is None else g for t, g in zip(wanted, found))
    if not allow_unused:
        for i, g in enumerate(found):
            if g is None:
                raise RuntimeError(
                    f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                    "allow_unused=True if this is the desired behavior."
                )
    return tuple(found)  # type: ignore[arg-type]


__getattr__, __dir__ = _lazy_parts(
    __name__,
    ("forward_ad", "function", "profiler", "profiler_util", "profiler_legacy", "variable"),
    {  # names that belong to the profiler
        "kineto_available": "profiler.record.config",
        "_supported_activities": "profiler.record.config:supported_activities",
        **dict.fromkeys(("ProfilerActivity", "ProfilerState", "DeviceType"), "profiler.record.enums"),
        **dict.fromkeys(
            (
                "ProfilerConfig",
                "_add_metadata_json",
                "_disable_profiler",
                "_disable_profiler_legacy",
                "_enable_profiler",
                "_enable_profiler_legacy",
                "_is_kineto_stopped",
                "_kineto_step",
                "_prepare_profiler",
                "_record_function_with_args_enter",
                "_record_function_with_args_exit",
                "_toggle_collection_dynamic",
            ),
            "profiler.results.low_level",
        ),
        "_KinetoEvent": "profiler.results.kineto:KinetoEvent",
        "_ProfilerResult": "profiler.results.kineto:ProfilerResult",
        "_profiler_enabled": "profiler.record.session:is_recording",
    },
)
