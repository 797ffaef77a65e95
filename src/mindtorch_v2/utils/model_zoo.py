"""The old name of `torch.hub.load_state_dict_from_url`."""

from __future__ import annotations

from typing import Any

from .. import hub
from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name: str) -> Any:
    if name == "tqdm":  # libraries take it from here
        return hub.tqdm
    raise AttributeError(f"module 'torch.utils.model_zoo' has no attribute '{name}'")
