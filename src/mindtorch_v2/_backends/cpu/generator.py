"""Random numbers equal to PyTorch 2.13's CPU generator, number by number.

``CPUGenerator`` holds the stream; each method draws one distribution into a
fresh contiguous array, or into one that is given in place of ``shape``, and
advances the stream exactly as the PyTorch kernel of the same name does.  Not
reproduced: on Intel processors PyTorch draws ``bernoulli_(p)`` and
``exponential_`` (so also ``dropout`` and ``multinomial``) from MKL's own
generator; here they follow the code PyTorch runs on every other processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import generator_continuous as _continuous
from . import generator_discrete as _discrete
from . import generator_normal as _normal
from .generator_cast import Array
from .generator_engine import DEFAULT_SEED, STATE_BYTES, GeneratorEngine

__all__ = ["DEFAULT_SEED", "STATE_BYTES", "CPUGenerator"]


class CPUGenerator(GeneratorEngine):
    """PyTorch's CPU generator: stream, saved state and distributions.

    ``shape`` is an int or a sequence of ints; ``dtype`` a numpy dtype or the
    string ``"bfloat16"`` (result: float32 holding bfloat16 values).  Arguments
    PyTorch refuses raise its exception with its text.
    """

    def clone_state(self) -> CPUGenerator:
        """An independent generator that continues with the same numbers."""
        copy = type(self)()
        copy.set_state(self.get_state())
        return copy

    def uniform(self, shape: Any, dtype: Any = np.float32, low: float = 0.0, high: float = 1.0) -> Array:
        """``uniform_(low, high)``; with the defaults ``rand``."""
        return _continuous.uniform(self, shape, dtype, low, high)

    def normal(
        self, shape: Any, dtype: Any = np.float32, mean: float = 0.0, std: float = 1.0, contiguous: bool = True
    ) -> Array:
        """``normal_(mean, std)``; with the defaults ``randn``.

        ``contiguous=False`` gives what PyTorch writes, in memory order, into a
        target that is not contiguous.
        """
        return _normal.normal(self, shape, dtype, mean, std, contiguous)

    def random_int(self, shape: Any, dtype: Any = np.int64, low: int = 0, high: int | None = None) -> Array:
        """``random_(low, high)`` and ``randint(low, high)``."""
        return _discrete.random_int(self, shape, dtype, low, high)

    def random_full(self, shape: Any, dtype: Any = np.int64) -> Array:
        """``random_()`` without bounds."""
        return _discrete.random_full(self, shape, dtype)

    def permutation(self, n: int, dtype: Any = np.int64) -> Array:
        """``randperm(n)``."""
        return _discrete.permutation(self, n, dtype)

    def bernoulli_scalar(self, shape: Any, dtype: Any = np.float32, p: float = 0.5) -> Array:
        """``bernoulli_(p)``; with ``1 - p`` the mask of ``dropout(p)``."""
        return _discrete.bernoulli_scalar(self, shape, dtype, p)

    def bernoulli_array(self, p_array: Array, dtype: Any = np.float32) -> Array:
        """``bernoulli(p)`` and ``bernoulli_(p)`` with a tensor of probabilities."""
        return _discrete.bernoulli_array(self, p_array, dtype)

    def exponential(self, shape: Any, dtype: Any = np.float32, lambd: float = 1.0) -> Array:
        """``exponential_(lambd)``."""
        return _continuous.exponential(self, shape, dtype, lambd)

    def geometric(self, shape: Any, dtype: Any = np.float32, p: float = 0.5) -> Array:
        """``geometric_(p)``."""
        return _continuous.geometric(self, shape, dtype, p)

    def cauchy(self, shape: Any, dtype: Any = np.float32, median: float = 0.0, sigma: float = 1.0) -> Array:
        """``cauchy_(median, sigma)``."""
        return _continuous.cauchy(self, shape, dtype, median, sigma)

    def log_normal(self, shape: Any, dtype: Any = np.float32, mean: float = 1.0, std: float = 2.0) -> Array:
        """``log_normal_(mean, std)``."""
        return _continuous.log_normal(self, shape, dtype, mean, std)

    def multinomial(self, weights2d: Array, n: int, replacement: bool = False, dtype: Any = None) -> NDArray[np.int64]:
        """``multinomial`` on 2-D weights: int64 indices of shape (rows, n)."""
        return _discrete.multinomial(self, weights2d, n, replacement, dtype)
