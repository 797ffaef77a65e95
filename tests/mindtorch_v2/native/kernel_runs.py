"""Kernels by name, and what the tests of native kernels compare them by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch_v2 import _quiet
from mindtorch_v2._backends.cpu import (
    attention,
    conv_arrays,
    elementwise,
    elementwise_unary,
    foreach,
    generator_engine,
    generator_normal,
    indexing,
    indexing_elements,
    linalg,
    loss,
    movement_elements,
    normalization_channels,
    pool_arrays,
    rnn,
    sorting,
    sums,
)
from mindtorch_v2._backends.onednn.library import native as onednn
from mindtorch_v2._dispatch.families import load_family
from mindtorch_v2._dispatch.registry import INPLACE, KERNELS

for _family in ("elementwise", "activation", "normalization", "reduction", "embedding", "loss", "movement"):
    load_family(_family)

HELPERS: dict[str, Any] = {
    "sum_over": sums.sum_over,
    "contiguous_copy": movement_elements.contiguous_copy,
    "max_pool": pool_arrays.max_pool,
    "scatter_positions": pool_arrays.scatter_positions,
    "sgd_step": foreach._sgd,
    "adam_step": foreach._adam,
    "unroll": conv_arrays.unroll,
    "fold": conv_arrays.fold,
    "exp_rows": attention._exp_rows,
    "attention_forward": attention._forward,
    "attention_backward": attention._backward,
    "conv_forward": conv_arrays._correlate,
    "conv_input_gradient": conv_arrays._add_input_gradient,
    "conv_weight_gradient": conv_arrays._fill_weight_gradient,
    "lstm_forward": rnn._steps,
    "lstm_backward": rnn._steps_back,
    "normalize_channels": normalization_channels._normalize_channels,
    "scale_channels": normalization_channels._scale_channels,
    "channel_gradients": normalization_channels._channel_gradients,
    "normalize_groups": normalization_channels._normalize_groups,
    "group_gradients": normalization_channels._group_gradients,
    "sort_lines": sorting._sort_lines,
    "gather": indexing_elements.gather,
    "scatter_add_": indexing_elements._scatter_add_,
    "index_add_": indexing.index_add_,
    "matrix_product": linalg._dot,
    "batch_product": linalg._matmul,
    "sub": elementwise._subtract,
    "nan_to_num": elementwise_unary._replaced,
    "smooth_l1": loss._smooth_l1,
    "smooth_l1_slope": loss._smooth_l1_slope,
    "huber": loss._huber,
    "huber_slope": loss._huber_slope,
    "take_rows": indexing._take_rows,
    "normal_blocks": generator_normal._normal_blocks,
    "uniforms": generator_engine.uniforms,
    "wide_uniforms": generator_engine.wide_uniforms,
    "convert": _quiet.converted,
    "convert_into": _quiet.convert_into,
}
Run = Callable[..., Any]
TYPES = ["float32", "float64"]


def registered(op: str) -> Any:
    base, dot, overload = op.partition(".")
    found: Any = KERNELS[op] if op in KERNELS else INPLACE[base.rstrip("_") + dot + overload]
    while onednn is not None and isinstance(found, onednn.Kernel):  # it stands before the native kernels
        found = found.__wrapped__
    return found


def refuse(*args: Any) -> Any:
    raise AssertionError("the native kernel declined")


def random_array(shape: Any, dtype: str, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def close(got: Any, want: Any, dtype: str, units: float = 16) -> None:
    eps = np.finfo(dtype).eps
    got = np.asarray(got)
    assert got.dtype == dtype and got.flags.c_contiguous
    np.testing.assert_allclose(got, np.asarray(want, np.float64), rtol=units * eps, atol=units * eps)
