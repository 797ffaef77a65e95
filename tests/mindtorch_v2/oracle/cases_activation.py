"""Cases of activation functions."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []


def case(id: str, code: str, **keywords: object) -> None:
    CASES.append(Case(id, code, **keywords))  # type: ignore[arg-type]


SPECIAL = [
    float("inf"),
    float("-inf"),
    float("nan"),
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -3.0,
    3.0,
    6.5,
    25.0,
    -25.0,
    1e30,
    -1e30,
]

# --- functions of one tensor: id -> expression with {a}, and its in-place form
ONE = {
    "relu": ("torch.relu({a})", "{a}.relu_()"),
    "relu_functional": ("F.relu({a})", "F.relu({a}, inplace=True)"),
    "relu6": ("F.relu6({a})", "F.relu6({a}, inplace=True)"),
    "threshold": ("F.threshold({a}, 0.3, 2.0)", "F.threshold({a}, 0.3, 2.0, inplace=True)"),
    "hardtanh": ("F.hardtanh({a}, -0.5, 0.7)", "F.hardtanh({a}, -0.5, 0.7, inplace=True)"),
    "gelu": ("F.gelu({a})", ""),
    "gelu_tanh": ("F.gelu({a}, approximate='tanh')", ""),
    "silu": ("F.silu({a})", "F.silu({a}, inplace=True)"),
    "elu": ("F.elu({a}, alpha=1.5)", "F.elu({a}, alpha=1.5, inplace=True)"),
    "selu": ("torch.selu({a})", "F.selu({a}, inplace=True)"),
    "celu": ("torch.celu({a}, 0.7)", "F.celu({a}, 0.7, inplace=True)"),
    "leaky_relu": ("F.leaky_relu({a}, 0.2)", "F.leaky_relu({a}, 0.2, inplace=True)"),
    "softplus": ("F.softplus({a}, beta=2, threshold=3)", ""),
    "softshrink": ("F.softshrink({a}, 0.4)", ""),
    "hardshrink": ("F.hardshrink({a}, 0.4)", ""),
    "hardswish": ("F.hardswish({a})", "F.hardswish({a}, inplace=True)"),
    "hardsigmoid": ("F.hardsigmoid({a})", "F.hardsigmoid({a}, inplace=True)"),
    "mish": ("F.mish({a})", "F.mish({a}, inplace=True)"),
    "logsigmoid": ("F.logsigmoid({a})", ""),
    "rrelu_eval": ("F.rrelu({a})", "F.rrelu({a}, inplace=True)"),
}
for name, (plain, inplace) in ONE.items():
    code = plain.format(a="a")
    case(f"{name}_plain", code, a=In((3, 5), low=-4, high=4))
    case(f"{name}_double", code, a=In((2, 3), "float64", -4, 4, layout="transposed"), rtol=1e-7, atol=1e-9)
    case(f"{name}_half", code, a=In((6,), "float16", -4, 4), grad=False)
    case(f"{name}_scalar", code, a=In((), low=-4, high=4))
    case(f"{name}_empty", code, a=In((0, 2)), strides=False)
    case(f"{name}_strided", code, a=In((2, 4), low=-4, high=4, layout="strided"))
    case(f"{name}_int", code, a=In((4,), "int64", -3, 8))
    case(f"{name}_bool", code, a=In((4,), "bool"))
    case(f"{name}_special", code, a=In(values=SPECIAL, grad=False))
    case(f"{name}_special_gradient", code, a=In(values=[0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 30.0, -30.0]))
    case(f"{name}_large", f"b = {code}; b[0, :4], b[-1, -4:]", a=In((4, 10000), low=-4, high=4, grad=False))
    if name != "hardsigmoid":  # whose second derivative PyTorch lacks
        case(
            f"{name}_second",
            f"""
b = {code}
g, = torch.autograd.grad((b * b).sum(), a, create_graph=True)
torch.autograd.grad((g * g).sum(), a, allow_unused=True)[0]""",
            a=In((6,), "float64", -4, 4),
            rtol=1e-7,
            atol=1e-8,
        )
    if inplace:
        case(f"{name}_inplace", f"b = a.clone(); {inplace.format(a='b')}", a=In((5,), low=-4, high=4))
for name in ("gelu", "gelu_tanh", "silu", "mish", "elu", "relu", "leaky_relu", "softplus", "hardswish"):
    case(
        f"{name}_large_gradient",
        f"b = {ONE[name][0].format(a='a')}; g, = torch.autograd.grad(b.sum(), a); g[0, :4], g[-1, -4:]",
        a=In((4, 10000), low=-4, high=4),
    )
    case(f"{name}_expanded_gradient", f"{ONE[name][0].format(a='a')}.sum()", a=In((2, 3), low=-3, high=3))

# --- arguments and errors
case("relu_method", "a.relu(), a.clone().relu_()", a=In((4,)))
case("relu_function_inplace", "b = a.clone(); torch.relu_(b)", a=In((4,)))
case("threshold_function", "torch.threshold(a, 0.1, -1.0), torch.threshold_(a.clone(), 0.1, 2)", a=In((4,)))
case("gelu_unknown", "F.gelu(a, approximate='fast')", a=In((3,), grad=False))
case("hardtanh_crossed", "F.hardtanh(a, 2.0, 1.0)", a=In((3,), grad=False))
case("hardtanh_unsigned", "F.hardtanh(a, -1, 1)", a=In((3,), "uint8", 0, 3))
case("celu_zero", "torch.celu(a, 0)", a=In((3,), grad=False))
case(
    "elu_defaults",
    "F.elu(a), F.celu(a), F.leaky_relu(a), F.softplus(a), F.softshrink(a), F.hardshrink(a), F.hardtanh(a)",
    a=In((5,), low=-3, high=3),
)
case(
    "elu_inplace_negative", "b = a.clone(); F.elu(b, alpha=-1.0, inplace=True).sum().backward()", a=In((3,)), grad=False
)
case(
    "leaky_relu_slopes",
    "F.leaky_relu(a, 2.0), F.leaky_relu(a, -0.5), F.leaky_relu(a, 0.0), F.leaky_relu(a, 1.0)",
    a=In((6,)),
)
case("softshrink_negative", "F.softshrink(a, -1.0)", a=In((3,), grad=False))
case("hardshrink_method", "a.hardshrink(), a.hardshrink(1.0), torch.hardshrink(a)", a=In((5,)))
case("softplus_edges", "F.softplus(a)", a=In(values=[19.0, 20.0, 21.0, 100.0, -100.0]))
case("silu_complex", "F.silu(a)", a=In((3,), "complex64"), rtol=1e-4, grad=False)
case("python_built", "F.softsign(a), F.tanhshrink(a), F.softmin(a, 0)", a=In((4,)))
case("tanh_sigmoid", "torch.tanh(a), torch.sigmoid(a), a.tanh(), a.sigmoid()", a=In((4,)))
case("prelu_single", "F.prelu(a, w)", a=In((3, 4)), w=In((1,), low=0.1, high=0.5))
case("prelu_channels", "torch.prelu(a, w), a.prelu(w)", a=In((2, 3, 4)), w=In((3,), low=0.1, high=0.5))
case("prelu_flat", "F.prelu(a, w)", a=In((4,)), w=In((1,)))
case("prelu_scalar", "F.prelu(a, w), F.prelu(a, v)", a=In(()), w=In((1,)), v=In(()))
case("prelu_mismatch", "F.prelu(a, w)", a=In((2, 3), grad=False), w=In((4,), grad=False))
case("prelu_dims", "F.prelu(a, w)", a=In((2, 3), grad=False), w=In((1, 1), grad=False))
case("prelu_types", "F.prelu(a, w)", a=In((2, 3), "float64", grad=False), w=In((1,), grad=False))
case(
    "prelu_second",
    """
b = F.prelu(a, w)
g, h = torch.autograd.grad((b * b).sum(), (a, w), create_graph=True)
torch.autograd.grad((g * g).sum() + (h * h).sum(), (a, w))""",
    a=In((2, 3), "float64"),
    w=In((3,), "float64", 0.1, 0.5),
)
case("rrelu_bounds", "F.rrelu(a, 0.5, 0.1)", a=In((3,), grad=False))
case("rrelu_training", "F.rrelu(a, 0.1, 0.4, training=True)", a=In((3, 4)))
case(
    "rrelu_training_positive", "F.rrelu(a, training=True), torch.rrelu(a, 0.2, 0.2, True)", a=In((4,), low=0.1, high=2)
)
case("rrelu_arguments", "torch.rrelu(a, 0.2, 0.4), F.rrelu(a, 0.3, 0.3)", a=In((4,)))

# --- glu
case("glu_last", "F.glu(a)", a=In((3, 6)))
case("glu_first", "F.glu(a, 0)", a=In((4, 3), "float64"))
case("glu_middle", "F.glu(a, dim=1)", a=In((2, 4, 3), layout="transposed"))
case("glu_odd", "F.glu(a)", a=In((3, 5), grad=False))
case("glu_scalar", "F.glu(a)", a=In((), grad=False))
case("glu_int", "F.glu(a)", a=In((4,), "int64"))
case(
    "glu_second",
    """
b = F.glu(a, 1)
g, = torch.autograd.grad((b * b).sum(), a, create_graph=True)
torch.autograd.grad((g * g).sum(), a)[0]""",
    a=In((2, 4), "float64"),
)

# --- softmax
for name in ("softmax", "log_softmax"):
    case(f"{name}_last", f"torch.{name}(a, -1), a.{name}(1)", a=In((3, 5)))
    case(f"{name}_first", f"F.{name}(a, dim=0)", a=In((3, 5), "float64"), rtol=1e-7, atol=1e-9)
    case(f"{name}_middle", f"torch.{name}(a, dim=1)", a=In((2, 3, 4)))
    case(f"{name}_transposed", f"torch.{name}(a, 1), torch.{name}(a, 0)", a=In((3, 4), layout="transposed"))
    case(f"{name}_strided", f"torch.{name}(a, 1)", a=In((3, 4), layout="strided"))
    case(f"{name}_half", f"torch.{name}(a, 0)", a=In((6,), "float16"), grad=False)
    case(f"{name}_half_gradient", f"torch.{name}(a, 0)", a=In((6,), "float16"))
    case(f"{name}_dtype", f"torch.{name}(a, 0, dtype=torch.float64), a.{name}(0, torch.float64)", a=In((6,)))
    case(f"{name}_dtype_int", f"F.{name}(a, 0, dtype=torch.float32)", a=In((4,), "int64"))
    case(f"{name}_int", f"torch.{name}(a, 0)", a=In((4,), "int64"))
    case(f"{name}_int_first", f"torch.{name}(a, 0)", a=In((4, 2), "int64"))
    case(f"{name}_scalar", f"torch.{name}(a, 0), torch.{name}(a, -1)", a=In(()))
    case(f"{name}_empty", f"torch.{name}(a, 1), torch.{name}(a, 0)", a=In((0, 3)))
    case(f"{name}_bad_dim", f"torch.{name}(a, 2)", a=In((3, 4), grad=False))
    case(
        f"{name}_infinities",
        f"torch.{name}(a, 1)",
        a=In(
            values=[
                [float("inf"), 1.0],
                [float("-inf"), 1.0],
                [float("-inf"), float("-inf")],
                [float("nan"), 0.0],
                [1e30, -1e30],
            ],
            grad=False,
        ),
    )
    case(
        f"{name}_large",
        f"b = torch.{name}(a, -1); b[0, :3], b[-1, -3:], b.sum(dtype=torch.float64)",
        a=In((300, 200), low=-5, high=5, grad=False),
    )
    case(
        f"{name}_large_gradient",
        f"b = torch.{name}(a, -1); g, = torch.autograd.grad((b * b).sum(), a); g[0, :4], g[-1, -4:]",
        a=In((300, 200), low=-3, high=3),
    )
    case(f"{name}_wide", f"b = torch.{name}(a, 1); b[:, :3], b[:, -3:]", a=In((2, 50000), low=-2, high=2, grad=False))
    case(f"{name}_special", f"torch.special.{name}(a, 0)", a=In((4,)))
    case(
        f"{name}_second",
        f"""
b = torch.{name}(a, 1)
g, = torch.autograd.grad((b * b * b).sum(), a, create_graph=True)
torch.autograd.grad((g * g).sum(), a)[0]""",
        a=In((3, 4), "float64"),
        rtol=1e-7,
        atol=1e-10,
    )
