"""Cases for the poolings."""

from __future__ import annotations

from .harness import Case, In

SPACE = {1: (11,), 2: (7, 8), 3: (5, 6, 4)}
TIES = [[[[0, 0, 1, 1, 2], [0, 0, 1, 1, 2], [3, 3, 0, 0, 0], [3, 3, 0, 5, 5], [1, 2, 3, 4, 5]]]]


def _fixed() -> list[Case]:
    cases = []
    for rank in (1, 2, 3):
        x = In((2, 3, *SPACE[rank]))
        for word, options in {
            "plain": "2",
            "stride": "3, stride=2",
            "pad": "3, stride=2, padding=1",
            "ceil": "2, ceil_mode=True",
            "ceil_pad": "3, stride=2, padding=1, ceil_mode=True",
            "overlap": "3, stride=1",
            "gaps": "1, stride=2",
        }.items():
            cases.append(Case(f"max_pool{rank}d_{word}", f"F.max_pool{rank}d(x, {options}, return_indices=True)", x=x))
            cases.append(Case(f"avg_pool{rank}d_{word}", f"F.avg_pool{rank}d(x, {options})", x=x))
        cases += [
            Case(f"max_pool{rank}d_dilation", f"F.max_pool{rank}d(x, 2, stride=1, dilation=2, padding=1)", x=x),
            Case(f"max_pool{rank}d_unbatched", f"F.max_pool{rank}d(x, 2)", x=In((3, *SPACE[rank]))),
            Case(f"avg_pool{rank}d_unbatched", f"F.avg_pool{rank}d(x, 2)", x=In((3, *SPACE[rank]))),
            Case(
                f"avg_pool{rank}d_exclude_pad",
                f"F.avg_pool{rank}d(x, 3, stride=2, padding=1, count_include_pad=False)",
                x=x,
            ),
            Case(
                f"avg_pool{rank}d_exclude_pad_ceil",
                f"F.avg_pool{rank}d(x, 3, stride=2, padding=1, count_include_pad=False, ceil_mode=True)",
                x=x,
            ),
            Case(f"max_pool{rank}d_empty_batch", f"F.max_pool{rank}d(x, 2)", x=In((0, 3, *SPACE[rank]))),
        ]
        if rank > 1:
            cases.append(
                Case(f"avg_pool{rank}d_divisor", f"F.avg_pool{rank}d(x, 2, padding=1, divisor_override=3)", x=x)
            )
    return cases


def _adaptive() -> list[Case]:
    cases = []
    for rank in (1, 2, 3):
        x = In((2, 3, *SPACE[rank]))
        for size in (1, 2, 3, 5):
            cases.append(Case(f"adaptive_avg_pool{rank}d_{size}", f"F.adaptive_avg_pool{rank}d(x, {size})", x=x))
            if rank < 3 or size in (1, 3):
                cases.append(
                    Case(
                        f"adaptive_max_pool{rank}d_{size}",
                        f"F.adaptive_max_pool{rank}d(x, {size}, return_indices=True)",
                        x=x,
                    )
                )
        cases.append(
            Case(f"adaptive_avg_pool{rank}d_unbatched", f"F.adaptive_avg_pool{rank}d(x, 2)", x=In((3, *SPACE[rank])))
        )
    cases += [
        Case("adaptive_avg_pool2d_pair", "F.adaptive_avg_pool2d(x, (None, 3))", x=In((2, 3, 4, 7))),
        Case("adaptive_avg_pool2d_larger", "F.adaptive_avg_pool2d(x, 6)", x=In((1, 2, 4, 4))),
        Case("adaptive_avg_pool2d_whole", "F.adaptive_avg_pool2d(x, 2)", x=In((1, 2, 4, 8))),
        Case("adaptive_avg_pool2d_zero", "F.adaptive_avg_pool2d(x, 0)", x=In((1, 2, 4, 4)), grad=False),
        Case("adaptive_avg_pool2d_empty_batch", "F.adaptive_avg_pool2d(x, 2)", x=In((0, 2, 4, 4)), grad=False),
        Case("adaptive_max_pool2d_values", "F.adaptive_max_pool2d(x, (2, 3))", x=In((1, 2, 4, 5))),
    ]
    return cases


def _types_and_layouts() -> list[Case]:
    cases = []
    for d in ("float64", "float16", "int64"):
        cases.append(
            Case(
                f"max_pool2d_{d}",
                "F.max_pool2d(x, 3, 2, 1, return_indices=True)",
                x=In((2, 2, 6, 6), d, low=-9, high=9),
            )
        )
        cases.append(Case(f"avg_pool2d_{d}", "F.avg_pool2d(x, 2)", x=In((2, 2, 6, 6), d, low=-9, high=9)))
        cases.append(
            Case(f"adaptive_avg_pool2d_{d}", "F.adaptive_avg_pool2d(x, 4)", x=In((2, 2, 6, 6), d, low=-9, high=9))
        )
    for layout in ("transposed", "strided"):
        for name, options in {
            "max_pool2d": "2",
            "avg_pool2d": "2",
            "adaptive_avg_pool2d": "3",
            "adaptive_max_pool2d": "3",
        }.items():
            cases.append(Case(f"{name}_{layout}", f"F.{name}(x, {options})", x=In((2, 2, 6, 6), layout=layout)))
    nan = float("nan")
    cases += [
        Case(
            "max_pool2d_uint8",
            "F.max_pool2d(x, 3, 1, 1, return_indices=True)",
            x=In((1, 2, 5, 5), "uint8", low=0, high=9),
        ),
        Case("max_pool2d_bool", "F.max_pool2d(x, 2)", x=In((1, 2, 4, 4), "bool")),
        Case("max_pool2d_complex", "F.max_pool2d(x, 2)", x=In((1, 2, 4, 4), "complex64"), grad=False),
        Case("max_pool2d_ties", "F.max_pool2d(x, 2, return_indices=True)", x=In(values=TIES)),
        Case("max_pool2d_ties_overlap", "F.max_pool2d(x, 3, 1, 1, return_indices=True)", x=In(values=TIES)),
        Case(
            "max_pool2d_low",
            "F.max_pool2d(x, 3, 2, 1, return_indices=True)",
            x=In(values=[[[[-float("inf")] * 4] * 4]]),
        ),
        Case(
            "max_pool2d_nan",
            "F.max_pool2d(x, 2, return_indices=True)",
            grad=False,
            x=In(values=[[[[1, nan, 2, 3], [nan, 0, 4, 1], [nan, nan, 1, 1], [1, 1, 1, nan]]]]),
        ),
        Case(
            "max_pool2d_nan_pad",
            "F.max_pool2d(x, 3, 2, 1, return_indices=True)",
            grad=False,
            x=In(values=[[[[1, nan, 2, 3], [nan, 0, 4, 1], [1, 2, 1, 1], [1, 1, 1, 0]]]]),
        ),
        Case("avg_pool2d_int32", "F.avg_pool2d(x, 2)", x=In((1, 2, 4, 4), "int32")),
        Case("max_pool2d_expanded_grad", "F.max_pool2d(x, 2).sum()", x=In((2, 2, 4, 4))),
        Case("avg_pool2d_expanded_grad", "F.avg_pool2d(x, 2).sum()", x=In((2, 2, 4, 4))),
        Case("torch_max_pool2d", "torch.max_pool2d(x, [2, 2], [1], 1)", x=In((2, 2, 4, 4))),
        Case("torch_max_pool1d", "torch.max_pool1d(x, 2, 1)", x=In((2, 2, 6))),
        Case("torch_avg_pool1d", "torch.avg_pool1d(x, 3, 2, 1, False, False)", x=In((2, 2, 6))),
        Case("torch_adaptive_max_pool1d", "torch.adaptive_max_pool1d(x, 3)", x=In((2, 2, 7))),
        Case("torch_max_pool1d_with_indices", "torch.max_pool1d_with_indices(x, 2, 1)", x=In((2, 2, 6))),
        Case("max_pool2d_with_indices", "F.max_pool2d_with_indices(x, 2, 1)", x=In((2, 2, 4, 3))),
        Case("max_pool3d_with_indices", "F.max_pool3d_with_indices(x, 2)", x=In((1, 2, 4, 3, 2))),
        Case("max_unpool2d", "F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)", x=In((2, 2, 4, 6))),
        Case(
            "max_unpool2d_size",
            "F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=(5, 5))",
            x=In((2, 2, 5, 5)),
        ),
        Case("max_unpool1d", "F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2)", x=In((2, 2, 6))),
        Case("max_unpool3d", "F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2)", x=In((1, 2, 4, 4, 4))),
        Case("lp_pool2d", "F.lp_pool2d(x, 2, 2)", x=In((1, 2, 4, 4))),
    ]
    return cases


def _second_order() -> list[Case]:
    calls = {
        "max_pool2d": "F.max_pool2d(x, 3, 2, 1)",
        "max_pool1d": "F.max_pool1d(x[0], 2)",
        "avg_pool2d": "F.avg_pool2d(x, 3, 2, 1)",
        "adaptive_avg_pool2d": "F.adaptive_avg_pool2d(x, 3)",
        "adaptive_max_pool2d": "F.adaptive_max_pool2d(x, 3)",
        "max_unpool2d": "F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)",
    }
    return [
        Case(
            f"{word}_second",
            f"torch.autograd.grad(({code}**3).sum(), x, create_graph=True)",
            x=In((1, 2, 6, 4)),
            rtol=1e-4,
            atol=1e-5,
        )
        for word, code in calls.items()
    ]


def _errors() -> list[Case]:
    x = In((1, 2, 8, 8))
    line = In((2, 2, 8))
    table = {
        "max_rank": ("F.max_pool2d(x, 2)", In((2, 8))),
        "max_kernel": ("F.max_pool2d(x, 0)", x),
        "max_stride": ("F.max_pool2d(x, 2, 0)", x),
        "max_pad": ("F.max_pool2d(x, 2, padding=2)", x),
        "max_negative": ("F.max_pool2d(x, 2, padding=-1)", x),
        "max_dilation": ("F.max_pool2d(x, 2, dilation=0)", x),
        "max_small": ("F.max_pool2d(x, 2)", In((1, 2, 1, 1))),
        "max_kernel_length": ("F.max_pool2d(x, (2, 2, 2))", x),
        "max_stride_length": ("F.max_pool2d(x, 2, (1, 2, 3))", x),
        "max_padding_length": ("F.max_pool2d(x, 2, 1, (0, 0, 0))", x),
        "max_no_channels": ("F.max_pool2d(x, 2)", In((1, 0, 8, 8))),
        "max_no_rows": ("F.max_pool2d(x, 2)", In((1, 2, 0, 8))),
        "max1_rank": ("F.max_pool1d(x, 2)", In((8,))),
        "max1_small": ("F.max_pool1d(x, 9)", line),
        "max1_kernel": ("F.max_pool1d(x, 0)", line),
        "max1_pad": ("F.max_pool1d(x, 2, padding=2)", line),
        "max1_negative": ("F.max_pool1d(x, 2, padding=-1)", line),
        "max1_dilation": ("F.max_pool1d(x, 2, dilation=-1)", line),
        "max1_stride": ("F.max_pool1d(x, 2, stride=-1)", line),
        "max1_length": ("F.max_pool1d(x, (2, 2))", line),
        "max1_empty": ("F.max_pool1d(x, 2)", In((2, 2, 0))),
        "max3_rank": ("F.max_pool3d(x, 2)", In((2, 8))),
        "max3_small": ("F.max_pool3d(x, 5)", In((1, 2, 4, 4, 4))),
        "max3_length": ("F.max_pool3d(x, (1, 2))", In((1, 2, 4, 4, 4))),
        "avg_rank": ("F.avg_pool2d(x, 2)", In((2, 8))),
        "avg_divisor": ("F.avg_pool2d(x, 2, divisor_override=0)", x),
        "avg_small": ("F.avg_pool2d(x, 9)", x),
        "avg_length": ("F.avg_pool2d(x, (1, 2, 3))", x),
        "avg1_rank": ("F.avg_pool1d(x, 2)", In((8,))),
        "avg1_small": ("F.avg_pool1d(x, 9)", line),
        "avg3_rank": ("F.avg_pool3d(x, 2)", In((8,))),
        "avg3_small": ("F.avg_pool3d(x, 3)", In((1, 1, 2, 2, 2))),
        "adaptive1_rank": ("F.adaptive_avg_pool1d(x, 2)", In((8,))),
        "adaptive1_length": ("F.adaptive_avg_pool1d(x, (2, 2))", line),
        "adaptive_rank": ("F.adaptive_avg_pool2d(x, 2)", In((8, 8))),
        "adaptive_empty": ("F.adaptive_avg_pool2d(x, 2)", In((1, 1, 8, 0))),
        "adaptive_negative": ("F.adaptive_avg_pool2d(x, -1)", x),
        "adaptive_max_rank": ("F.adaptive_max_pool2d(x, 2)", In((8, 8))),
        "adaptive_max_empty": ("F.adaptive_max_pool2d(x, 2)", In((1, 1, 8, 0))),
        "adaptive_max_type": ("F.adaptive_max_pool2d(x, 2)", In((1, 1, 4, 4), "int64")),
        "unpool_type": ("F.max_unpool2d(x, torch.zeros(1, 2, 8, 8), 2)", x),
        "unpool_shape": ("F.max_unpool2d(x, torch.zeros(1, 2, 8, 7).long(), 2)", x),
        "unpool_range": ("F.max_unpool2d(x, torch.full((1, 2, 8, 8), 999), 2)", x),
    }
    return [Case(f"error_{word}", code, grad=False, x=given) for word, (code, given) in table.items()]


def _fractional() -> list[Case]:
    images, volumes = In((2, 3, 7, 8)), In((2, 2, 5, 6, 5))
    cases = [
        Case("fractional_2d", "F.fractional_max_pool2d(x, 2, output_size=(3, 4))", x=images),
        Case(
            "fractional_2d_indices",
            "F.fractional_max_pool2d(x, (2, 3), output_ratio=(0.5, 0.5), return_indices=True)",
            x=images,
        ),
        Case("fractional_2d_single", "F.fractional_max_pool2d(x, 2, output_size=3)", x=In((3, 7, 8))),
        Case("fractional_2d_nan", "F.fractional_max_pool2d(x * float('nan'), 2, 3, return_indices=True)", x=images),
        Case("fractional_3d", "F.fractional_max_pool3d(x, 2, output_size=(3, 4, 2), return_indices=True)", x=volumes),
        Case("fractional_3d_layer", "torch.nn.FractionalMaxPool3d(2, output_ratio=(0.5, 0.6, 0.7))(x)", x=volumes),
        Case(
            "fractional_samples",
            "F.fractional_max_pool2d(x, 2, 3, _random_samples=s)",
            x=images,
            s=In((2, 3, 2), low=0.0, high=0.99, grad=False),
        ),
    ]
    table = {
        "fractional_size": "F.fractional_max_pool2d(x, 2)",
        "fractional_kernel": "F.fractional_max_pool2d(x, 6, 4)",
        "fractional_numbers": "F.fractional_max_pool2d(x, (2, 2, 2), 3)",
        "fractional_ratio": "torch.nn.FractionalMaxPool2d(2, output_ratio=1.5)",
        "fractional_both": "torch.nn.FractionalMaxPool2d(2, output_size=2, output_ratio=0.5)",
        "fractional_samples_size": "F.fractional_max_pool2d(x, 2, 3, _random_samples=torch.zeros(2, 3, 3))",
    }
    return cases + [Case(f"error_{word}", code, grad=False, x=images) for word, code in table.items()]


CASES = [*_fractional(), *_fixed(), *_adaptive(), *_types_and_layouts(), *_second_order(), *_errors()]
