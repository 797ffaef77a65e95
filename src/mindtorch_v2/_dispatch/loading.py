"""Work that is done once, when something is first used: a profile shows it as an event of its own, not as the
operator's time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _observer


def call_as_loading(what: str, function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function, inside the event `loading: <what>` where somebody observes."""
    observer: Any = _observer.active
    if observer is None or not hasattr(observer, "begin_loading"):
        return function(*args)
    begun = observer.begin_loading(f"loading: {what}")
    try:
        return function(*args)
    finally:
        observer.end_loading(begun)
