"""Recurrent layers: their products are those of the matrix operators."""

from __future__ import annotations

from . import linalg as linalg
