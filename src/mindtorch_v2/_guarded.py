"""Methods that leave nothing half done, whatever ends them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ._storage import native

F = TypeVar("F", bound=Callable[..., Any])
_ATTEMPTS = 10  # of a clean-up that is itself interrupted


def guarded(clean_up: str) -> Callable[[F], F]:
    """After a failure of the decorated method the object's method `clean_up` is called; the failure is what the
    caller sees. An interrupt may come at any line, also in the clean-up, which is then called again: it must be
    possible to do it twice. In C no interrupt comes between the two; without it one may come before the first line
    of its `try`, when nothing has been done yet.
    """

    def decorate(function: F) -> F:
        if native is not None:
            return native.Guarded(function, clean_up)  # type: ignore[no-any-return]

        @wraps(function)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return function(self, *args, **kwargs)
            except BaseException:
                _clean_up(self, clean_up)
                raise

        return call  # type: ignore[return-value]

    return decorate


def _clean_up(self: Any, name: str) -> None:
    for _ in range(_ATTEMPTS):
        try:
            getattr(self, name)()
            return
        except BaseException:  # noqa: BLE001 - what ended the method is raised; this is tried again
            continue
