"""Values where operators are at the limits of what they take: nothing in a batch, end points that an integer type cuts,
poles and infinities, numbers that take the type of a tensor first."""

from __future__ import annotations

import copy

from .harness import Case, In

INF = float("inf")
NAN = float("nan")


def _ranges() -> list[Case]:
    codes = [
        "torch.arange(1., 5.000001, 2., dtype=torch.int32)",
        "torch.arange(0, 5, 0.5, dtype=torch.int32)",
        "torch.arange(0, 5, 0.5, dtype=torch.int64)",
        "torch.arange(0, 5, 1.5, dtype=torch.uint8)",
        "torch.arange(5.5, -0.9, -1.5, dtype=torch.int16)",
        "torch.arange(5, 0.5, -1.5, dtype=torch.int32)",
        "torch.arange(0.5, 5.7, 1.5, dtype=torch.int64)",
        "torch.arange(0, -0.5, 1, dtype=torch.int32)",
        "torch.arange(250, 260, dtype=torch.uint8)",
        "torch.arange(-3, 3, dtype=torch.uint8)",
        "torch.arange(5, dtype=torch.complex64)",
        "torch.arange(1., 5.000001, 2., dtype=torch.int32, device='meta').shape",
        "torch.arange(0, 5, 1.5, dtype=torch.int64, device='meta').shape",
        "torch.range(0, 5.5, 1.5, dtype=torch.int32)",
        "torch.range(0.7, 5.5, 1.5, dtype=torch.int64)",
        "torch.linspace(0, 4.7, 10, dtype=torch.int64)",
        "torch.linspace(-3.7, 4.7, 6, dtype=torch.int32)",
        "torch.linspace(10, -3, 7, dtype=torch.int16)",
        "torch.linspace(4.3, 0, 9, dtype=torch.uint8)",
        "torch.linspace(1.7, 9.5, 1, dtype=torch.int64)",
        "torch.linspace(0, 300, 2, dtype=torch.int8)",
        "torch.linspace(0, 10, 7, dtype=torch.bool)",
        "torch.logspace(0, 1.2, 3, dtype=torch.int64)",
        "torch.logspace(0, 5.9, 6, base=2.5, dtype=torch.int32)",
        "torch.logspace(-1, 2.7, 4, dtype=torch.int32)",
        "torch.logspace(2.7, 3, 1, base=2.5, dtype=torch.int64)",
        "torch.logspace(0, 3, 4, base=-2.5, dtype=torch.int64)",
    ]
    return [Case(code, code) for code in codes]


def _any_layout(case: Case) -> Case:
    made = copy.copy(case)
    object.__setattr__(made, "strides", False)
    return made


def _empty_batches() -> list[Case]:
    state = "[m.running_mean, m.running_var, m.num_batches_tracked]"
    cases = []
    for word, shape in {"1d": (0, 3), "2d": (0, 3, 2, 2), "3d": (0, 3, 2, 2, 1)}.items():
        cases.append(
            Case(f"batch_norm{word}_empty", f"m = torch.nn.BatchNorm{word}(3); y = m(x); [y, *{state}]", x=In(shape))
        )
        cases.append(
            Case(
                f"batch_norm{word}_empty_grads",
                f"m = torch.nn.BatchNorm{word}(3); m(x).sum().backward(); [m.weight.grad, m.bias.grad, x.grad]",
                x=In(shape),
            )
        )
    cases += [
        Case("batch_norm_no_space", f"m = torch.nn.BatchNorm1d(3); y = m(x); [y, *{state}]", x=In((2, 3, 0))),
        Case("batch_norm_empty_eval", f"m = torch.nn.BatchNorm1d(3).eval(); y = m(x); [y, *{state}]", x=In((0, 3))),
        Case("batch_norm_empty_plain", "F.batch_norm(x, None, None, training=True)", x=In((0, 3))),
        Case(
            "native_batch_norm_empty",
            "torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)",
            x=In((0, 3)),
            grad=False,
        ),
        Case(
            "layer_norm_empty_grads",
            "m = torch.nn.LayerNorm(4); m(x).sum().backward(); [m.weight.grad, m.bias.grad, x.grad]",
            x=In((0, 4)),
        ),
        Case(
            "native_layer_norm_of_nothing",
            "torch.native_layer_norm(x, [0], None, None, 1e-5)",
            x=In((3, 0)),
            grad=False,
        ),
        Case(
            "group_norm_empty_grads",
            "m = torch.nn.GroupNorm(2, 4); m(x).sum().backward(); [m.weight.grad, m.bias.grad, x.grad]",
            x=In((0, 4, 3)),
        ),
        Case(
            "native_group_norm_no_space",
            "torch.native_group_norm(x, None, None, 2, 4, 0, 2, 1e-5)",
            x=In((2, 4, 0)),
            grad=False,
        ),
    ]
    codes = {
        "adaptive_max_pool": "F.adaptive_max_pool2d(torch.zeros(0, 3, 4, 4), 2, return_indices=True)",
        "grid_sample": "F.grid_sample(torch.zeros(0, 3, 4, 4), torch.zeros(0, 2, 2, 2), align_corners=False)",
        "cross_entropy": "[F.cross_entropy(torch.zeros(0, 3), torch.zeros(0, dtype=torch.long), reduction=r) for r "
        "in ('sum', 'mean', 'none')]",
        "ctc": "F.ctc_loss(torch.zeros(5, 0, 3), torch.zeros(0, 2, dtype=torch.long), torch.zeros(0, "
        "dtype=torch.long), torch.zeros(0, dtype=torch.long))",
        "attention": "torch.nn.MultiheadAttention(4, 2)(torch.zeros(3, 0, 4), torch.zeros(3, 0, 4), torch.zeros(3, "
        "0, 4))[0].detach()",
        "encoder": "torch.nn.TransformerEncoderLayer(4, 2, 8)(torch.zeros(3, 0, 4)).detach()",
        "lstm": "m = torch.nn.LSTM(3, 2); m(torch.zeros(4, 0, 3))[0].sum().backward(); [m.weight_ih_l0.grad, "
        "m.bias_hh_l0.grad]",
        "gru": "m = torch.nn.GRU(3, 2); m(torch.zeros(4, 0, 3))[0].sum().backward(); [m.weight_ih_l0.grad, "
        "m.bias_hh_l0.grad]",
        "conv": "m = torch.nn.Conv2d(3, 2, 3); m(torch.zeros(0, 3, 4, 4)).sum().backward(); [m.weight.grad, "
        "m.bias.grad]",
        "linear": "m = torch.nn.Linear(3, 2); m(torch.zeros(0, 3)).sum().backward(); [m.weight.grad, m.bias.grad]",
        "affine_grid": "F.affine_grid(torch.zeros(0, 2, 3), (0, 3, 4, 4), align_corners=False)",
        "norms": "[torch.linalg.vector_norm(torch.zeros(0, 3), dim=d) for d in (0, 1)]",
        "lapack": "torch.linalg.solve(torch.zeros(0, 3, 3), torch.zeros(0, 3, 2))",
        "means": "[torch.zeros(0, 3).mean(0), torch.zeros(0, 3).var(0), torch.zeros(0, 3).prod(0), torch.zeros(0, "
        "3).logsumexp(0)]",
    }
    cases += [Case(f"empty_{name}", code, grad=False) for name, code in codes.items()]
    return [_any_layout(case) for case in cases]  # strides of tensors without elements mean nothing


def _gradients() -> list[Case]:
    x, w = In((2, 4, 3)), In((4,))
    tall, wide, b = In((4, 3)), In((2, 3, 5)), In((4, 2))
    cases = [
        Case(
            "group_norm_statistics",
            "torch.native_group_norm(x, w, None, 2, 4, 3, 2, 1e-5)",
            x=x,
            w=w,
            rtol=1e-4,
            atol=1e-5,
        ),
        Case(
            "group_norm_statistics_only",
            "torch.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)[1:]",
            x=x,
            rtol=1e-4,
            atol=1e-5,
        ),
        Case(
            "lstsq_residuals_vector",
            "torch.linalg.lstsq(a, b, driver='gels')[:2]",
            a=In((3, 4, 3), "float64"),
            b=In((3, 4), "float64"),
        ),
        Case(
            "lstsq_wide",
            "torch.linalg.lstsq(a, b, driver='gelsd')[:2]",
            a=In((2, 3, 5), "float64"),
            b=In((2, 3, 2), "float64"),
        ),
        Case("narrow_copy_from_end", "torch.narrow_copy(x, 1, -3, 2)", x=x, grad=False),
        Case("digamma_far_below", "torch.digamma(x)", x=In(values=[-20000.3, -7.25, -0.5, 0.3], dtype="float64")),
    ]
    for driver in ("gels", "gelsy", "gelsd", "gelss"):
        for d in ("float64", "complex128"):
            cases.append(
                Case(
                    f"lstsq_{driver}_{d}",
                    f"torch.linalg.lstsq(a, b, driver='{driver}')[:2]",
                    a=In(tall.shape, d),
                    b=In(b.shape, d),
                    rtol=1e-8,
                )
            )
    return [
        *cases,
        Case(
            "lstsq_residuals_sum",
            "torch.linalg.lstsq(a, b, driver='gels').residuals.sum()",
            a=In(tall.shape, "float64"),
            b=In(b.shape, "float64"),
        ),
        Case("lstsq_unused", "torch.linalg.lstsq(a, b)[0]", a=In(wide.shape, "float64"), b=In((2, 3, 1), "float64")),
    ]


def _special_values() -> list[Case]:
    line = [-20000.3, -100.75, -3.25, -0.5, 0.0, -0.0, -1.0, -2.0, 0.25, 3.0, 1e10, INF, -INF, NAN]
    cases = [
        Case(
            f"polygamma_{n}_{d}",
            f"torch.polygamma({n}, x)",
            x=In(values=line, dtype=d),
            grad=False,
            rtol=1e-4 if d == "float32" else 1e-9,
        )
        for n in range(5)
        for d in ("float64", "float32")
        if not (d == "float32" and n != 1)
    ]
    turns = [1 + 5j, 2 + 9j, 2 + 4j, 2 - 20j, 1 + 2j]
    cases += [
        Case("logcumsumexp_turns", "torch.logcumsumexp(x, 0)", x=In(values=turns, dtype="complex128")),
        Case(
            "logcumsumexp_turns_single",
            "torch.logcumsumexp(x, -1)",
            x=In((3, 6), "complex64", low=-9, high=9),
            rtol=1e-4,
            atol=1e-4,
        ),
        Case(
            "logcumsumexp_equal",
            "torch.logcumsumexp(x, 0)",
            x=In(values=[1 + 5j, 1 - 9j, 1 + 14j], dtype="complex128"),
            grad=False,
        ),
        Case(
            "logcumsumexp_high",
            "torch.logcumsumexp(x, 0)",
            x=In(values=[1 + 5j, complex(INF, 2), 0.5 - 3j], dtype="complex128"),
            grad=False,
        ),
        Case(
            "logcumsumexp_low",
            "torch.logcumsumexp(x, 0)",
            grad=False,
            x=In(values=[complex(-INF, 1), complex(-INF, 2), 0.5 - 3j, 1 + 2j], dtype="complex128"),
        ),
        Case(
            "logcumsumexp_nan",
            "torch.logcumsumexp(x, 0)",
            x=In(values=[1 + 5j, complex(2, NAN), 0.5 - 3j], dtype="complex128"),
            grad=False,
        ),
    ]
    return cases


def _numbers() -> list[Case]:
    whole = In(values=[[3, -3], [7, 0]], dtype="int64")
    positions = "torch.tensor([[0, 1], [0, 0]])"
    images = {"2d": In((1, 2, 4, 4), "int64", low=-9, high=9), "3d": In((1, 1, 4, 4, 2), "int64", low=-9, high=9)}
    cases = [
        Case(f"scatter_{reduce}_{n}", f"x.scatter(0, {positions}, {n}, reduce='{reduce}')", x=whole)
        for reduce in ("add", "multiply")
        for n in (2.5, -2.5, True)
    ]
    cases += [
        Case(f"avg_pool{rank}_divisor_{n}", f"F.avg_pool{rank}(x, 2, divisor_override={n})", x=x)
        for rank, x in images.items()
        for n in (-2, -3, 3)
    ]
    cases += [
        Case("diff_of_order_zero", "torch.diff(x, n=0, prepend=p, append=p)", x=In((3, 4)), p=In((3, 1), grad=False)),
        Case("numpy_with_gradients", "x.numpy()", x=In((3,))),
    ]
    for name in (
        "narrow_copy(x, 0, -4, 4)",
        "narrow_copy(x, 0, -5, 2)",
        "narrow_copy(x, 0, 5, 0)",
        "narrow_copy(x, 0, 4, 0)",
        "narrow_copy(x, 0, 0, -1)",
        "narrow_copy(x[0], 0, 0, 1)",
    ):
        cases.append(Case(name, f"torch.{name}", x=In(values=[0, 1, 2, 3], dtype="int64")))
    for code in (
        "view()",
        "reshape()",
        "expand()",
        "permute()",
        "repeat()",
        "tile()",
        "flip()",
        "new_zeros()",
        "sum_to_size()",
        "view(())",
        "view(size=(1, 1))",
        "view(dtype=torch.int32)",
        "expand(())",
    ):
        cases.append(
            Case(
                f"one.{code}",
                f"x[0].{code}" if "expand" in code else f"x.{code}",
                x=In(values=[2.0], dtype="float32"),
                grad=False,
            )
        )
    cases += [Case(f"no size: {name}", f"torch.{name}()") for name in ("zeros", "ones", "empty")]
    return cases


def _found_by_tables() -> list[Case]:
    """What PyTorch's own operator tables brought to light."""
    zeros = [[1.5, 0.0, 2.0, -3.0, 0.0], [2.0, 3.0, 4.0, 5.0, 6.0], [0.0, 1.0, 0.0, 2.0, -1.0]]
    bytes_ = In((2, 3, 4, 5), "uint8", low=0, high=255)
    ends = [0.5, -7.0, INF, -INF, NAN, 2.0, 0.0, 1.0, -1.0, 3.5, 6.5, -0.25, 4.0, 0.125, -2.5, 8.0]
    cases = [
        Case(
            f"cumprod_second_{d}",
            "g, = torch.autograd.grad(torch.cumprod(x, 1).sum(), x, create_graph=True); (g * g).sum()",
            x=In(values=zeros, dtype=d),
        )
        for d in ("float64", "complex128")
    ]
    for mode in ("bilinear", "bicubic"):
        for size in ((3, 3), (7, 4), (4, 9), (8, 10)):
            for corners in (False, True):
                cases.append(
                    Case(
                        f"bytes_{mode}_{size[0]}x{size[1]}_{corners}",
                        f"F.interpolate(x, size={size}, mode='{mode}', align_corners={corners})",
                        x=bytes_,
                    )
                )
    cases += [
        Case(f"bytes_{mode}_filtered", f"F.interpolate(x, size=(3, 2), mode='{mode}', antialias=True)", x=bytes_)
        for mode in ("bilinear", "bicubic")
    ]
    cases += [
        Case(f"sum_to_nothing_{d}", "x.sum_to_size(())", x=In((2, 2), d, low=0))
        for d in ("int32", "uint8", "bool", "float32")
    ]
    cases += [
        Case(
            "margin_ranking_whole",
            "F.margin_ranking_loss(x, y, t, reduction='none')",
            x=In((3,), "int64"),
            y=In((3,), "int64"),
            t=In(values=[1, -1, 1], dtype="int64"),
        ),
        Case(
            "inner_of_narrow_integers",
            "[torch.inner(x[::2], x[1::2]), torch.inner(x[:4], x[4:8]), torch.tensordot(x[::2], x[1::2], 1)]",
            x=In((10,), "uint8", low=0, high=90),
        ),
        Case(
            "tensordot_of_one", "torch.tensordot(x, y, dims=([0], [0]))", x=In((1, 3), "int32"), y=In((4, 2), "int32")
        ),
        Case("hardsigmoid_double", "F.hardsigmoid(x)", x=In((20,), "float64", low=-4, high=4), rtol=1e-12),
        Case("acosh_at_infinity", "torch.acosh(x)", x=In(values=[1.5, 2.0, INF, 9.0], dtype="float64")),
        Case(
            "polar_of_zero",
            "torch.polar(a, t)",
            a=In(values=[0.0, 1.0, 2.0], dtype="float64"),
            t=In(values=[1.0, 2.0, 3.0], dtype="float64"),
        ),
        Case(
            "sgn_of_infinity",
            "torch.sgn(x)",
            x=In(values=[complex(INF, 0), complex(1, INF), 3 + 4j, 0j], dtype="complex128"),
            grad=False,
        ),
        Case(
            "double_to_half",
            "x.half()",
            x=In(values=[1.39306640625000001, 1.0 + 2.0**-11 + 2.0**-30, 65519.999], dtype="float64"),
            grad=False,
        ),
    ]
    for name in ("hardtanh", "relu6", "softshrink", "hardshrink"):
        cases.append(Case(f"{name}_at_the_ends", f"F.{name}(x)", x=In(values=ends, dtype="float32")))
    return cases


CASES = [*_found_by_tables(), *_ranges(), *_empty_batches(), *_gradients(), *_special_values(), *_numbers()]
