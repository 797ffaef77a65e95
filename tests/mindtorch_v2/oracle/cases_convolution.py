"""Cases for the convolutions."""

from __future__ import annotations

from .harness import Case, In

LOOSE = {"rtol": 1e-4, "atol": 2e-5}  # sums of products in another order
SPACE = {1: (9,), 2: (6, 5), 3: (3, 4, 3)}


def _image(rank: int) -> In:
    return In((1 if rank == 3 else 2, 4, *SPACE[rank]))


def _forms() -> list[Case]:
    """stride, padding, dilation and groups, in each number of dimensions."""
    cases = []
    for rank in (1, 2, 3):
        k3, k2, k1 = (3,) * rank, (2,) * rank, (1,) * rank
        table = {
            "plain": ("", (3, 4, *k3)),
            "stride": ("stride=2, padding=1", (3, 4, *k3)),
            "pad": ("padding=1", (5, 4, *k3)),
            "narrowing": ("padding=1", (2, 4, *k3)),
            "even": ("padding=1", (5, 4, *k2)),
            "wide_pad": ("padding=2", (3, 4, *k2)),
            "one": ("", (3, 4, *k1)),
            "one_stride": ("stride=2", (3, 4, *k1)),
            "one_pad": ("padding=1", (3, 4, *k1)),
            "groups": ("padding=1, groups=2", (6, 2, *k3)),
            "depthwise": ("padding=1, groups=4", (4, 1, *k3)),
            "depthwise_many": ("stride=2, groups=4", (8, 1, *k2)),
            "tiles": ("stride=2", (3, 4, *k2)),
        }
        if rank < 3:
            table["dilation"] = ("dilation=2, padding=2", (3, 4, *k3))
            table["all"] = ("stride=2, padding=1, dilation=2, groups=2", (4, 2, *k2))
        for word, (options, weight) in table.items():
            if rank == 3 and word in ("even", "wide_pad", "one_pad", "one_stride"):
                continue
            options = f", {options}" if options else ""
            cases.append(
                Case(
                    f"conv{rank}d_{word}",
                    f"F.conv{rank}d(x, w, b{options})",
                    x=_image(rank),
                    w=In(weight),
                    b=In(weight[:1]),
                    **LOOSE,
                )
            )
        cases.append(Case(f"conv{rank}d_no_bias", f"F.conv{rank}d(x, w)", x=_image(rank), w=In((3, 4, *k3)), **LOOSE))
        cases.append(
            Case(
                f"conv{rank}d_unbatched",
                f"F.conv{rank}d(x, w, b, padding=1)",
                x=In((4, *SPACE[rank])),
                w=In((3, 4, *k3)),
                b=In((3,)),
                **LOOSE,
            )
        )
        cases.append(
            Case(
                f"conv{rank}d_same", f"F.conv{rank}d(x, w, padding='same')", x=_image(rank), w=In((3, 4, *k3)), **LOOSE
            )
        )
        cases.append(
            Case(
                f"conv{rank}d_same_even",
                f"F.conv{rank}d(x, w, b, padding='same', dilation={1 + (rank == 1)})",
                x=_image(rank),
                w=In((3, 4, *k2)),
                b=In((3,)),
                **LOOSE,
            )
        )
        cases.append(
            Case(
                f"conv{rank}d_valid",
                f"F.conv{rank}d(x, w, padding='valid', stride=2)",
                x=_image(rank),
                w=In((3, 4, *k2)),
                **LOOSE,
            )
        )
    return cases


def _transposed() -> list[Case]:
    cases = []
    for rank in (1, 2, 3):
        k3, k2 = (3,) * rank, (2,) * rank
        table = {
            "plain": ("", (4, 3, *k3)),
            "widening": ("padding=1", (4, 6, *k3)),
            "stride": ("stride=2, padding=1", (4, 3, *k3)),
            "output_padding": ("stride=2, padding=1, output_padding=1", (4, 3, *k3)),
            "tiles": ("stride=2", (4, 3, *k2)),
            "groups": ("stride=2, groups=2", (4, 3, *k3)),
            "dilation": ("dilation=2", (4, 3, *k2)),
            "dilated_output_padding": ("dilation=2, output_padding=1", (4, 3, *k2)),
            "depthwise": ("groups=4", (4, 1, *k3)),
        }
        for word, (options, weight) in table.items():
            if rank == 3 and word not in ("plain", "output_padding", "groups"):
                continue
            made = weight[1] * (2 if "groups=2" in options else 4 if "groups=4" in options else 1)
            options = f", {options}" if options else ""
            cases.append(
                Case(
                    f"conv_transpose{rank}d_{word}",
                    f"F.conv_transpose{rank}d(x, w, b{options})",
                    x=In((1 if rank == 3 else 2, 4, *(n - 1 for n in SPACE[rank]))),
                    w=In(weight),
                    b=In((made,)),
                    **LOOSE,
                )
            )
        cases.append(
            Case(
                f"conv_transpose{rank}d_unbatched",
                f"F.conv_transpose{rank}d(x, w)",
                x=In((4, *SPACE[rank])),
                w=In((4, 3, *k2)),
                **LOOSE,
            )
        )
    return cases


def _types_and_layouts() -> list[Case]:
    w = (3, 4, 3, 3)
    cases = [
        Case(
            f"conv2d_{d}",
            "F.conv2d(x, w, b, padding=1)",
            x=In((2, 4, 6, 5), d),
            w=In(w, d),
            b=In((3,), d),
            rtol=1e-4,
            atol=1e-2 if d == "float16" else 2e-5,
        )
        for d in ("float64", "float16", "int64", "int32", "complex64")
    ]
    cases += [
        Case("conv1d_complex", "F.conv1d(x, w)", x=In((2, 4, 6), "complex64"), w=In((3, 4, 3), "complex64"), **LOOSE),
        Case("conv1d_int64", "F.conv1d(x, w)", x=In((4, 6), "int64"), w=In((3, 4, 3), "int64")),
        Case("conv2d_bool", "F.conv2d(x, w)", x=In((1, 4, 6, 5), "bool"), w=In(w, "bool")),
        Case(
            "conv_transpose2d_float64",
            "F.conv_transpose2d(x, w, stride=2)",
            x=In((1, 3, 4, 4), "float64"),
            w=In((3, 2, 3, 3), "float64"),
        ),
        Case(
            "conv2d_transposed_input",
            "F.conv2d(x, w, b)",
            x=In((2, 4, 6, 5), layout="transposed"),
            w=In(w),
            b=In((3,)),
            **LOOSE,
        ),
        Case(
            "conv2d_strided_input",
            "F.conv2d(x, w)",
            x=In((2, 4, 6, 5), layout="strided"),
            w=In(w, layout="transposed"),
            **LOOSE,
        ),
        Case(
            "conv1d_transposed_input", "F.conv1d(x, w)", x=In((2, 4, 6), layout="transposed"), w=In((3, 4, 3)), **LOOSE
        ),
        Case("conv2d_expanded_grad", "F.conv2d(x, w, b).sum()", x=In((2, 4, 6, 5)), w=In(w), b=In((3,)), **LOOSE),
        Case("conv2d_empty_batch", "F.conv2d(x, w, b)", x=In((0, 4, 6, 5)), w=In(w), b=In((3,))),
        Case("conv2d_one_by_one_image", "F.conv2d(x, w, b)", x=In((3, 4, 3, 3)), w=In(w), b=In((3,)), **LOOSE),
        Case(
            "conv2d_many_small_images",
            "F.conv2d(x, w, b, padding=1, groups=2)",
            x=In((5, 4, 3, 2)),
            w=In((6, 2, 3, 3)),
            b=In((6,)),
            **LOOSE,
        ),
        Case("conv_transpose2d_empty_batch", "F.conv_transpose2d(x, w)", x=In((0, 3, 4, 4)), w=In((3, 2, 3, 3))),
        Case(
            "conv2d_stride_pair",
            "torch.conv2d(x, w, None, (2, 1), (0, 1), (1, 2))",
            x=In((2, 4, 6, 7)),
            w=In((3, 4, 2, 3)),
            **LOOSE,
        ),
        Case(
            "conv2d_keywords",
            "torch.conv2d(input=x, weight=w, stride=[2], padding=[1])",
            x=In((2, 4, 6, 7)),
            w=In((3, 4, 2, 3)),
            **LOOSE,
        ),
        Case(
            "convolution",
            "torch.convolution(x, w, b, [1], [1], [1], False, [0], 1)",
            x=In((2, 4, 6, 7)),
            w=In(w),
            b=In((3,)),
            **LOOSE,
        ),
        Case(
            "mkldnn_convolution",
            "torch.mkldnn_convolution(x, w, b, [1, 1], [1, 1], [1, 1], 1)",
            x=In((2, 4, 6, 7)),
            w=In(w),
            b=In((3,)),
            **LOOSE,
        ),
        Case("conv2d_weight_only", "F.conv2d(x, w)", x=In((2, 4, 6, 5), grad=False), w=In(w), **LOOSE),
        Case("conv2d_input_only", "F.conv2d(x, w)", x=In((2, 4, 6, 5)), w=In(w, grad=False), **LOOSE),
        Case(
            "conv2d_bias_only",
            "F.conv2d(x, w, b)",
            x=In((2, 4, 6, 5), grad=False),
            w=In(w, grad=False),
            b=In((3,)),
            **LOOSE,
        ),
    ]
    return cases


def _second_order() -> list[Case]:
    loose = {"rtol": 1e-3, "atol": 1e-3}
    grads = "torch.autograd.grad((F.{}(x, w, b{})**2).sum(), (x, w, b), create_graph=True)"
    return [
        Case(
            "conv2d_second",
            grads.format("conv2d", ", padding=1"),
            x=In((2, 2, 4, 4)),
            w=In((3, 2, 3, 3)),
            b=In((3,)),
            **loose,
        ),
        Case(
            "conv2d_second_stride_groups",
            grads.format("conv2d", ", stride=2, groups=2"),
            x=In((2, 4, 5, 5)),
            w=In((4, 2, 2, 2)),
            b=In((4,)),
            **loose,
        ),
        Case("conv1d_second", grads.format("conv1d", ""), x=In((2, 2, 5)), w=In((3, 2, 3)), b=In((3,)), **loose),
        Case(
            "conv_transpose2d_second",
            grads.format("conv_transpose2d", ", stride=2"),
            x=In((1, 2, 3, 3)),
            w=In((2, 3, 2, 2)),
            b=In((3,)),
            **loose,
        ),
        Case(
            "conv2d_second_bias_only",
            "torch.autograd.grad((F.conv2d(x, w, b)**2).sum(), b, create_graph=True)",
            x=In((1, 2, 4, 4)),
            w=In((3, 2, 3, 3)),
            b=In((3,)),
            **loose,
        ),
    ]


def _errors() -> list[Case]:
    x, w = In((1, 3, 8, 8)), In((4, 3, 3, 3))
    table = {
        "channels": ("F.conv2d(x, w)", {"x": In((1, 2, 8, 8)), "w": w}),
        "rank": ("F.conv2d(x, w)", {"x": In((2, 8)), "w": w}),
        "rank5": ("F.conv2d(x, w)", {"x": In((1, 1, 1, 2, 8)), "w": w}),
        "small": ("F.conv2d(x, w)", {"x": In((1, 3, 2, 2)), "w": w}),
        "small_dilated": ("F.conv2d(x, w, dilation=3)", {"x": In((1, 3, 4, 4)), "w": w}),
        "bias": ("F.conv2d(x, w, b)", {"x": x, "w": w, "b": In((3,))}),
        "bias_rank": ("F.conv2d(x, w, b)", {"x": x, "w": w, "b": In((4, 1))}),
        "stride": ("F.conv2d(x, w, stride=0)", {"x": x, "w": w}),
        "padding": ("F.conv2d(x, w, padding=-1)", {"x": x, "w": w}),
        "dilation": ("F.conv2d(x, w, dilation=0)", {"x": x, "w": w}),
        "groups": ("F.conv2d(x, w, groups=2)", {"x": x, "w": w}),
        "groups_weight": ("F.conv2d(x, w, groups=2)", {"x": In((1, 4, 8, 8)), "w": In((3, 2, 3, 3))}),
        "groups_few": ("F.conv2d(x, w, groups=2)", {"x": In((1, 4, 8, 8)), "w": In((1, 2, 3, 3))}),
        "groups_zero": ("F.conv2d(x, w, groups=0)", {"x": x, "w": w}),
        "type": ("F.conv2d(x, w)", {"x": x, "w": In((4, 3, 3, 3), "float64")}),
        "bias_type": ("F.conv2d(x, w, b)", {"x": x, "w": w, "b": In((4,), "float64")}),
        "mode": ("F.conv2d(x, w, padding='foo')", {"x": x, "w": w}),
        "same_stride": ("F.conv2d(x, w, padding='same', stride=2)", {"x": x, "w": w}),
        "stride_length": ("F.conv2d(x, w, stride=(1, 1, 1))", {"x": x, "w": w}),
        "padding_length": ("F.conv2d(x, w, padding=(1, 1, 1))", {"x": x, "w": w}),
        "conv1d_channels": ("F.conv1d(x, w)", {"x": In((1, 2, 8)), "w": In((4, 3, 3))}),
        "conv1d_rank": ("F.conv1d(x, w)", {"x": In((1, 2, 8, 8)), "w": In((4, 3, 3))}),
        "conv1d_small": ("F.conv1d(x, w)", {"x": In((1, 3, 2)), "w": In((4, 3, 3))}),
        "conv3d_rank": ("F.conv3d(x, w)", {"x": In((3, 8)), "w": In((4, 3, 3, 3, 3))}),
        "transposed_channels": ("F.conv_transpose2d(x, w)", {"x": In((1, 2, 8, 8)), "w": In((3, 4, 3, 3))}),
        "transposed_bias": ("F.conv_transpose2d(x, w, b)", {"x": x, "w": In((3, 4, 3, 3)), "b": In((3,))}),
        "transposed_output_padding": ("F.conv_transpose2d(x, w, output_padding=1)", {"x": x, "w": In((3, 4, 3, 3))}),
        "transposed_negative": ("F.conv_transpose2d(x, w, output_padding=-1)", {"x": x, "w": In((3, 4, 3, 3))}),
        "transposed_small": ("F.conv_transpose2d(x, w, padding=1)", {"x": In((1, 3, 1, 1)), "w": In((3, 4, 1, 1))}),
        "transposed_rank": ("F.conv_transpose2d(x, w)", {"x": In((3, 3)), "w": In((3, 4, 3, 3))}),
        "weight_rank": ("F.conv2d(x, w)", {"x": x, "w": In((4, 3, 3))}),
    }
    return [Case(f"error_{word}", code, grad=False, **inputs) for word, (code, inputs) in table.items()]


CASES = [*_forms(), *_transposed(), *_types_and_layouts(), *_second_order(), *_errors()]
