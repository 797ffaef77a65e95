"""Layers and functions leave the events that PyTorch's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import profile

F = nn.functional
_BOOKKEEPING = {"aten::as_strided", "aten::empty", "aten::empty_strided", "aten::empty_like", "aten::resolve_conj"}


def tree_of(call: Callable[[], Any]) -> str:
    """The events of a call, children in braces, without the bookkeeping of memory."""
    call()
    with profile() as prof:
        call()

    def show(event: Any) -> str:
        inside = " ".join(show(c) for c in event.cpu_children if c.name not in _BOOKKEEPING)
        return event.name.replace("aten::", ".") + (f"{{{inside}}}" if inside else "")

    return " ".join(show(e) for e in prof.events() if e.cpu_parent is None and e.name not in _BOOKKEEPING)


X, SEQ, IMG = torch.ones(3, 4), torch.ones(1, 2, 4), torch.ones(2, 4, 6, 6)
LINEAR = ".linear{.t{.transpose} .addmm{.expand}}"
CHUNK3 = ".unsafe_chunk{.unsafe_split{.narrow{.slice} .narrow{.slice} .narrow{.slice}}}"
CASES = {
    "linear": (lambda: nn.Linear(4, 3), X, LINEAR),
    "relu": (nn.ReLU, X, ".relu{.clamp_min}"),
    "dropout": (nn.Dropout, X, ".dropout{.bernoulli_ .div_ .mul}"),
    "dropout_eval": (lambda: nn.Dropout().eval(), X, ".dropout"),
    "softmax": (lambda: nn.Softmax(-1), X, ".softmax{._softmax}"),
    "layer_norm": (lambda: nn.LayerNorm(4), X, ".layer_norm{.native_layer_norm}"),
    "batch_norm": (lambda: nn.BatchNorm2d(4), IMG, ".add_ .batch_norm{._batch_norm_impl_index{.native_batch_norm}}"),
    "conv2d": (lambda: nn.Conv2d(4, 2, 3), IMG, ".conv2d{.convolution{._convolution{.mkldnn_convolution}}}"),
    "max_pool2d": (lambda: nn.MaxPool2d(2), IMG, ".max_pool2d{.max_pool2d_with_indices}"),
    "flatten": (nn.Flatten, IMG, ".flatten{.view}"),
    "rnn_cell": (lambda: nn.RNNCell(4, 3), X, f".zeros{{.zero_}} .rnn_tanh_cell{{{LINEAR} {LINEAR} .add_ .tanh}}"),
    "rnn": (
        lambda: nn.RNN(4, 3),
        SEQ,
        ".zeros{.zero_} .rnn_tanh{.unbind{.select} .linear{.view .t{.transpose} .addmm{.expand} .view} "
        f".unbind{{.select}} {LINEAR} .add_ .tanh .stack{{.cat .view}} .stack{{.cat .view}}}}",
    ),
    "gru_cell": (
        lambda: nn.GRUCell(4, 3),
        X,
        f".zeros{{.zero_}} .gru_cell{{{LINEAR} {CHUNK3} {LINEAR} {CHUNK3} .add_ .sigmoid_ .add_ "
        ".sigmoid_ .mul_{.clone{.copy_}} .add .tanh_ .sub .mul_{.clone{.copy_}} .add_}",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_layers(name: str) -> None:
    build, x, want = CASES[name]
    layer = build()
    assert tree_of(lambda: layer(x)) == want


def test_losses() -> None:
    target = torch.tensor([0, 1, 2])
    assert (
        tree_of(lambda: F.cross_entropy(X, target))
        == ".cross_entropy_loss{.log_softmax{.to ._log_softmax} .nll_loss_nd{.nll_loss{.nll_loss_forward}}}"
    )
    assert tree_of(lambda: F.mse_loss(X, X)) == ".broadcast_tensors .mse_loss{.mean{.sum .div_}}"
    assert tree_of(lambda: F.l1_loss(X, X)) == ".broadcast_tensors .l1_loss{.sub .abs .mean{.sum .div_}}"


def test_clipping() -> None:
    params = [nn.Parameter(torch.ones(3)) for _ in range(2)]
    for p in params:
        p.grad = torch.ones(3)
    assert tree_of(lambda: nn.utils.clip_grad_norm_(params, 1.0)) == (
        "._foreach_norm{.linalg_vector_norm .linalg_vector_norm} .to .to .stack{.unsqueeze .unsqueeze .cat} "
        ".linalg_vector_norm .add "
        ".reciprocal .mul .clamp .to ._foreach_mul_{.mul_ .mul_}"
    )


def test_checkpoint_recomputes_under_the_backward_node() -> None:
    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        torch.utils.checkpoint.checkpoint(lambda z: (z * z).relu(), x, use_reentrant=False).sum().backward()
    again = [e for e in prof.events() if e.name == "ReluBackward0"][0]
    assert [c.name for c in again.cpu_children if c.name not in _BOOKKEEPING] == [
        "aten::mul",
        "aten::relu",
        "aten::threshold_backward",
    ]


def test_lstm_layers_are_single_operators() -> None:
    layer = nn.LSTM(4, 3, bidirectional=True)
    one = ".select .select .mkldnn_rnn_layer"
    assert tree_of(lambda: layer(SEQ)) == (
        f".zeros{{.zero_}} .zeros{{.zero_}} .lstm{{{one} {one} .cat .stack{{.cat .view}} .stack{{.cat .view}}}}"
    )
