"""Declarations of the ops that work on lists of tensors: `_foreach_*`, and whole optimizer steps, `_fused_*`."""

from __future__ import annotations

from .table import op

WRITES = "it writes into the tensors of a list"

UNARY = (
    "abs",
    "acos",
    "asin",
    "atan",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "frac",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
)
BINARY = ("add", "sub", "mul", "div", "clamp_max", "clamp_min", "maximum", "minimum")  # with a list, a number, numbers
ALPHA = ("add", "sub")  # other may be scaled
TENSOR = ("add", "mul", "div")  # other may be one tensor
TERNARY = ("addcdiv", "addcmul")


def _both(overload: str, arguments: str, no_grad: str = "") -> None:
    """Declares `_foreach_<base><overload>` and its in-place form."""
    base, dot, rest = overload.partition(".")
    op(f"_foreach_{overload}(Tensor[] self{arguments}) -> Tensor[]", method=False)
    op(f"_foreach_{base}_{dot}{rest}(Tensor(a!)[] self{arguments}) -> ()", method=False, no_grad=no_grad or WRITES)


for _name in UNARY:
    _both(_name, "")
for _name in BINARY:
    _alpha = ", *, Scalar alpha=1" if _name in ALPHA else ""
    _both(f"{_name}.List", f", Tensor[] other{_alpha}")
    _both(f"{_name}.Scalar", ", Scalar scalar")
    _both(f"{_name}.ScalarList", ", Scalar[] scalars")
    if _name in TENSOR:
        _both(f"{_name}.Tensor", f", Tensor other{_alpha if _name == 'add' else ''}")
for _name in TERNARY:
    _both(f"{_name}.Scalar", ", Tensor[] tensor1, Tensor[] tensor2, Scalar value=1")
    _both(f"{_name}.ScalarList", ", Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars")
    _both(f"{_name}.Tensor", ", Tensor[] tensor1, Tensor[] tensor2, Tensor scalars")
_both("lerp.List", ", Tensor[] tensors1, Tensor[] weights")
_both("lerp.Scalar", ", Tensor[] tensors1, Scalar weight")
_both("lerp.ScalarList", ", Tensor[] tensors1, Scalar[] weight")
_both("pow.List", ", Tensor[] exponent")
_both("pow.Scalar", ", Scalar exponent")
_both("pow.ScalarList", ", Scalar[] exponent")
op("_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]", method=False)
op("_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", method=False)
op("_foreach_max(Tensor[] self) -> Tensor[]", method=False)
op("_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]", method=False)
op("_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()", method=False, no_grad=WRITES)
op("_foreach_zero_(Tensor(a!)[] self) -> ()", method=False, no_grad=WRITES)

_ADAM = (
    "Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, "
    "Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, {lr} lr, float beta1, float beta2, float weight_decay, "
    "float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None"
)
_SGD = (
    "Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, "
    "{lr} lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, "
    "Tensor? found_inf=None"
)
for _name, _arguments in (("_fused_sgd_", _SGD), ("_fused_adam_", _ADAM), ("_fused_adamw_", _ADAM)):
    op(f"{_name}({_arguments.format(lr='float')}) -> ()", method=False, no_grad=WRITES)
    op(f"{_name}.tensor_lr({_arguments.format(lr='Tensor')}) -> ()", method=False, no_grad=WRITES)

# What gradient scaling does to gradients and to the scale (`amp.GradScaler`).
op(
    "_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()",
    method=False,
    no_grad=WRITES,
)
op(
    "_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, float scale_growth_factor, "
    "float scale_backoff_factor, int growth_interval) -> Tensor(a!)",
    method=False,
    no_grad="it writes into the scale",
)
