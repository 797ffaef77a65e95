"""Cases for layers (seeded weights, outputs, gradients of weights, names, reprs), functions, initial values and
modules' errors.
"""

from __future__ import annotations

from . import nn_behaviour_cases
from .harness import Case, In
from .layer_cases import IMG, LEN, SEQ, VOL, X4, layer
from .nn_function_cases import functions, losses
from .nn_sequence_cases import attention, recurrent, recurrent_operators


def _activations() -> list[Case]:
    builds = [
        "ReLU()",
        "ReLU(inplace=False)",
        "ReLU6()",
        "RReLU()",
        "SELU()",
        "CELU(1.5)",
        "ELU(0.5)",
        "GELU()",
        "GELU(approximate='tanh')",
        "Hardshrink(0.3)",
        "Hardsigmoid()",
        "Hardswish()",
        "Hardtanh(-0.5, 0.7)",
        "LeakyReLU(0.2)",
        "LogSigmoid()",
        "LogSoftmax(dim=1)",
        "Mish()",
        "PReLU()",
        "PReLU(4)",
        "SiLU()",
        "Sigmoid()",
        "Softmax(dim=-1)",
        "Softmin(dim=0)",
        "Softplus(2, 3)",
        "Softshrink(0.3)",
        "Softsign()",
        "Tanh()",
        "Tanhshrink()",
        "Threshold(0.1, 20)",
        "GLU()",
        "Softmax(dim=None)",
    ]
    cases = [layer(f"act_{b}", b) for b in builds]
    cases += [
        layer("act_Softmax2d", "Softmax2d()", x=IMG),
        layer("act_relu_inplace_repr", "ReLU(inplace=True)", call="m(x * 1)"),
        layer("act_rrelu_eval", "RReLU().eval()"),
        layer("act_elu_inplace", "ELU(inplace=True)", call="m(x * 1)"),
    ]
    return cases


def _linear_and_conv() -> list[Case]:
    cases = [
        layer("linear", "Linear(4, 3)"),
        layer("linear_nobias", "Linear(4, 3, bias=False)"),
        layer("identity", "Identity(3, a=4)"),
        layer("linear_3d", "Linear(4, 2)", x=SEQ),
        layer("linear_1d", "Linear(4, 2)", x=In((4,))),
        layer("linear_double", "Linear(4, 2, dtype=torch.float64)", x=In((3, 4), "float64")),
        layer("bilinear", "Bilinear(4, 3, 2)", "m(x, y)", x=In((5, 4)), y=In((5, 3))),
    ]
    for n, x in ((1, LEN), (2, IMG), (3, VOL)):
        c = x.shape[1]
        cases += [
            layer(f"conv{n}d", f"Conv{n}d({c}, 6, 3, padding=1)", x=x),
            layer(
                f"conv{n}d_strided", f"Conv{n}d({c}, 4, 3, stride=2, padding=1, dilation=1, groups=2, bias=False)", x=x
            ),
            layer(f"conv_transpose{n}d", f"ConvTranspose{n}d({c}, 4, 3, stride=2, padding=1, output_padding=1)", x=x),
            layer(f"conv{n}d_circular", f"Conv{n}d({c}, 2, 3, padding=1, padding_mode='circular')", x=x),
        ]
    cases += [
        layer("conv2d_same", "Conv2d(4, 2, 3, padding='same', dilation=2)", x=IMG),
        layer("conv2d_valid", "Conv2d(4, 2, (3, 2), padding='valid')", x=IMG),
        layer("conv2d_reflect", "Conv2d(4, 2, 3, padding=2, padding_mode='reflect')", x=IMG),
        layer("conv2d_replicate_same", "Conv2d(4, 2, 3, padding='same', padding_mode='replicate')", x=IMG),
        layer("conv2d_dilated", "Conv2d(4, 2, 3, dilation=2)", x=In((1, 4, 6, 6))),
        layer("conv2d_depthwise", "Conv2d(4, 8, 3, groups=4)", x=IMG),
        layer("conv2d_unbatched", "Conv2d(4, 2, 3)", x=In((4, 6, 6))),
        layer("conv_transpose2d_size", "ConvTranspose2d(4, 3, 3, stride=2)", "m(x, output_size=(2, 3, 10, 10))", x=IMG),
        layer("conv_transpose2d_groups", "ConvTranspose2d(4, 4, 2, groups=2, dilation=2)", x=IMG),
    ]
    return cases


def _pooling() -> list[Case]:
    cases = []
    for n, x in ((1, LEN), (2, IMG), (3, VOL)):
        cases += [
            layer(f"max_pool{n}d", f"MaxPool{n}d(2)", x=x),
            layer(f"max_pool{n}d_options", f"MaxPool{n}d(3, stride=2, padding=1, ceil_mode=True)", x=x),
            layer(f"max_pool{n}d_indices", f"MaxPool{n}d(2, return_indices=True)", x=x),
            layer(f"avg_pool{n}d", f"AvgPool{n}d(2, stride=1, padding=1)", x=x),
            layer(f"adaptive_avg{n}d", f"AdaptiveAvgPool{n}d(3)", x=x),
            layer(f"adaptive_max{n}d", f"AdaptiveMaxPool{n}d(2)", x=x),
            layer(f"lp_pool{n}d", f"LPPool{n}d(2, 2)", x=x),
            layer(
                f"unpool{n}d",
                f"MaxUnpool{n}d(2)",
                f"m(*torch.nn.MaxPool{n}d(2, return_indices=True)(x), output_size=x.size())",
                x=x,
            ),
        ]
    cases += [
        layer("adaptive_avg2d_none", "AdaptiveAvgPool2d((None, 2))", x=IMG),
        layer("max_pool2d_tuple", "MaxPool2d((2, 3), stride=(1, 2))", x=IMG),
        layer("avg_pool2d_divisor", "AvgPool2d(2, divisor_override=3, count_include_pad=False)", x=IMG),
    ]
    return cases


def _norms() -> list[Case]:
    cases = []
    for n, x in ((1, LEN), (2, IMG), (3, VOL)):
        c = x.shape[1]
        cases += [
            layer(f"batch_norm{n}d", f"BatchNorm{n}d({c})", x=x),
            layer(f"batch_norm{n}d_eval", f"BatchNorm{n}d({c}).eval()", x=x),
            layer(f"instance_norm{n}d", f"InstanceNorm{n}d({c}, affine=True, track_running_stats=True)", x=x),
        ]
    cases += [
        layer("batch_norm_2d_input", "BatchNorm1d(4)"),
        layer("batch_norm_no_stats", "BatchNorm2d(4, track_running_stats=False)", x=IMG),
        layer("batch_norm_no_momentum", "BatchNorm2d(4, momentum=None, affine=False)", "[m(x), m(x * 2)]", x=IMG),
        layer("instance_norm_plain", "InstanceNorm2d(4)", x=IMG),
        layer("instance_norm_unbatched", "InstanceNorm1d(4)", x=In((4, 7))),
        layer("layer_norm", "LayerNorm(4)"),
        layer("layer_norm_2", "LayerNorm((4, 4), bias=False)", x=IMG),
        layer("layer_norm_plain", "LayerNorm(4, elementwise_affine=False)"),
        layer("group_norm", "GroupNorm(2, 4)", x=IMG),
        layer("group_norm_plain", "GroupNorm(4, 4, affine=False)", x=LEN),
        layer("rms_norm", "RMSNorm(4)"),
        layer("rms_norm_eps", "RMSNorm((2, 4), eps=1e-3, elementwise_affine=False)", x=SEQ),
        layer("lrn", "LocalResponseNorm(2, alpha=0.1)", x=IMG),
        layer("lrn_3d", "LocalResponseNorm(3)", x=LEN),
    ]
    return cases


def _other_layers() -> list[Case]:
    index = In((2, 3), "int64", 0, 9)
    cases = [
        layer("embedding", "Embedding(10, 3)", x=index),
        layer("embedding_padding", "Embedding(10, 3, padding_idx=-1)", x=index),
        layer("embedding_max_norm", "Embedding(10, 3, max_norm=1.0)", x=index),
        layer("embedding_freq", "Embedding(10, 3, scale_grad_by_freq=True)", x=index),
        layer("embedding_pretrained", "Embedding.from_pretrained(torch.arange(30.).reshape(10, 3))", x=index),
        *[layer(f"bag_{mode}", f"EmbeddingBag(10, 3, mode='{mode}')", x=index) for mode in ("sum", "mean", "max")],
        layer(
            "bag_offsets", "EmbeddingBag(10, 3, padding_idx=2)", "m(x, torch.tensor([0, 2]))", x=In((5,), "int64", 0, 9)
        ),
        layer("flatten", "Flatten()", x=IMG),
        layer("flatten_some", "Flatten(0, 1)", x=IMG),
        layer("unflatten", "Unflatten(1, (2, 2))"),
        layer("pixel_shuffle", "PixelShuffle(2)", x=IMG),
        layer("pixel_unshuffle", "PixelUnshuffle(2)", x=IMG),
        layer("channel_shuffle", "ChannelShuffle(2)", x=IMG),
        layer("unfold", "Unfold(3, padding=1, stride=2)", x=IMG),
        layer("fold", "Fold((4, 5), 2)", x=In((1, 8, 12))),
        layer("upsample", "Upsample(scale_factor=2)", x=IMG),
        layer("upsample_bilinear", "Upsample(size=(4, 9), mode='bilinear', align_corners=True)", x=IMG),
        layer("upsample_nearest2d", "UpsamplingNearest2d(scale_factor=1.5)", x=IMG),
        layer("upsample_bilinear2d", "UpsamplingBilinear2d(scale_factor=2)", x=IMG),
        layer("cosine", "CosineSimilarity(dim=1)", "m(x, y)", x=X4, y=X4),
        layer("pairwise", "PairwiseDistance(p=2, keepdim=True)", "m(x, y)", x=X4, y=X4),
    ]
    for kind in ("Circular", "Reflection", "Replication", "Zero"):
        for n, x in ((1, LEN), (2, IMG), (3, VOL)):
            cases.append(layer(f"{kind}Pad{n}d", f"{kind}Pad{n}d({tuple([1, 2] * n)})", x=x))
    cases += [
        layer("ConstantPad1d", "ConstantPad1d(2, 3.5)", x=LEN),
        layer("ConstantPad2d", "ConstantPad2d((1, 0, 2, 1), -1)", x=IMG),
    ]
    for kind, x in (
        ("Dropout(0.3)", X4),
        ("Dropout1d()", LEN),
        ("Dropout2d(0.4)", IMG),
        ("Dropout3d()", VOL),
        ("AlphaDropout()", X4),
        ("FeatureAlphaDropout()", IMG),
        ("Dropout(1.0)", X4),
        ("Dropout(0.0)", X4),
    ):
        cases.append(layer(f"drop_{kind}", kind, "torch.manual_seed(3) and m(x)", x=x))
    cases.append(layer("drop_eval", "Dropout().eval()"))
    return cases


CASES = [
    *_activations(),
    *_linear_and_conv(),
    *_pooling(),
    *_norms(),
    *attention(),
    *recurrent(),
    *recurrent_operators(),
    *_other_layers(),
    *losses(),
    *functions(),
    *nn_behaviour_cases.initial(),
    *nn_behaviour_cases.module_errors(),
    *nn_behaviour_cases.behaviour(),
]
