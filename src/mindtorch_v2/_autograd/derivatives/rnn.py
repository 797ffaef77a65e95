"""Derivatives of LSTM layers and of packing; other recurrent networks are differentiated through their parts."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten, modes
from ..rules import derivative


def _lstm_layer(
    g: Any,
    needs: tuple[bool, ...],
    input: Any,
    weight0: Any,
    weight1: Any,
    weight2: Any,
    weight3: Any,
    hx_: Any,
    cx_: Any,
    reverse: bool,
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    train: bool,
    bidirectional: bool,
    batch_sizes: Any,
    batch_first: bool,
    result0: Any,
    result1: Any,
    result2: Any,
    result3: Any,
) -> Any:
    """All gradients at once. Where they must be differentiable again, the layer is run anew, step by step."""
    inputs = (input, weight0, weight1, weight2, weight3, hx_, cx_)
    if modes.grad_enabled():
        return _again(g[:3], needs, inputs, reverse, has_biases)
    return aten.mkldnn_rnn_layer_backward(
        *inputs,
        result0,
        result1,
        result2,
        *g[:3],
        reverse,
        mode,
        hidden_size,
        num_layers,
        has_biases,
        train,
        bidirectional,
        batch_sizes,
        batch_first,
        result3,
    )


def _again(g: Any, needs: tuple[bool, ...], inputs: tuple[Any, ...], reverse: bool, has_biases: bool) -> list[Any]:
    from ..._backends.composite.rnn import Weights, lstm_step, run_padded
    from ..engine import run_backward

    x, w_ih, w_hh, b_ih, b_hh, h, c = inputs
    weights = Weights(w_ih, w_hh, b_ih, b_hh) if has_biases else Weights(w_ih, w_hh)
    out, (h_last, c_last) = run_padded(lstm_step, x, (h, c), weights, reverse)
    used = [(o, grad) for o, grad in zip((out, h_last, c_last), g) if grad is not None]
    wanted = [t for t, need in zip(inputs, needs) if need]
    found = iter(run_backward([o for o, _ in used], [grad for _, grad in used], True, True, wanted, True))
    return [next(found) if need else None for need in needs]


def _pack(g: Any, input: Any, batch_first: bool, result1: Any) -> Any:
    return None if g[0] is None else aten._pack_padded_sequence_backward(g[0], tuple(input.shape), result1, batch_first)


def _pack_again(g: Any, batch_sizes: Any, batch_first: bool) -> Any:
    """Unpacking is undone by packing; how long each sequence is can be read from the sizes of the batches."""
    batch = g.shape[0 if batch_first else 1]
    lengths = aten.sum(aten.gt(aten.unsqueeze(batch_sizes, 1), aten.arange(batch)), 0)
    return aten._pack_padded_sequence(g, lengths, batch_first)[0]


derivative(
    "mkldnn_rnn_layer",
    inputs=("input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_"),
    joint=_lstm_layer,
    constant=(3,),
)
derivative("_pack_padded_sequence", node="PackPaddedSequenceBackward0", input=_pack)
derivative("_pack_padded_sequence_backward", grad=_pack_again)
