"""What the distributions of counts of trials share: how many trials, and the probability of each."""

from __future__ import annotations

from typing import Any

from ._binary import BinaryParameter
from .distribution import Distribution
from .utils import broadcast_all


class Trials(BinaryParameter, Distribution):
    """A distribution with the parameters `total_count` and either `probs` or `logits`, of one batch shape."""

    def __init__(self, total_count: Any, probs: Any, logits: Any, validate_args: bool | None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            self.total_count, self.probs = broadcast_all(total_count, probs)
            self._param = self.probs
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
            self._param = self.logits
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def _expand_trials(self, cls: type, batch_shape: Any, _instance: Any) -> Any:
        """`expand` of the distribution `cls`."""
        new = self._expand_parameters(cls, batch_shape, _instance, "total_count", "probs", "logits")
        new._param = new.__dict__["probs" if "probs" in new.__dict__ else "logits"]
        return new
