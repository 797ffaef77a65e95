"""Ops on lists of tensors, and whole optimizer steps."""

from __future__ import annotations

from .harness import Case, In

A, B, P, Q = In((2, 3)), In((4,)), In((2, 3), low=0.2, high=2.0), In((4,), low=0.2, high=2.0)
_UNARY = (
    "abs",
    "ceil",
    "cos",
    "erf",
    "exp",
    "expm1",
    "floor",
    "frac",
    "neg",
    "round",
    "sigmoid",
    "sign",
    "sin",
    "tan",
    "tanh",
    "trunc",
)
_POSITIVE = ("log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sqrt", "lgamma")
_BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max")
_SGD = (
    "weight_decay={wd}, momentum={momentum}, lr=0.1, dampening={damp}, nesterov={nesterov}, maximize={maximize}, "
    "is_first_step={first}, grad_scale={scale}, found_inf={inf}"
)
_ADAM = (
    "lr=0.1, beta1=0.9, beta2=0.99, weight_decay={wd}, eps=1e-8, amsgrad={ams}, maximize={maximize}, "
    "grad_scale={scale}, "
    "found_inf={inf}"
)


def _sgd(
    id: str,
    wd: float = 0.0,
    momentum: float = 0.0,
    damp: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
    first: bool = False,
    scale: str = "None",
    inf: str = "None",
) -> Case:
    options = _SGD.format(
        wd=wd, momentum=momentum, damp=damp, nesterov=nesterov, maximize=maximize, first=first, scale=scale, inf=inf
    )
    buffers = "[m]" if momentum else "[]"
    return Case(id, f"torch._fused_sgd_([p], [g], {buffers}, {options}); [p, g, m]", grad=False, p=A, g=A, m=A)


def _adam(
    id: str,
    name: str = "_fused_adam_",
    wd: float = 0.0,
    ams: bool = False,
    maximize: bool = False,
    scale: str = "None",
    inf: str = "None",
) -> Case:
    options = _ADAM.format(wd=wd, ams=ams, maximize=maximize, scale=scale, inf=inf)
    most = "[x]" if ams else "[]"
    code = f"torch.{name}([p], [g], [m], [s], {most}, [torch.tensor(3.)], {options}); [p, g, m, s, x]"
    return Case(id, code, grad=False, p=A, g=A, m=A, s=P, x=P)


CASES = [Case(n, f"torch._foreach_{n}([a, b])", grad=False, a=A, b=B) for n in _UNARY]
CASES += [Case(n, f"torch._foreach_{n}([a, b])", grad=False, a=P, b=Q) for n in _POSITIVE]
CASES += [
    Case(f"{n}_", f"torch._foreach_{n}_([a, b]); [a, b]", grad=False, a=A, b=B)
    for n in ("abs", "exp", "neg", "sigmoid", "round")
]
for _n in _BINARY:
    CASES += [
        Case(f"{_n}-list", f"torch._foreach_{_n}([a, b], [c, d])", grad=False, a=A, b=B, c=P, d=Q),
        Case(f"{_n}-number", f"torch._foreach_{_n}([a, b], 0.5)", grad=False, a=A, b=B),
        Case(f"{_n}-numbers", f"torch._foreach_{_n}([a, b], [0.5, 2.0])", grad=False, a=A, b=B),
        Case(f"{_n}_-list", f"torch._foreach_{_n}_([a, b], [c, d]); [a, b]", grad=False, a=A, b=B, c=P, d=Q),
        Case(f"{_n}_-number", f"torch._foreach_{_n}_([a, b], 0.5); [a, b]", grad=False, a=A, b=B),
        Case(f"{_n}_-numbers", f"torch._foreach_{_n}_([a, b], [0.5, 2.0]); [a, b]", grad=False, a=A, b=B),
    ]
for _n in ("addcmul", "addcdiv"):
    CASES += [
        Case(f"{_n}-number", f"torch._foreach_{_n}([a], [c], [d], value=0.5)", grad=False, a=A, c=A, d=P),
        Case(f"{_n}_-numbers", f"torch._foreach_{_n}_([a], [c], [d], [0.5]); a", grad=False, a=A, c=A, d=P),
        Case(
            f"{_n}_-tensor", f"torch._foreach_{_n}_([a], [c], [d], torch.tensor([0.5])); a", grad=False, a=A, c=A, d=P
        ),
    ]
CASES += [
    Case("add-alpha", "torch._foreach_add([a, b], [a, b], alpha=3)", grad=False, a=A, b=B),
    Case("add_-alpha", "torch._foreach_add_([a], [c], alpha=-0.1); a", grad=False, a=A, c=A),
    Case("add_-tensor", "torch._foreach_add_([a, b], torch.tensor(2.), alpha=2); [a, b]", grad=False, a=A, b=B),
    Case("mul_-tensor", "torch._foreach_mul_([a, b], torch.tensor(2.)); [a, b]", grad=False, a=A, b=B),
    Case("div-tensor", "torch._foreach_div([a, b], torch.tensor(2.))", grad=False, a=A, b=B),
    Case("lerp-number", "torch._foreach_lerp([a], [c], 0.3)", grad=False, a=A, c=A),
    Case("lerp_-list", "torch._foreach_lerp_([a], [c], [d]); a", grad=False, a=A, c=A, d=P),
    Case("pow-number", "torch._foreach_pow([a, b], 2)", grad=False, a=P, b=Q),
    Case("pow-list", "torch._foreach_pow([a], [c])", grad=False, a=P, c=P),
    Case("pow-base", "torch._foreach_pow(2.0, [a, b])", grad=False, a=A, b=B),
    Case("norm", "torch._foreach_norm([a, b])", grad=False, a=A, b=B),
    Case("norm1", "torch._foreach_norm([a, b], 1)", grad=False, a=A, b=B),
    Case("norm-inf", "torch._foreach_norm([a], math.inf)", grad=False, a=A),
    Case("max", "torch._foreach_max([a, b])", grad=False, a=A, b=B),
    Case("clone", "torch._foreach_clone([a, b])", grad=False, a=A, b=B),
    Case("copy_", "torch._foreach_copy_([a], [c]); a", grad=False, a=A, c=In((2, 3), "float64")),
    Case("zero_", "torch._foreach_zero_([a, b]); [a, b]", grad=False, a=A, b=B),
    Case("gradient", "torch._foreach_mul(torch._foreach_exp([a, b]), 2.0)[0].sum()", a=A, b=B, rtol=1e-4),
    Case("error-empty", "torch._foreach_add([], 1)"),
    Case("error-lengths", "torch._foreach_add([a], [a, a])", grad=False, a=A),
    Case("error-numbers", "torch._foreach_add([a], [1.0, 2.0])", grad=False, a=A),
    _sgd("sgd"),
    _sgd("sgd-decay", wd=0.1),
    _sgd("sgd-momentum", momentum=0.9),
    _sgd("sgd-first", momentum=0.9, first=True),
    _sgd("sgd-dampening", momentum=0.9, damp=0.3),
    _sgd("sgd-nesterov", wd=0.01, momentum=0.9, nesterov=True),
    _sgd("sgd-maximize", maximize=True, wd=0.1),
    _sgd("sgd-scaled", scale="torch.tensor(4.)", inf="torch.tensor(0.)"),
    _sgd("sgd-overflow", scale="torch.tensor(4.)", inf="torch.tensor(1.)"),
    _adam("adam"),
    _adam("adam-decay", wd=0.1),
    _adam("adam-amsgrad", ams=True),
    _adam("adam-maximize", maximize=True),
    _adam("adam-scaled", scale="torch.tensor(4.)", inf="torch.tensor(0.)"),
    _adam("adam-overflow", scale="torch.tensor(4.)", inf="torch.tensor(1.)"),
    _adam("adamw", "_fused_adamw_", wd=0.1),
    _adam("adamw-amsgrad", "_fused_adamw_", wd=0.1, ams=True),
]
