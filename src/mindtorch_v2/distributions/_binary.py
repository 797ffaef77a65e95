"""What the distributions of trials with two outcomes share: the probability of one of them, or its log-odds."""

from __future__ import annotations

from typing import Any

from .utils import lazy_property, logits_to_probs, probs_to_logits


class BinaryParameter:
    """A distribution with the parameter `probs` or `logits`, whichever was given; the other one is computed from it."""

    _param: Any  # the one that was given

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        return self._param.size()
