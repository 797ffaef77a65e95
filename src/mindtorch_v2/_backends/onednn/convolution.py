"""Convolutions and their gradients."""

from __future__ import annotations

from .layer import accelerate

accelerate("mkldnn_convolution", "convolution_backward")
