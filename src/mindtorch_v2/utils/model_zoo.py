"""The old name of `torch.hub.load_state_dict_from_url`."""

from __future__ import annotations

from .._lazy_parts import lazy_parts as _lazy_parts
from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


__getattr__, __dir__ = _lazy_parts(__name__, names={"tqdm": "hub"})  # libraries take it from here
