"""Derivatives of the random ops: what is drawn does not depend on what was there before."""

from __future__ import annotations

from typing import Any

from ..._dispatch import aten
from ..rules import derivative
from .common import no_derivative


def _nothing(g: Any) -> Any:
    return aten.zeros_like(g)


for _name, _node in (
    ("uniform_", "UniformBackward0"),
    ("normal_", "NormalBackward0"),
    ("random_.from", "RandomBackward0"),
    ("random_.to", "RandomBackward1"),
    ("random_", "RandomBackward2"),
    ("exponential_", "ExponentialBackward0"),
    ("geometric_", "GeometricBackward0"),
    ("cauchy_", "CauchyBackward0"),
    ("log_normal_", "LogNormalBackward0"),
    ("bernoulli_.float", "BernoulliBackward2"),
    ("bernoulli", "BernoulliBackward0"),
    ("poisson", "PoissonBackward0"),
):
    derivative(_name, node=_node, self=_nothing)
derivative("bernoulli_.Tensor", node="BernoulliBackward1", self=_nothing, p=_nothing)
no_derivative("bernoulli.p", "self")
derivative("normal.Tensor_float", node="NormalBackward1", mean=_nothing)
derivative("normal.float_Tensor", node="NormalBackward2", std=_nothing)
derivative("normal.Tensor_Tensor", node="NormalBackward3", mean=_nothing, std=_nothing)


def _native_dropout_back(g: Any, p: float, train: bool | None, result1: Any) -> Any:
    scale = 1.0 if train is False else 0.0 if p == 1 else 1.0 / (1 - p)
    return aten.native_dropout_backward(g[0], result1, scale)


derivative("native_dropout", input=_native_dropout_back)
derivative(
    "native_dropout_backward",
    node="NativeDropoutBackwardBackward0",
    grad_output=lambda g, mask, scale: aten.native_dropout_backward(g, mask, scale),
)
