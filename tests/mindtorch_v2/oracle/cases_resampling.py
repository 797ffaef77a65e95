"""Cases for padding, resizing, unrolling, shuffling and sampling."""

from __future__ import annotations

from .harness import Case, In

SECOND = "torch.autograd.grad(({}**3).sum(), x, create_graph=True)"
IMAGE = In((2, 3, 4, 5))


def _padding() -> list[Case]:
    cases = []
    for word, form in {
        "last": "(1, 2)",
        "two": "(1, 0, 2, 1)",
        "all": "(0, 1, 1, 0, 0, 2)",
        "cut": "(-1, -1)",
        "mixed": "(-1, 2, 1, -2)",
        "none": "(0, 0)",
        "empty_list": "()",
    }.items():
        cases.append(Case(f"pad_{word}", f"F.pad(x, {form}, value=1.5)", x=In((2, 3, 4)) if word == "all" else IMAGE))
    for mode in ("reflect", "replicate", "circular"):
        cases += [
            Case(f"pad_{mode}_1d", f"F.pad(x, (2, 1), mode='{mode}')", x=In((2, 3, 4))),
            Case(f"pad_{mode}_1d_unbatched", f"F.pad(x, (0, 2), mode='{mode}')", x=In((3, 4))),
            Case(f"pad_{mode}_2d", f"F.pad(x, (2, 1, 1, 3), mode='{mode}')", x=IMAGE),
            Case(f"pad_{mode}_2d_cut", f"F.pad(x, (-1, 2, 0, -1), mode='{mode}')", x=IMAGE),
            Case(f"pad_{mode}_3d", f"F.pad(x, (1, 0, 0, 1, 1, 1), mode='{mode}')", x=In((1, 2, 3, 2, 3))),
            Case(
                f"pad_{mode}_transposed",
                f"F.pad(x, (1, 1, 1, 1), mode='{mode}')",
                x=In((2, 3, 4, 5), layout="transposed"),
            ),
            Case(
                f"pad_{mode}_int", f"F.pad(x, (1, 1, 1, 1), mode='{mode}')", x=In((1, 2, 3, 3), "int64", low=-9, high=9)
            ),
            Case(
                f"pad_{mode}_second",
                SECOND.format(f"F.pad(x, (1, 2, 1, 0), mode='{mode}')"),
                x=In((1, 2, 3, 4)),
                rtol=1e-4,
                atol=1e-4,
            ),
        ]
    cases += [
        Case("pad_replicate_far", "F.pad(x, (7, 5), mode='replicate')", x=In((2, 3, 4))),
        Case("pad_constant_second", SECOND.format("F.pad(x, (1, -1))"), x=In((2, 3))),
        Case("pad_transposed", "F.pad(x, (1, 1))", x=In((3, 2), layout="transposed")),
        Case("pad_cut_transposed", "F.pad(x, (-1, 0))", x=In((3, 4), layout="transposed")),
        Case("pad_no_rows", "F.pad(x, (1, 1))", x=In((0, 3))),
        Case("pad_to_nothing", "F.pad(x, (-2, -1))", x=In((2, 3)), strides=False),
        Case("constant_pad_nd", "torch.constant_pad_nd(x, (1, 1), 2)", x=In((2, 3))),
        Case("constant_pad_nd_default", "torch.constant_pad_nd(x, (1, 1))", x=In((2, 3))),
        Case("pad_half", "F.pad(x, (1, 1), value=0.1)", x=In((2, 3), "float16")),
        Case("pad_int", "F.pad(x, (1, 1), value=1.5)", x=In((2, 3), "int64")),
        Case("pad_bool", "F.pad(x, (1, 1), value=1)", x=In((2, 3), "bool")),
        Case("pad_complex", "F.pad(x, (1, 1), value=1)", x=In((2, 3), "complex64")),
        Case("pad_nan", "F.pad(x, (1, 1), value=float('nan'))", x=In((2, 2)), grad=False),
    ]
    return cases


def _resizing() -> list[Case]:
    cases = []
    shapes = {1: (2, 3, 5), 2: (1, 2, 4, 5), 3: (1, 2, 3, 2, 4)}
    modes = {
        "nearest": (1, 2, 3),
        "nearest-exact": (1, 2, 3),
        "linear": (1,),
        "bilinear": (2,),
        "trilinear": (3,),
        "bicubic": (2,),
        "area": (1, 2),
    }
    for mode, ranks in modes.items():
        for rank in ranks:
            x = In(shapes[rank])
            word = f"{mode.replace('-', '_')}{rank}d"
            sizes = ", ".join(str(n) for n in (7, 3, 6)[:rank]) + ("," if rank == 1 else "")
            corners = (False, True) if "linear" in mode or "cubic" in mode else (None,)
            for c in corners:
                more = "" if c is None else f", align_corners={c}"
                tail = "" if not c else "_corners"
                cases.append(
                    Case(
                        f"{word}_size{tail}",
                        f"F.interpolate(x, size=({sizes}), mode='{mode}'{more})",
                        x=x,
                        rtol=1e-4,
                        atol=1e-5,
                    )
                )
                cases.append(
                    Case(
                        f"{word}_scale{tail}",
                        f"F.interpolate(x, scale_factor=1.7, mode='{mode}'{more})",
                        x=x,
                        rtol=1e-4,
                        atol=1e-5,
                    )
                )
            if mode != "area":
                cases.append(
                    Case(
                        f"{word}_smaller",
                        f"F.interpolate(x, scale_factor=0.6, mode='{mode}')",
                        x=x,
                        rtol=1e-4,
                        atol=1e-5,
                    )
                )
                cases.append(
                    Case(
                        f"{word}_second",
                        SECOND.format(f"F.interpolate(x, scale_factor=2, mode='{mode}')"),
                        x=x,
                        rtol=1e-3,
                        atol=1e-3,
                    )
                )
    one = In((1, 1, 1, 1))
    cases += [
        Case(
            "bilinear_recompute",
            "F.interpolate(x, scale_factor=1.7, mode='bilinear', recompute_scale_factor=True)",
            x=IMAGE,
            rtol=1e-4,
            atol=1e-5,
        ),
        Case("bilinear_double", "F.interpolate(x, size=(7, 3), mode='bilinear')", x=In((1, 2, 4, 5), "float64")),
        Case("bilinear_half", "F.interpolate(x, size=(7, 3), mode='bilinear')", x=In((1, 2, 4, 5), "float16")),
        Case("nearest_half", "F.interpolate(x, size=(7, 3))", x=In((1, 2, 4, 5), "float16")),
        Case("nearest_uint8", "F.interpolate(x, size=(7, 3))", x=In((1, 2, 4, 5), "uint8", low=0, high=200)),
        Case("nearest_int64", "F.interpolate(x, size=(7, 3))", x=In((1, 2, 4, 5), "int64")),
        Case("nearest_transposed", "F.interpolate(x, scale_factor=2)", x=In((2, 3, 4, 5), layout="transposed")),
        Case("nearest_empty", "F.interpolate(x, scale_factor=2)", x=In((0, 3, 4, 5)), grad=False),
        Case("bilinear_one", "F.interpolate(x, size=(3, 3), mode='bilinear', align_corners=True)", x=one),
        Case(
            "bilinear_to_one", "F.interpolate(x, size=(1, 1), mode='bilinear', align_corners=True)", x=In((1, 1, 3, 3))
        ),
        Case("bilinear_same", "F.interpolate(x, size=(4, 5), mode='bilinear')", x=IMAGE),
        Case("nearest_third", "F.interpolate(x, scale_factor=1/3)", x=In((1, 1, 9, 21))),
        Case("nearest_odd", "F.interpolate(x, size=(49,))", x=In((1, 1, 7))),
        Case(
            "upsample_inf",
            "F.interpolate(x, size=(4,), mode='linear')",
            x=In(values=[[[1.0, float("inf"), 2.0, 3.0, 4.0]]]),
            grad=False,
        ),
    ]
    return cases


def _unrolling() -> list[Case]:
    return [
        Case("unfold", "F.unfold(x, 2)", x=IMAGE),
        Case("unfold_all", "F.unfold(x, (2, 3), dilation=(1, 2), padding=(1, 2), stride=2)", x=IMAGE),
        Case("unfold_unbatched", "F.unfold(x, 3, padding=1)", x=In((3, 4, 5))),
        Case("unfold_empty", "F.unfold(x, 2)", x=In((0, 2, 3, 3)), grad=False),
        Case("unfold_transposed", "F.unfold(x, 2)", x=In((2, 3, 4, 5), layout="transposed")),
        Case("unfold_double", "F.unfold(x, 2)", x=In((1, 2, 3, 3), "float64")),
        Case("unfold_second", SECOND.format("F.unfold(x, 2)"), x=In((1, 2, 3, 3)), rtol=1e-4, atol=1e-4),
        Case("fold", "F.fold(x, (3, 3), 2)", x=In((2, 8, 4))),
        Case("fold_unbatched", "F.fold(x, (3, 3), 2)", x=In((8, 4))),
        Case("fold_all", "F.fold(x, (4, 5), (2, 3), dilation=(1, 2), padding=(1, 2), stride=2)", x=In((2, 12, 9))),
        Case("fold_second", SECOND.format("F.fold(x, (3, 3), 2)"), x=In((1, 8, 4)), rtol=1e-4, atol=1e-4),
        Case("fold_half", "F.fold(x, (3, 3), 2)", x=In((1, 4, 4), "float16")),
        Case("pixel_shuffle", "F.pixel_shuffle(x, 2)", x=In((2, 8, 2, 3))),
        Case("pixel_shuffle_3d", "torch.pixel_shuffle(x, 3)", x=In((9, 2, 1))),
        Case("pixel_shuffle_int", "torch.pixel_shuffle(x, 2)", x=In((1, 4, 2, 2), "int64")),
        Case("pixel_shuffle_transposed", "F.pixel_shuffle(x, 2)", x=In((2, 8, 2, 3), layout="transposed")),
        Case("pixel_shuffle_second", SECOND.format("F.pixel_shuffle(x, 2)"), x=In((1, 4, 2, 2)), rtol=1e-4, atol=1e-4),
        Case("pixel_unshuffle", "F.pixel_unshuffle(x, 2)", x=In((2, 2, 4, 6))),
        Case("pixel_unshuffle_5d", "torch.pixel_unshuffle(x, 2)", x=In((2, 1, 1, 4, 2))),
        Case("channel_shuffle", "F.channel_shuffle(x, 2)", x=In((2, 6, 2, 2))),
        Case("channel_shuffle_3d", "torch.channel_shuffle(x, 3)", x=In((2, 6, 2))),
        Case("native_channel_shuffle", "torch.native_channel_shuffle(x, 2)", x=In((2, 6, 2)), grad=False),
        Case("channel_shuffle_second", SECOND.format("F.channel_shuffle(x, 2)"), x=In((1, 4, 2)), rtol=1e-4, atol=1e-4),
    ]


def _sampling() -> list[Case]:
    cases = []
    x, g = In((2, 2, 4, 5)), In((2, 3, 2, 2), low=-1.4, high=1.4)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (False, True):
                cases.append(
                    Case(
                        f"grid_sample_{mode}_{padding}_{corners}",
                        f"F.grid_sample(x, g, mode='{mode}', padding_mode='{padding}', align_corners={corners})",
                        x=x,
                        g=g,
                        rtol=1e-3,
                        atol=1e-4,
                    )
                )
    cases += [
        Case(
            "grid_sample_double",
            "F.grid_sample(x, g, align_corners=False)",
            x=In((1, 2, 3, 3), "float64"),
            g=In((1, 2, 2, 2), "float64", low=-1, high=1),
        ),
        Case("torch_grid_sampler", "torch.grid_sampler(x, g, 0, 0, True)", x=x, g=g, rtol=1e-3, atol=1e-4),
        Case("torch_grid_sampler_2d", "torch.grid_sampler_2d(x, g, 1, 1, False)", x=x, g=g, rtol=1e-3, atol=1e-4),
        Case(
            "torch_affine_grid_generator",
            "torch.affine_grid_generator(x, [2, 1, 3, 4], True)",
            x=In((2, 2, 3)),
            rtol=1e-4,
            atol=1e-5,
        ),
        Case(
            "affine_grid", "F.affine_grid(x, (2, 1, 3, 4), align_corners=False)", x=In((2, 2, 3)), rtol=1e-4, atol=1e-5
        ),
        Case(
            "affine_grid_corners",
            "F.affine_grid(x, (2, 1, 3, 1), align_corners=True)",
            x=In((2, 2, 3)),
            rtol=1e-4,
            atol=1e-5,
        ),
        Case(
            "affine_grid_volume",
            "F.affine_grid(x, (1, 1, 2, 3, 2), align_corners=False)",
            x=In((1, 3, 4)),
            rtol=1e-4,
            atol=1e-5,
        ),
        Case(
            "affine_grid_second",
            SECOND.format("F.affine_grid(x, (1, 1, 2, 2), align_corners=False)"),
            x=In((1, 2, 3)),
            rtol=1e-3,
            atol=1e-3,
        ),
    ]
    return cases


def _errors() -> list[Case]:
    flat, image = In((2, 3)), In((2, 2, 3, 3))
    table = {
        "pad_odd": ("F.pad(x, (1,))", flat),
        "pad_long": ("F.pad(x, (1, 1, 1, 1, 1, 1))", flat),
        "pad_cut": ("F.pad(x, (-2, -2))", flat),
        "pad_mode": ("F.pad(x, (1, 1), mode='foo')", flat),
        "pad_reflect_rank": ("F.pad(x, (1, 1), mode='reflect')", In((3,))),
        "pad_reflect_size": ("F.pad(x, (3, 1), mode='reflect')", flat),
        "pad_reflect_size2": ("F.pad(x, (1, 1, 1, 3), mode='reflect')", image),
        "pad_reflect_short": ("F.pad(x, (1, 1), mode='reflect')", image),
        "pad_value": ("F.pad(x, (1, 1, 1, 1), mode='reflect', value=1.)", image),
        "pad_bool": ("F.pad(x, (1, 1, 1, 1), mode='replicate')", In((1, 2, 3, 3), "bool")),
        "pad_circular_size": ("F.pad(x, (4, 1, 1, 1), mode='circular')", image),
        "pad_scalar": ("F.pad(x, (1, 1))", In(())),
        "pad_reflect_empty": ("F.pad(x, (1, 1, 1, 1), mode='reflect')", In((1, 2, 0, 3))),
        "unfold_size": ("F.unfold(x, 4)", image),
        "unfold_kernel": ("F.unfold(x, 0)", image),
        "unfold_type": ("F.unfold(x, 2)", In((1, 2, 3, 3), "int64")),
        "fold_blocks": ("F.fold(x, (3, 3), 2)", In((1, 8, 5))),
        "fold_channels": ("F.fold(x, (3, 3), 2)", In((1, 7, 4))),
        "fold_rank": ("F.fold(x, (3, 3), 2)", In((7,))),
        "shuffle_channels": ("F.pixel_shuffle(x, 2)", In((1, 3, 2, 2))),
        "shuffle_rank": ("F.pixel_shuffle(x, 2)", flat),
        "shuffle_factor": ("F.pixel_shuffle(x, -2)", In((4, 2, 2))),
        "unshuffle_height": ("F.pixel_unshuffle(x, 2)", In((1, 3, 3, 2))),
        "unshuffle_width": ("F.pixel_unshuffle(x, 2)", In((1, 3, 2, 3))),
        "channels_groups": ("F.channel_shuffle(x, 2)", In((1, 3, 2))),
        "channels_rank": ("F.channel_shuffle(x, 2)", In((1, 2))),
        "channels_zero": ("F.channel_shuffle(x, 0)", In((1, 4, 2, 2))),
        "nearest_zero": ("F.interpolate(x, size=(0, 2))", image),
        "nearest_empty": ("F.interpolate(x, size=(2, 2))", In((1, 1, 0, 3))),
        "nearest_no_channels": ("F.interpolate(x, size=(2, 2))", In((1, 0, 3, 3))),
        "grid_size": ("F.grid_sample(x, torch.zeros(2, 2, 2, 3), align_corners=False)", image),
        "grid_batch": ("F.grid_sample(x, torch.zeros(1, 2, 2, 2), align_corners=False)", image),
        "grid_type": ("F.grid_sample(x, torch.zeros(2, 2, 2, 2).double(), align_corners=False)", image),
    }
    return [Case(f"error_{word}", code, grad=False, x=given) for word, (code, given) in table.items()]


CASES = [*_padding(), *_resizing(), *_unrolling(), *_sampling(), *_errors()]

# --- resizing with a filter, sampling of volumes
_IMAGE, _VOLUME = In((1, 2, 7, 9), "float64"), In((1, 2, 3, 4, 5), "float64")
for _mode in ("bilinear", "bicubic", "lanczos"):
    CASES += [
        Case(
            f"antialias-{_mode}-{form}-{corners}",
            f"F.interpolate(a, {form}, mode='{_mode}', align_corners={corners}, antialias=True)",
            a=_IMAGE,
            rtol=1e-6,
        )
        for form in ("size=(3, 4)", "size=(11, 5)", "size=(7, 9)", "scale_factor=0.4", "scale_factor=(0.7, 1.9)")
        for corners in (False, True)
    ]
    CASES.append(
        Case(
            f"antialias-{_mode}-single",
            f"F.interpolate(a, size=(3, 4), mode='{_mode}', antialias=True)",
            a=In((2, 1, 6, 8)),
        )
    )
CASES += [
    Case(f"error-antialias-{c}", c, a=In((1, 2, 4, 4)), grad=False)
    for c in (
        "F.interpolate(a, size=(2, 2), mode='nearest', antialias=True)",
        "F.interpolate(a[0], size=2, mode='linear', antialias=True)",
        "F.interpolate(a, size=(2, 2), mode='lanczos')",
    )
]
for _mode in ("bilinear", "nearest"):
    for _pad in ("zeros", "border", "reflection"):
        CASES += [
            Case(
                f"grid_sample-5d-{_mode}-{_pad}-{corners}",
                f"F.grid_sample(a, g, '{_mode}', '{_pad}', {corners})",
                a=_VOLUME,
                g=In((1, 2, 3, 2, 3), "float64", low=-1.4, high=1.4),
                rtol=1e-7,
            )
            for corners in (False, True)
        ]
CASES += [
    Case(
        "grid_sample-5d-cubic",
        "F.grid_sample(a, torch.zeros(1, 2, 3, 2, 3, dtype=torch.float64), 'bicubic', align_corners=False)",
        a=_VOLUME,
    ),
    Case("grid_sample-3d", "F.grid_sample(a[0], torch.zeros(2, 3, 2), align_corners=False)", a=_VOLUME),
    Case("grid_sample-mixed", "F.grid_sample(a, torch.zeros(1, 2, 3, 2), align_corners=False)", a=_VOLUME),
]
CASES.append(
    Case(
        "torch_grid_sampler_3d",
        "torch.grid_sampler_3d(a, g, 0, 1, False)",
        a=_VOLUME,
        g=In((1, 2, 3, 2, 3), "float64", low=-1.4, high=1.4),
        rtol=1e-7,
    )
)
