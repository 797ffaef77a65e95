"""Recurrent networks over whole sequences, single cells, and packed sequences."""

from __future__ import annotations

from typing import Any

from .rules import Spec
from .table import op

_WHOLE = "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
_CELL = "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"

op(f"lstm.input(Tensor input, Tensor[] hx, {_WHOLE}, bool batch_first) -> (Tensor, Tensor, Tensor)", method=False)
op(f"lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, {_WHOLE}) -> (Tensor, Tensor, Tensor)", method=False)
op(f"lstm_cell(Tensor input, Tensor[] hx, {_CELL}) -> (Tensor, Tensor)", method=False)
for _name in ("gru", "rnn_tanh", "rnn_relu"):
    op(f"{_name}.input(Tensor input, Tensor hx, {_WHOLE}, bool batch_first) -> (Tensor, Tensor)", method=False)
    op(f"{_name}.data(Tensor data, Tensor batch_sizes, Tensor hx, {_WHOLE}) -> (Tensor, Tensor)", method=False)
    op(f"{_name}_cell(Tensor input, Tensor hx, {_CELL}) -> Tensor", method=False)


def _lstm_layer(
    input: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, hx_: Any, cx_: Any, *rest: Any
) -> tuple[Spec, ...]:
    steps, batch, _ = input.shape
    hidden = w_hh.shape[1]
    state = Spec((batch, hidden), input.dtype)
    return Spec((steps, batch, hidden), input.dtype), state, state, Spec((steps, batch, 6 * hidden), input.dtype)


def _lstm_layer_backward(
    input: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, hx_: Any, cx_tmp: Any, *rest: Any
) -> tuple[Spec, ...]:
    return tuple(Spec(tuple(t.shape), t.dtype) for t in (input, w_ih, w_hh, b_ih, b_hh, hx_, cx_tmp))


op(
    "mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor "
    "cx_, bool reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool "
    "bidirectional, bool batch_first, bool train) -> (Tensor, Tensor, Tensor, Tensor)",
    meta=_lstm_layer,
    function=False,
    method=False,
)
op(
    "mkldnn_rnn_layer_backward(Tensor input, Tensor weight1, Tensor weight2, Tensor weight3, Tensor weight4, Tensor "
    "hx_, Tensor cx_tmp, Tensor output, Tensor hy_, Tensor cy_, Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, "
    "bool reverse, int mode, int hidden_size, int num_layers, bool has_biases, bool train, bool bidirectional, int[] "
    "batch_sizes, bool batch_first, Tensor workspace) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    meta=_lstm_layer_backward,
    function=False,
    method=False,
    no_grad="second derivatives go through the composite form",
)


def _pack_specs(input: Any, lengths: Any, batch_first: bool) -> tuple[Spec, Spec]:
    raise NotImplementedError(
        "_pack_padded_sequence: the size of the result depends on the lengths' values, which meta tensors do not have"
    )


def _unpack_spec(grad: Any, input_size: Any, batch_sizes: Any, batch_first: bool) -> Spec:
    return Spec(tuple(input_size), grad.dtype)


op(
    "_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)",
    meta=_pack_specs,
    method=False,
)
op(
    "_pack_padded_sequence_backward(Tensor grad, SymInt[] input_size, Tensor batch_sizes, bool batch_first) -> Tensor",
    meta=_unpack_spec,
    function=False,
    method=False,
)
op(
    "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) "
    "-> (Tensor, Tensor)",
    method=False,
)
op(
    'pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side="right") -> '
    "Tensor",
    method=False,
    namespace="nn",
)
