"""Results lie in memory as PyTorch's do: with channels innermost where an operand has them so. Random masks drawn
for such results follow that order.
"""

from __future__ import annotations

from .harness import Case, In

IMAGE = In((2, 4, 5, 6))
LAST = "x.contiguous(memory_format=torch.channels_last)"
_OPS = {
    "conv2d": "F.conv2d(y, w)",
    "conv2d_groups": "F.conv2d(y, torch.ones(4, 1, 3, 3), groups=4, stride=2, padding=1)",
    "conv2d_one_channel": "F.conv2d(y, w[:1])",
    "conv2d_one_place": "F.conv2d(y[:, :, :3, :3], w)",
    "conv_transpose2d": "F.conv_transpose2d(y, w)",
    "conv2d_double": "F.conv2d(y.double(), w.double())",
    "max_pool2d": "F.max_pool2d(y, 2, return_indices=True)",
    "max_pool2d_pad": "F.max_pool2d(y, 3, 2, 1, return_indices=True)",
    "avg_pool2d": "F.avg_pool2d(y, 2)",
    "adaptive_avg_pool2d": "F.adaptive_avg_pool2d(y, 3)",
    "adaptive_avg_pool2d_one": "F.adaptive_avg_pool2d(y, 1).reshape(2, 4)",
    "adaptive_max_pool2d": "F.adaptive_max_pool2d(y, 3, return_indices=True)",
    "batch_norm": "F.batch_norm(y, None, None, training=True)",
    "batch_norm_eval": "F.batch_norm(y, torch.zeros(4), torch.ones(4))",
    "group_norm": "F.group_norm(y, 2)",
    "instance_norm": "F.instance_norm(y)",
    "nearest": "F.interpolate(y, scale_factor=2)",
    "exact": "F.interpolate(y, scale_factor=2, mode='nearest-exact')",
    "bilinear": "F.interpolate(y, size=(3, 9), mode='bilinear')",
    "bicubic": "F.interpolate(y, size=(7, 4), mode='bicubic')",
    "pad": "F.pad(y, (1, 1, 0, 2), value=3.)",
    "pad_cut": "F.pad(y, (1, -1))",
    "reflect": "F.pad(y, (1, 1, 1, 1), mode='reflect')",
    "replicate": "F.pad(y, (1, 1, 1, 1), mode='replicate')",
    "pixel_shuffle": "F.pixel_shuffle(y, 2)",
    "pixel_unshuffle": "F.pixel_unshuffle(y[:, :, :4], 2)",
    "channel_shuffle": "F.channel_shuffle(y, 2)",
    "cat": "torch.cat([y, y], 1)",
    "cat_mixed": "torch.cat([y, x], 1)",
    "stack": "torch.stack([y, y], 1)",
    "roll": "torch.roll(y, 1, 1)",
    "glu": "F.glu(y, 1)",
    "softmax": "F.softmax(y, 1)",
    "relu": "F.relu(y) + 1",
    "where": "torch.where(y > 0, y, 0)",
    "prelu": "F.prelu(y, torch.ones(4))",
}


def _images() -> list[Case]:
    cases = [
        Case(f"{name}_last", f"y = {LAST}; {code}", x=IMAGE, w=In((4, 4, 3, 3)), rtol=1e-4, atol=1e-5)
        for name, code in _OPS.items()
    ]
    cases += [
        Case(
            "conv2d_weight_last",
            "F.conv2d(x, w.contiguous(memory_format=torch.channels_last))",
            x=IMAGE,
            w=In((4, 4, 3, 3)),
            rtol=1e-4,
            atol=1e-5,
        ),
        Case(
            "conv2d_permuted",
            "F.conv2d(x.permute(0, 3, 1, 2), w)",
            x=In((2, 5, 6, 4)),
            w=In((4, 4, 3, 3)),
            rtol=1e-4,
            atol=1e-5,
        ),
        Case("conv2d_transposed", "F.conv2d(x.transpose(2, 3), w)", x=IMAGE, w=In((4, 4, 3, 3)), rtol=1e-4, atol=1e-5),
        Case(
            "conv2d_unbatched",
            "F.conv2d(x.permute(2, 0, 1), w)",
            x=In((5, 6, 4)),
            w=In((4, 4, 3, 3)),
            rtol=1e-4,
            atol=1e-5,
        ),
        Case(
            "conv1d_permuted", "F.conv1d(x.transpose(1, 2), w)", x=In((2, 6, 4)), w=In((3, 4, 3)), rtol=1e-4, atol=1e-5
        ),
        Case(
            "conv3d_permuted",
            "F.conv3d(x.permute(0, 4, 1, 2, 3), w)",
            x=In((2, 4, 5, 3, 3)),
            w=In((2, 3, 2, 2, 2)),
            rtol=1e-4,
            atol=1e-5,
        ),
        Case("max_pool3d_permuted", "F.max_pool3d(x.permute(0, 4, 1, 2, 3), 2)", x=In((2, 4, 5, 3, 3))),
        Case("avg_pool3d_permuted", "F.avg_pool3d(x.permute(0, 4, 1, 2, 3), 2)", x=In((2, 4, 5, 3, 3))),
    ]
    return cases


def _masks_and_gradients() -> list[Case]:
    return [
        Case(
            "dropout_after_conv",
            f"torch.manual_seed(3); y = F.dropout(F.conv2d({LAST}, torch.ones(4, 4, 3, 3)), 0.5); (y != 0)",
            x=IMAGE,
            grad=False,
        ),
        Case(
            "dropout_after_pool",
            f"torch.manual_seed(3); (F.dropout(F.max_pool2d({LAST}.abs() + 1, 2), 0.5) != 0)",
            x=IMAGE,
            grad=False,
        ),
        Case(
            "rand_like_after_norm",
            f"torch.manual_seed(3); torch.rand_like(F.batch_norm({LAST}, None, None, training=True))",
            x=IMAGE,
            grad=False,
        ),
        Case(
            "gradient_of_leaf",
            f"y = {LAST}.detach().requires_grad_(); F.conv2d(y, torch.ones(2, 4, 3, 3)).sum().backward(); "
            "y.grad.stride()",
            x=IMAGE,
            grad=False,
        ),
        Case(
            "gradient_of_row_major_leaf",
            "y = x.detach().requires_grad_(); F.conv2d(y.contiguous(memory_format=torch.channels_last), "
            "torch.ones(2, 4, 3, 3)).sum().backward(); y.grad.stride()",
            x=IMAGE,
            grad=False,
        ),
        Case(
            "gradient_of_expanded_leaf",
            "y = x.detach().expand(3, 4).requires_grad_(); y.backward(torch.arange(12.).reshape(3, 4)); y.grad",
            x=In((4,)),
            grad=False,
        ),
        Case(
            "gradient_of_transposed_leaf",
            "y = x.detach().t().requires_grad_(); (y * 2).backward(torch.ones(4, 3)); y.grad.stride()",
            x=In((3, 4)),
            grad=False,
        ),
        Case(
            "module_to_format",
            "m = torch.nn.Conv2d(4, 2, 3).to(memory_format=torch.channels_last); [m.weight.stride(), m(x).stride()]",
            x=IMAGE,
            grad=False,
        ),
    ]


def _mixtures() -> list[Case]:
    """Elementwise results of operands that lie differently: the first one decides."""
    moved, plain = "p = x.permute(2, 0, 1)", In((2, 5, 6))
    codes = {
        "add": "[p + y, y + p, p + p]",
        "compare": "[p < y, y == p]",
        "divide": "[p / y, torch.atan2(y, p)]",
        "where": "torch.where(p > 0, y, p)",
        "three": "[torch.addcmul(p, y, y), torch.addcmul(y, p, p), torch.lerp(p, y, y)]",
        "row": "[p + y[0, 0], y[0, 0] + p]",
        "column": "[p * y[0, :, :1], y[0, :, :1] * p]",
        "types": "[p.double() + y, y + p.double(), (p * 9).long() * y]",
        "extremes": "[torch.maximum(p, y), torch.minimum(y, p)]",
        "expanded": "[p[0] + y[0, 0, 0].expand(5, 6), y[0, 0, 0].expand(5, 6) * p[0]]",
        "losses": "[F.mse_loss(p, y, reduction='none'), F.smooth_l1_loss(p, y, reduction='none'), F.mse_loss(y, p)]",
        "parts": "[torch.complex(p, y), torch.polar(y.abs(), p)]",
        "masked_fill": "[p.masked_fill(y > 0, 1.), y.masked_fill(p > 1, 2.)]",
        "every_second": "[p[:, ::2] + y[:, ::2], y[:, ::2] - p[:, ::2]]",
    }
    cases = [
        Case(f"mixed_{name}", f"{moved}; {code}", x=In((5, 6, 2), low=0.5), y=plain) for name, code in codes.items()
    ]
    cases.append(
        Case(
            "dropout_of_a_mixture",
            f"{moved}; torch.manual_seed(4); (F.dropout(p + y) != 0)",
            x=In((5, 6, 2), low=0.5),
            y=In((2, 5, 6), low=0.5),
            grad=False,
        )
    )
    cases.append(
        Case(
            "decoder_layer",
            "m = torch.nn.TransformerDecoderLayer(4, 2, 8, 0.0, norm_first=True); "
            "[p.data.fill_(0.1) for p in m.parameters()]; m(x.transpose(0, 1), y).stride()",
            x=In((2, 3, 4)),
            y=In((3, 2, 4)),
            grad=False,
        )
    )
    return cases


CASES = [*_images(), *_masks_and_gradients(), *_mixtures()]
