"""Cases of attention and recurrent layers."""

from __future__ import annotations

from .harness import Case, In
from .layer_cases import SEQ, X4, layer


def attention() -> list[Case]:
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


def recurrent() -> list[Case]:
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


def recurrent_operators() -> list[Case]:
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
