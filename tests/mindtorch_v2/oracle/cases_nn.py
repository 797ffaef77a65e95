"""Cases for layers (seeded weights, outputs, gradients of weights, names, reprs), functions, initial values and
modules' errors.
"""

from __future__ import annotations

from . import nn_behaviour_cases
from .harness import Case, In

X4 = In((3, 4))
SEQ = In((5, 2, 4))
IMG = In((2, 4, 4, 4))
LEN = In((2, 4, 7))
VOL = In((1, 2, 3, 4, 3))
_ANSWER = """
def flat(v):
    if isinstance(v, torch.Tensor):
        return [v]
    if isinstance(v, (list, tuple)):
        return [t for x in v for t in flat(x)]
    return []
outs = flat(out)
loss = sum(((t * t).sum() for t in outs if t.is_floating_point()), torch.zeros(()))
if loss.requires_grad:
    loss.backward()
{"out": [t.detach() for t in outs], "state": list(m.state_dict().items()), "grads": [p.grad for p in m.parameters()],
 "names": [n for n, _ in m.named_parameters()], "repr": repr(m), "inputs": [x.grad for x in inputs]}
"""


def layer(id: str, build: str, call: str = "m(x)", tail: str = "", **inputs: In) -> Case:
    """A seeded layer called on the inputs; the answer holds all there is to know of it."""
    inputs = inputs or {"x": X4}
    names = ", ".join(n for n, spec in inputs.items() if spec.dtype.startswith("float"))
    code = "\n".join(
        [
            "torch.manual_seed(5)",
            f"m = torch.nn.{build}",
            tail or "pass",
            f"inputs = [{names}]",
            f"out = {call}",
            *_ANSWER.strip().split("\n")[:-2],
            "answer = " + "".join(_ANSWER.strip().split("\n")[-2:]),
            "answer",
        ]
    )
    return Case(id, code, rtol=2e-4, atol=2e-5, strides=False, **inputs)


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


def _attention() -> list[Case]:
    qkv = {"q": In((5, 2, 4)), "k": In((3, 2, 4)), "v": In((3, 2, 4))}
    one = {"x": In((5, 2, 4))}
    mask = "torch.nn.Transformer.generate_square_subsequent_mask(5)"
    pad = "torch.tensor([[False, False, True], [False, True, True]])"
    return [
        layer("mha_self", "MultiheadAttention(4, 2)", "m(x, x, x)", **one),
        layer("mha_cross", "MultiheadAttention(4, 2)", "m(q, k, k)", q=qkv["q"], k=qkv["k"]),
        layer("mha_three", "MultiheadAttention(4, 4, bias=False)", "m(q, k, v)", **qkv),
        layer("mha_no_weights", "MultiheadAttention(4, 2)", "m(q, k, v, need_weights=False)[0]", **qkv),
        layer("mha_not_averaged", "MultiheadAttention(4, 2)", "m(q, k, v, average_attn_weights=False)", **qkv),
        layer("mha_causal", "MultiheadAttention(4, 2)", f"m(x, x, x, attn_mask={mask})", **one),
        layer(
            "mha_is_causal",
            "MultiheadAttention(4, 2)",
            f"m(x, x, x, attn_mask={mask}, is_causal=True, need_weights=False)[0]",
            **one,
        ),
        layer("mha_padding", "MultiheadAttention(4, 2)", f"m(q, k, v, key_padding_mask={pad})", **qkv),
        layer(
            "mha_padding_no_weights",
            "MultiheadAttention(4, 2)",
            f"m(q, k, v, key_padding_mask={pad}, need_weights=False)[0]",
            **qkv,
        ),
        layer(
            "mha_both_masks",
            "MultiheadAttention(4, 2)",
            f"m(q, k, v, key_padding_mask={pad}, attn_mask=torch.eye(5, 3) > 0)",
            **qkv,
        ),
        layer(
            "mha_mask_3d",
            "MultiheadAttention(4, 2)",
            "m(q, k, v, attn_mask=torch.arange(60.).reshape(4, 5, 3) / 10)",
            **qkv,
        ),
        layer("mha_batch_first", "MultiheadAttention(4, 2, batch_first=True)", "m(x, x, x)", **one),
        layer("mha_bias_kv", "MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)", "m(q, k, v)", **qkv),
        layer(
            "mha_bias_kv_masked",
            "MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True)",
            f"m(q, k, v, key_padding_mask={pad}, attn_mask=torch.eye(5, 3) > 0)",
            **qkv,
        ),
        layer(
            "mha_kdim",
            "MultiheadAttention(4, 2, kdim=6, vdim=5)",
            "m(q, k, v)",
            q=qkv["q"],
            k=In((3, 2, 6)),
            v=In((3, 2, 5)),
        ),
        layer("mha_unbatched", "MultiheadAttention(4, 2)", "m(x, x, x)", x=In((5, 4))),
        layer("mha_dropout_eval", "MultiheadAttention(4, 2, dropout=0.5).eval()", "m(x, x, x)", **one),
        layer("mha_dropout_weights", "MultiheadAttention(4, 2, dropout=0.5)", "m(x, x, x)", **one),
        layer("encoder_layer", "TransformerEncoderLayer(4, 2, 6, dropout=0.0)", **one),
        layer(
            "encoder_layer_train",
            "TransformerEncoderLayer(4, 2, 6)",
            call="torch.manual_seed(1) and m(x, torch.zeros(5, 5))",
            **one,
        ),
        layer(
            "encoder_layer_pre",
            "TransformerEncoderLayer(4, 2, 6, dropout=0.0, norm_first=True, activation='gelu', "
            "batch_first=True, bias=False)",
            **one,
        ),
        layer(
            "decoder_layer",
            "TransformerDecoderLayer(4, 2, 6, dropout=0.0)",
            f"m(x, y, tgt_mask={mask})",
            x=one["x"],
            y=In((3, 2, 4)),
        ),
        layer(
            "decoder_layer_pre",
            "TransformerDecoderLayer(4, 2, 6, dropout=0.0, norm_first=True)",
            "m(x, y)",
            x=one["x"],
            y=In((3, 2, 4)),
        ),
        layer(
            "encoder",
            "TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0), 2)",
            f"m(x, mask={mask})",
            **one,
        ),
        layer(
            "transformer",
            "Transformer(4, 2, 1, 1, 6, dropout=0.0)",
            "m(x, y, tgt_mask=torch.nn.Transformer.generate_square_subsequent_mask(3))",
            x=one["x"],
            y=In((3, 2, 4)),
        ),
    ]


def _recurrent() -> list[Case]:
    cases = []
    for kind in ("RNN", "LSTM", "GRU"):
        cases += [
            layer(f"{kind}", f"{kind}(4, 3)", x=SEQ),
            layer(f"{kind}_deep", f"{kind}(4, 3, num_layers=2, bidirectional=True)", x=SEQ),
            layer(f"{kind}_batch_first", f"{kind}(4, 3, batch_first=True, bias=False)", x=In((2, 5, 4))),
            layer(f"{kind}_unbatched", f"{kind}(4, 3)", x=In((5, 4))),
            layer(f"{kind}_dropout", f"{kind}(4, 3, 2, dropout=0.5)", "torch.manual_seed(1) and m(x)", x=SEQ),
            layer(
                f"{kind}_packed",
                f"{kind}(4, 3, 2, bidirectional=True)",
                "(lambda r: (r[0].data, r[1]))(m(torch.nn.utils.rnn.pack_padded_sequence(x, [5, 3])))",
                x=SEQ,
            ),
            layer(
                f"{kind}_packed_unsorted",
                f"{kind}(4, 3)",
                "(lambda r: (torch.nn.utils.rnn.pad_packed_sequence(r[0]), r[1]))"
                "(m(torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor([2, 5]), enforce_sorted=False)))",
                x=SEQ,
            ),
            layer(f"{kind}Cell", f"{kind}Cell(4, 3)"),
            layer(f"{kind}Cell_unbatched", f"{kind}Cell(4, 3, bias=False)", x=In((4,))),
        ]
    cases += [
        layer("RNN_relu", "RNN(4, 3, nonlinearity='relu')", x=SEQ),
        layer("RNNCell_relu", "RNNCell(4, 3, nonlinearity='relu')"),
        layer("LSTM_proj", "LSTM(4, 5, 2, proj_size=2, bidirectional=True)", x=SEQ),
        layer("LSTM_state", "LSTM(4, 3)", "m(x, (h, c))", x=SEQ, h=In((1, 2, 3)), c=In((1, 2, 3))),
        layer("GRU_state", "GRU(4, 3)", "m(x, h)", x=SEQ, h=In((1, 2, 3))),
        layer("GRUCell_state", "GRUCell(4, 3)", "m(x, h)", x=X4, h=In((3, 3))),
        layer("LSTMCell_state", "LSTMCell(4, 3)", "m(x, (h, c))", x=X4, h=In((3, 3)), c=In((3, 3))),
    ]
    return cases


def _recurrent_operators() -> list[Case]:
    """The operators behind the layers, called as such."""
    weights = {"w": In((3, 4)), "u": In((3, 3)), "b": In((3,)), "c": In((3,))}
    state = In((1, 2, 3))
    cases = []
    for name, gates in (("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3), ("lstm", 4)):
        inputs = {k: In((gates * v.shape[0], *v.shape[1:])) for k, v in weights.items()}
        hidden = "(h, h)" if name == "lstm" else "h"
        flat = "(h[0], h[0])" if name == "lstm" else "h[0]"
        cases += [
            Case(
                f"op_{name}",
                f"torch.{name}(x, {hidden}, (w, u, b, c), True, 1, 0.0, False, False, False)",
                x=SEQ,
                h=state,
                **inputs,
                rtol=2e-4,
                atol=2e-5,
                grad=name != "lstm",
            ),
            Case(
                f"op_{name}_data",
                f"torch.{name}(x, torch.tensor([2, 2, 1]), {hidden}, (w, u), False, 1, 0.0, False, False)",
                x=In((5, 4)),
                h=state,
                w=inputs["w"],
                u=inputs["u"],
                rtol=2e-4,
                atol=2e-5,
            ),
            Case(
                f"op_{name}_cell",
                f"torch.{name}_cell(x, {flat}, w, u, b, c)",
                x=In((2, 4)),
                h=state,
                **inputs,
                rtol=2e-4,
                atol=2e-5,
            ),
        ]
    cases += [
        Case("op_pack", "list(torch._pack_padded_sequence(x, torch.tensor([4, 2]), False))", x=SEQ),
        Case(
            "op_pad_packed",
            "list(torch._pad_packed_sequence(x, torch.tensor([2, 2, 1]), True, 7.0, 4))",
            x=In((5, 4)),
            grad=False,
        ),
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


def _losses() -> list[Case]:
    x, y = In((4, 5)), In((4, 5))
    prob = In((4, 5), low=0.05, high=0.95)
    target = In((4,), "int64", 0, 4)
    signs = In((4,), values=[1.0, -1.0, 1.0, -1.0])
    cases = []
    for r in ("mean", "sum", "none"):
        cases += [
            layer(f"{k}_{r}", f"{k}(reduction='{r}')", "m(x, y)", x=x, y=y)
            for k in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "PoissonNLLLoss")
        ]
        cases += [
            layer(
                f"CrossEntropyLoss_{r}",
                f"CrossEntropyLoss(reduction='{r}', label_smoothing=0.1, ignore_index=2)",
                "m(x, t)",
                x=x,
                t=target,
            ),
            layer(
                f"NLLLoss_{r}",
                f"NLLLoss(weight=torch.arange(1., 6.), reduction='{r}')",
                "m(torch.log_softmax(x, 1), t)",
                x=x,
                t=target,
            ),
            layer(f"BCELoss_{r}", f"BCELoss(reduction='{r}')", "m(x, y)", x=prob, y=prob),
            layer(
                f"BCEWithLogitsLoss_{r}",
                f"BCEWithLogitsLoss(pos_weight=torch.arange(1., 6.), reduction='{r}')",
                "m(x, y)",
                x=x,
                y=prob,
            ),
            layer(f"KLDivLoss_{r}", f"KLDivLoss(reduction='{r}')", "m(torch.log_softmax(x, 1), y)", x=x, y=prob),
            layer(f"MultiMarginLoss_{r}", f"MultiMarginLoss(reduction='{r}')", "m(x, t)", x=x, t=target),
            layer(
                f"MultiLabelMarginLoss_{r}",
                f"MultiLabelMarginLoss(reduction='{r}')",
                "m(x, torch.tensor([[1, 2, -1, 0, 0]] * 4))",
                x=x,
            ),
            layer(
                f"MultiLabelSoftMarginLoss_{r}",
                f"MultiLabelSoftMarginLoss(reduction='{r}')",
                "m(x, (y > 0).float())",
                x=x,
                y=y,
            ),
            layer(f"SoftMarginLoss_{r}", f"SoftMarginLoss(reduction='{r}')", "m(x, y.detach().sign())", x=x, y=y),
            layer(
                f"HingeEmbeddingLoss_{r}", f"HingeEmbeddingLoss(reduction='{r}')", "m(x, y.detach().sign())", x=x, y=y
            ),
            layer(
                f"CosineEmbeddingLoss_{r}",
                f"CosineEmbeddingLoss(margin=0.1, reduction='{r}')",
                "m(x, y, s)",
                x=x,
                y=y,
                s=signs,
            ),
            layer(
                f"MarginRankingLoss_{r}",
                f"MarginRankingLoss(margin=0.1, reduction='{r}')",
                "m(x[0], y[0], y[1].detach().sign())",
                x=x,
                y=y,
            ),
            layer(
                f"TripletMarginLoss_{r}",
                f"TripletMarginLoss(swap=True, reduction='{r}')",
                "m(x, y, z)",
                x=x,
                y=y,
                z=In((4, 5)),
            ),
            layer(
                f"TripletDistance_{r}",
                f"TripletMarginWithDistanceLoss(reduction='{r}')",
                "m(x, y, z)",
                x=x,
                y=y,
                z=In((4, 5)),
            ),
            layer(
                f"GaussianNLLLoss_{r}", f"GaussianNLLLoss(full=True, reduction='{r}')", "m(x, y, v)", x=x, y=y, v=prob
            ),
            layer(
                f"CTCLoss_{r}",
                f"CTCLoss(reduction='{r}')",
                "m(torch.log_softmax(x, 2), torch.tensor([[1, 2, 3], [2, 2, 1]]), torch.tensor([6, 5]), "
                "torch.tensor([3, 2]))",
                x=In((6, 2, 5)),
            ),
        ]
    cases += [
        layer("CrossEntropyLoss_probs", "CrossEntropyLoss()", "m(x, y)", x=x, y=prob),
        layer("CrossEntropyLoss_2d", "CrossEntropyLoss()", "m(x, t)", x=In((2, 3, 4)), t=In((2, 4), "int64", 0, 2)),
        layer("KLDivLoss_batchmean", "KLDivLoss(reduction='batchmean', log_target=True)", "m(x, y)", x=x, y=y),
    ]
    return cases


def _functions() -> list[Case]:
    x, y, w = In((4, 5)), In((4, 5)), In((4, 5), low=0.1)
    return [
        Case(
            "f_mse_weight", "[F.mse_loss(x, y, weight=w, reduction=r) for r in ('none', 'mean', 'sum')]", x=x, y=y, w=w
        ),
        Case("f_l1_weight", "[F.l1_loss(x, y, weight=w, reduction=r) for r in ('none', 'mean', 'sum')]", x=x, y=y, w=w),
        Case(
            "f_huber_weight",
            "[F.huber_loss(x, y, weight=w, reduction=r, delta=0.5) for r in ('none', 'mean', 'sum')]",
            x=x,
            y=y,
            w=w,
        ),
        Case("f_mse_broadcast", "F.mse_loss(x, y)", x=x, y=In((5,))),
        Case("f_smooth_l1_zero_beta", "F.smooth_l1_loss(x, y, beta=0.0)", x=x, y=y),
        Case("f_mse_old_flags", "F.mse_loss(x, y, size_average=False)", x=x, y=y),
        Case("f_bad_reduction", "F.mse_loss(x, y, reduction='median')", x=x, y=y),
        Case("f_normalize", "[F.normalize(x), F.normalize(x, p=1, dim=0)]", x=x),
        Case(
            "f_gumbel",
            "torch.manual_seed(2); [F.gumbel_softmax(x, tau=0.5), F.gumbel_softmax(x, hard=True)]",
            x=x,
            rtol=1e-4,
        ),
        Case("f_one_hot", "F.one_hot(t, 5)", t=In((3,), "int64", 0, 4)),
        Case("f_logsigmoid", "F.logsigmoid(x)", x=x),
        Case("f_gelu", "F.gelu(x, approximate='tanh')", x=x),
        Case("f_softplus", "F.softplus(x, 2)", x=x),
        Case("f_pdist", "F.pdist(x)", x=x),
        Case("f_softmax_dtype", "F.softmax(x, 1, dtype=torch.float64)", x=x),
        Case("f_interpolate_area", "F.interpolate(x, scale_factor=0.5, mode='area')", x=IMG),
        Case("f_interpolate_exact", "F.interpolate(x, size=9, mode='nearest-exact')", x=LEN),
        Case(
            "f_interpolate_linear",
            "F.interpolate(x, scale_factor=1.7, mode='linear', recompute_scale_factor=True)",
            x=LEN,
        ),
        Case("f_interpolate_bicubic", "F.interpolate(x, (3, 8), mode='bicubic')", x=IMG, rtol=1e-4),
        Case("f_interpolate_both", "F.interpolate(x, 3, 2)", x=IMG),
        Case("f_interpolate_neither", "F.interpolate(x)", x=IMG),
        Case("f_interpolate_corners", "F.interpolate(x, 3, align_corners=True)", x=IMG),
        Case("f_interpolate_dims", "F.interpolate(x, (3, 3), mode='bilinear')", x=LEN),
        Case("f_interpolate_mode", "F.interpolate(x, 3, mode='bilinear')", x=LEN),
        Case(
            "f_grid_sample",
            "F.grid_sample(x, F.affine_grid(t, (2, 4, 5, 3), align_corners=False), align_corners=False)",
            x=IMG,
            t=In((2, 2, 3)),
            rtol=1e-4,
            atol=1e-5,
        ),
        Case("f_grid_sample_mode", "F.grid_sample(x, x, mode='cubic')", x=IMG),
        Case(
            "f_embedding_bag_weights",
            "F.embedding_bag(i, w, per_sample_weights=p, mode='sum')",
            i=In((2, 3), "int64", 0, 3),
            w=x,
            p=In((2, 3)),
        ),
        Case("f_embedding_bag_mode", "F.embedding_bag(i, w, mode='median')", i=In((2, 3), "int64", 0, 3), w=x),
        Case("f_embedding_padding", "F.embedding(i, w, padding_idx=7)", i=In((2,), "int64", 0, 3), w=x),
        Case("f_dropout_p", "F.dropout(x, 1.5)", x=x),
        Case("f_hardtanh_order", "F.hardtanh(x, 1.0, 0.0)", x=x),
        Case("f_bce_sizes", "F.binary_cross_entropy(x, y)", x=x, y=In((5,))),
        Case("f_bce_logits_sizes", "F.binary_cross_entropy_with_logits(x, y)", x=x, y=In((5,))),
        Case("f_batch_norm_one", "F.batch_norm(x, None, None, training=True)", x=In((1, 3))),
        Case("f_instance_norm_one", "F.instance_norm(x)", x=In((2, 3, 1))),
        Case("f_triplet_margin", "F.triplet_margin_loss(x, y, x, margin=-1.0)", x=x, y=y),
        Case("f_gaussian_negative", "F.gaussian_nll_loss(x, y, -1.0)", x=x, y=y),
        Case("f_glu_scalar", "F.glu(x)", x=In(())),
        Case("f_pack", "list(torch.nn.utils.rnn.pack_padded_sequence(x, [5, 3], batch_first=False))[:2]", x=SEQ),
        Case(
            "f_pack_batch_first",
            "list(torch.nn.utils.rnn.pack_padded_sequence(x, [3, 2, 1], True))[:2]",
            x=In((3, 3, 2)),
        ),
        Case(
            "f_pack_unsorted", "list(torch.nn.utils.rnn.pack_padded_sequence(x, [3, 5], enforce_sorted=False))", x=SEQ
        ),
        Case("f_pack_not_sorted", "torch.nn.utils.rnn.pack_padded_sequence(x, [3, 5])", x=SEQ),
        Case("f_pack_zero", "torch.nn.utils.rnn.pack_padded_sequence(x, [3, 0])", x=SEQ),
        Case("f_pack_count", "torch.nn.utils.rnn.pack_padded_sequence(x, [3])", x=SEQ),
        Case(
            "f_pad_packed",
            "P = torch.nn.utils.rnn; list(P.pad_packed_sequence(P.pack_padded_sequence(x, [4, 2]), padding_value=-1.0, "
            "total_length=6))",
            x=SEQ,
            grad=False,
        ),
        Case(
            "f_pad_sequence",
            "torch.nn.utils.rnn.pad_sequence([x, y], batch_first=True, padding_value=2.0)",
            x=In((3, 2)),
            y=In((5, 2)),
            grad=False,
        ),
        Case(
            "f_pad_sequence_left",
            "torch.nn.utils.rnn.pad_sequence([x, y], padding_side='left')",
            x=In((3, 2)),
            y=In((5, 2)),
            grad=False,
        ),
        Case("f_unpad", "torch.nn.utils.rnn.unpad_sequence(x, torch.tensor([2, 5]))", x=SEQ, grad=False),
        Case(
            "f_pack_sequence",
            "P = torch.nn.utils.rnn; P.unpack_sequence(P.pack_sequence([x, y], enforce_sorted=False))",
            x=In((3, 2)),
            y=In((5, 2)),
            grad=False,
        ),
    ]


CASES = [
    *_activations(),
    *_linear_and_conv(),
    *_pooling(),
    *_norms(),
    *_attention(),
    *_recurrent(),
    *_recurrent_operators(),
    *_other_layers(),
    *_losses(),
    *_functions(),
    *nn_behaviour_cases.initial(),
    *nn_behaviour_cases.module_errors(),
    *nn_behaviour_cases.behaviour(),
]
