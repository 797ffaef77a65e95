"""Cases for the normalizations."""

from __future__ import annotations

from .harness import Case, In

LOOSE = {"rtol": 1e-4, "atol": 1e-5}
GRADS = "[g * 1 for g in torch.autograd.grad(({}**3).sum(), {}, create_graph=True)]"  # whichever node makes them


def _layer() -> list[Case]:
    x, w = In((3, 2, 5)), In((5,))
    cases = [
        Case("layer_norm", "F.layer_norm(x, (5,))", x=x, **LOOSE),
        Case("layer_norm_affine", "F.layer_norm(x, (5,), w, b)", x=x, w=w, b=In((5,)), **LOOSE),
        Case("layer_norm_weight", "F.layer_norm(x, [5], w, eps=0.1)", x=x, w=w, **LOOSE),
        Case("layer_norm_bias", "F.layer_norm(x, [5], None, b)", x=x, b=w, **LOOSE),
        Case("layer_norm_two", "F.layer_norm(x, (2, 5), w, b)", x=x, w=In((2, 5)), b=In((2, 5)), **LOOSE),
        Case("layer_norm_all", "F.layer_norm(x, (3, 2, 5))", x=x, **LOOSE),
        Case("layer_norm_offset", "F.layer_norm(x, (5,))", x=In((4, 5), low=99, high=101), rtol=1e-3, atol=1e-3),
        Case("layer_norm_positional", "torch.layer_norm(x, [5], w, None, 1e-5, False)", x=x, w=w, **LOOSE),
        Case("native_layer_norm", "torch.native_layer_norm(x, (5,), w, b, 1e-5)", x=x, w=w, b=w, grad=False, **LOOSE),
        Case("native_layer_norm_two", "torch.native_layer_norm(x, (2, 5), None, None, 1e-5)", x=x, grad=False, **LOOSE),
        Case(
            "native_layer_norm_half",
            "torch.native_layer_norm(x, (5,), w, w, 1e-5)",
            x=In((2, 5), "float16"),
            w=w,
            grad=False,
        ),
        Case("layer_norm_transposed", "F.layer_norm(x, (5,), w)", x=In((4, 5), layout="transposed"), w=w, **LOOSE),
        Case("layer_norm_strided", "F.layer_norm(x, (5,), w)", x=In((4, 5), layout="strided"), w=w, **LOOSE),
        Case("layer_norm_no_rows", "F.layer_norm(x, (4,), w, w)", x=In((0, 4)), w=In((4,)), **LOOSE),
        Case("layer_norm_no_columns", "F.layer_norm(x, (0,))", x=In((2, 0)), grad=False),
        Case("layer_norm_sum", "F.layer_norm(x, (5,), w).sum()", x=x, w=w, **LOOSE),
        Case("layer_norm_weight_only", "F.layer_norm(x, (5,), w, b)", x=In((3, 5), grad=False), w=w, b=w, **LOOSE),
        Case(
            "layer_norm_input_only",
            "F.layer_norm(x, (5,), w, b)",
            x=In((3, 5)),
            w=In((5,), grad=False),
            b=In((5,), grad=False),
            **LOOSE,
        ),
        Case(
            "layer_norm_bias_only",
            "F.layer_norm(x, (5,), w, b)",
            x=In((3, 5), grad=False),
            w=In((5,), grad=False),
            b=In((5,)),
            **LOOSE,
        ),
        Case(
            "layer_norm_second",
            GRADS.format("F.layer_norm(x, (5,), w, b)", "(x, w, b)"),
            x=In((3, 5)),
            w=w,
            b=w,
            rtol=1e-3,
            atol=1e-3,
        ),
        Case("layer_norm_second_plain", GRADS.format("F.layer_norm(x, (2, 5))", "(x,)"), x=x, rtol=1e-3, atol=1e-3),
        Case(
            "layer_norm_long_rows",
            "F.layer_norm(x, (1500,))[:, ::100]",
            x=In((2, 1500)),
            rtol=1e-3,
            atol=1e-4,
            strides=False,
        ),
    ]
    for d in ("float64", "float16"):
        cases.append(
            Case(
                f"layer_norm_{d}",
                "F.layer_norm(x, (5,), w, b)",
                x=In((3, 5), d),
                w=In((5,), d),
                b=In((5,), d),
                rtol=1e-2 if d == "float16" else 1e-6,
                atol=1e-2 if d == "float16" else 1e-6,
            )
        )
    return cases


def _batch() -> list[Case]:
    cases = []
    run = "F.batch_norm(x, m, v, w, b, {})"
    shapes = {"line": (4, 3), "sequence": (4, 3, 5), "image": (2, 3, 4, 3), "volume": (2, 3, 2, 2, 3)}
    for word, shape in shapes.items():
        given = {
            "x": In(shape),
            "m": In((3,), grad=False),
            "v": In((3,), low=0.5, high=2, grad=False),
            "w": In((3,)),
            "b": In((3,)),
        }
        cases.append(Case(f"batch_norm_train_{word}", f"({run.format('True')}, m, v)", **given, **LOOSE))
        cases.append(Case(f"batch_norm_eval_{word}", f"({run.format('False')}, m, v)", **given, **LOOSE))
    x, m, v, w = In((4, 3, 2)), In((3,), grad=False), In((3,), low=0.5, high=2, grad=False), In((3,))
    cases += [
        Case("batch_norm_no_stats", "F.batch_norm(x, None, None, w, b, True)", x=x, w=w, b=w, **LOOSE),
        Case("batch_norm_plain", "F.batch_norm(x, m, v)", x=x, m=m, v=v, **LOOSE),
        Case(
            "batch_norm_plain_train",
            "(F.batch_norm(x, m, v, training=True, momentum=0.3, eps=0.1), m, v)",
            x=x,
            m=m,
            v=v,
            **LOOSE,
        ),
        Case(
            "batch_norm_weight_only",
            "F.batch_norm(x, m, v, w, None, True)",
            x=In((4, 3, 2), grad=False),
            m=m,
            v=v,
            w=w,
            **LOOSE,
        ),
        Case(
            "batch_norm_bias_only",
            "F.batch_norm(x, m, v, None, b, True)",
            x=In((4, 3, 2), grad=False),
            m=m,
            v=v,
            b=w,
            **LOOSE,
        ),
        Case(
            "native_batch_norm",
            "torch.native_batch_norm(x, w, w, m, v, True, 0.1, 1e-5)",
            x=x,
            m=m,
            v=v,
            w=w,
            grad=False,
            **LOOSE,
        ),
        Case(
            "native_batch_norm_eval",
            "torch.native_batch_norm(x, w, w, m, v, False, 0.1, 1e-5)",
            x=x,
            m=m,
            v=v,
            w=w,
            grad=False,
            **LOOSE,
        ),
        Case(
            "torch_batch_norm",
            "torch.batch_norm(x, w, None, m, v, False, 0.1, 1e-5, True)",
            x=x,
            m=m,
            v=v,
            w=w,
            **LOOSE,
        ),
        Case(
            "batch_norm_transposed",
            "F.batch_norm(x, m, v, w, w, True)",
            x=In((4, 3, 2), layout="transposed"),
            m=m,
            v=v,
            w=w,
            **LOOSE,
        ),
        Case("batch_norm_sum", "F.batch_norm(x, m, v, w, w, False).sum()", x=x, m=m, v=v, w=w, **LOOSE),
        Case("batch_norm_empty", "F.batch_norm(x, m, v)", x=In((0, 3, 2)), m=m, v=v, grad=False, strides=False),
        Case(
            "batch_norm_half",
            "F.batch_norm(x, m, v, w, w)",
            x=In((4, 3), "float16"),
            m=m,
            v=v,
            w=w,
            atol=1e-2,
            grad=False,
        ),
        Case(
            "batch_norm_half_all",
            "F.batch_norm(x, m, v, training=True)",
            x=In((4, 3), "float16"),
            m=In((3,), "float16", grad=False),
            v=In((3,), "float16", grad=False, low=0.5),
            rtol=1e-2,
            atol=1e-2,
        ),
        Case(
            "batch_norm_double",
            "F.batch_norm(x, m, v, w, w, True)",
            x=In((4, 3), "float64"),
            m=In((3,), "float64", grad=False),
            v=In((3,), "float64", grad=False, low=0.5),
            w=In((3,), "float64"),
        ),
        Case(
            "batch_norm_second",
            GRADS.format("F.batch_norm(x, None, None, w, b, True)", "(x, w, b)"),
            x=In((3, 2, 2)),
            w=In((2,)),
            b=In((2,)),
            rtol=1e-3,
            atol=1e-3,
        ),
        Case(
            "batch_norm_second_eval",
            GRADS.format("F.batch_norm(x, m, v, w, b, False)", "(x, w, b)"),
            x=In((3, 2, 2)),
            w=In((2,)),
            b=In((2,)),
            m=In((2,), grad=False),
            v=In((2,), low=0.5, grad=False),
            rtol=1e-3,
            atol=1e-3,
        ),
    ]
    return cases


def _group_and_instance() -> list[Case]:
    x, w = In((2, 4, 3)), In((4,))
    m, v = In((4,), grad=False), In((4,), low=0.5, high=2, grad=False)
    return [
        Case("group_norm", "F.group_norm(x, 2)", x=x, **LOOSE),
        Case("group_norm_affine", "F.group_norm(x, 2, w, b)", x=x, w=w, b=w, **LOOSE),
        Case("group_norm_weight", "F.group_norm(x, 2, w)", x=x, w=w, **LOOSE),
        Case("group_norm_bias", "torch.group_norm(x, 2, None, b, 0.1)", x=x, b=w, grad=False, **LOOSE),
        Case("group_norm_one", "F.group_norm(x, 1, w, b)", x=In((2, 4, 2, 3)), w=w, b=w, **LOOSE),
        Case("group_norm_each", "F.group_norm(x, 4, w, b)", x=In((2, 4, 2, 3)), w=w, b=w, **LOOSE),
        Case("group_norm_line", "F.group_norm(x, 2, w, b)", x=In((3, 4)), w=w, b=w, **LOOSE),
        Case("group_norm_transposed", "F.group_norm(x, 2, w)", x=In((2, 4, 3), layout="transposed"), w=w, **LOOSE),
        Case("group_norm_double", "F.group_norm(x, 2, w)", x=In((2, 4, 3), "float64"), w=In((4,), "float64")),
        Case("group_norm_half", "F.group_norm(x, 2)", x=In((2, 4, 3), "float16"), rtol=1e-2, atol=1e-2),
        Case("group_norm_empty", "F.group_norm(x, 2, w)", x=In((0, 4, 3)), w=w, grad=False),
        Case("native_group_norm", "torch.native_group_norm(x, w, w, 2, 4, 3, 2, 1e-5)", x=x, w=w, grad=False, **LOOSE),
        Case(
            "group_norm_second",
            GRADS.format("F.group_norm(x, 2, w, b)", "(x, w, b)"),
            x=x,
            w=w,
            b=w,
            rtol=1e-3,
            atol=1e-3,
        ),
        Case("instance_norm", "F.instance_norm(x)", x=x, **LOOSE),
        Case("instance_norm_affine", "F.instance_norm(x, None, None, w, b)", x=In((2, 4, 3, 2)), w=w, b=w, **LOOSE),
        Case("instance_norm_stats", "(F.instance_norm(x, m, v, w, b), m, v)", x=x, w=w, b=w, m=m, v=v, **LOOSE),
        Case(
            "instance_norm_given_stats",
            "(F.instance_norm(x, m, v, w, b, use_input_stats=False), m, v)",
            x=x,
            w=w,
            b=w,
            m=m,
            v=v,
            **LOOSE,
        ),
        Case(
            "instance_norm_second",
            GRADS.format("F.instance_norm(x, None, None, w, b)", "(x, w, b)"),
            x=x,
            w=w,
            b=w,
            rtol=1e-3,
            atol=1e-3,
        ),
    ]


def _rms() -> list[Case]:
    x, w = In((3, 2, 5)), In((5,))
    return [
        Case("rms_norm", "F.rms_norm(x, (5,))", x=x, **LOOSE),
        Case("rms_norm_weight", "F.rms_norm(x, (5,), w)", x=x, w=w, **LOOSE),
        Case("rms_norm_eps", "F.rms_norm(x, [2, 5], w, 0.1)", x=x, w=In((2, 5)), **LOOSE),
        Case("rms_norm_torch", "torch.rms_norm(x, (5,), w)", x=x, w=w, **LOOSE),
        Case("rms_norm_small", "F.rms_norm(x, (5,))", x=In((3, 5), low=-1e-4, high=1e-4), rtol=1e-3, atol=1e-3),
        Case("rms_norm_double", "F.rms_norm(x, (5,), w)", x=In((3, 5), "float64"), w=In((5,), "float64")),
        Case(
            "rms_norm_half",
            "F.rms_norm(x, (5,), w)",
            x=In((3, 5), "float16"),
            w=In((5,), "float16"),
            rtol=1e-2,
            atol=1e-2,
        ),
        Case("rms_norm_half_wide_weight", "F.rms_norm(x, (5,), w)", x=In((3, 5), "float16"), w=w, rtol=1e-2, atol=1e-2),
        Case(
            "rms_norm_second", GRADS.format("F.rms_norm(x, (5,), w)", "(x, w)"), x=In((2, 5)), w=w, rtol=1e-3, atol=1e-3
        ),
        Case("rms_norm_transposed", "F.rms_norm(x, (5,))", x=In((4, 5), layout="transposed"), **LOOSE),
        Case("local_response_norm", "F.local_response_norm(x, 2)", x=In((2, 4, 3)), **LOOSE),
        Case("local_response_norm_image", "F.local_response_norm(x, 3, 0.1, 0.5, 2.0)", x=In((2, 4, 3, 2)), **LOOSE),
    ]


def _errors() -> list[Case]:
    x, three = In((2, 4)), In((2, 3, 4))
    zeros, ones = "torch.zeros({})", "torch.ones({})"
    stats3 = f"{zeros.format(3)}, {ones.format(3)}"
    stats4 = f"{zeros.format(4)}, {ones.format(4)}"
    table = {
        "layer_shape": ("F.layer_norm(x, (3,))", x),
        "layer_none": ("F.layer_norm(x, ())", x),
        "layer_weight": ("F.layer_norm(x, (4,), torch.ones(3))", x),
        "layer_bias": ("F.layer_norm(x, (4,), None, torch.ones(3))", x),
        "layer_type": ("F.layer_norm(x, (4,))", In((2, 4), "int64")),
        "layer_rank": ("F.layer_norm(x, (1, 2, 4))", x),
        "layer_mixed": ("F.layer_norm(x, (4,), torch.ones(4).double())", x),
        "batch_eval": ("F.batch_norm(x, None, None)", three),
        "batch_mean": (f"F.batch_norm(x, {stats4})", three),
        "batch_weight": (f"F.batch_norm(x, {stats3}, torch.ones(2), training=True)", three),
        "batch_bias": (f"F.batch_norm(x, {stats3}, None, torch.ones(2), training=True)", three),
        "batch_one": (f"F.batch_norm(x, {stats3}, training=True)", In((1, 3))),
        "batch_rank": (f"F.batch_norm(x, {stats3})", In((3,))),
        "batch_type": (f"F.batch_norm(x, {stats3})", In((2, 3), "int64")),
        "group_count": ("F.group_norm(x, 3)", In((2, 4, 3))),
        "group_weight": ("F.group_norm(x, 2, torch.ones(3))", In((2, 4, 3))),
        "group_rank": ("torch.group_norm(x, 1)", In((2,))),
        "group_type": ("torch.group_norm(x, 2)", In((2, 4, 3), "int64")),
        "group_zero": ("torch.group_norm(x, 0)", In((2, 4, 3))),
        "instance_stats": ("F.instance_norm(x, use_input_stats=False)", three),
        "instance_size": (f"F.instance_norm(x, {stats4})", three),
        "rms_shape": ("F.rms_norm(x, (3,))", x),
        "rms_none": ("F.rms_norm(x, ())", x),
        "rms_weight": ("F.rms_norm(x, (4,), torch.ones(3))", x),
        "rms_type": ("F.rms_norm(x, (4,))", In((2, 4), "int64")),
    }
    return [Case(f"error_{word}", code, grad=False, x=given) for word, (code, given) in table.items()]


CASES = [*_layer(), *_batch(), *_group_and_instance(), *_rms(), *_errors()]
