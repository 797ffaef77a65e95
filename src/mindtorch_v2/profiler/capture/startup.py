"""What the environment variable MINDPROF asks for: `flight`, `listen`, or both, with settings.

MINDPROF=flight                                 a flight recorder
MINDPROF=flight:seconds=60:directory=/var/log   with settings, as `flight_recorder` has them
MINDPROF=flight,listen                          and control from outside, by `mindprof ctl`
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .sockets import ControlError

NAMES = ("flight", "listen")


def begin(text: str) -> None:
    """Does what MINDPROF says. What is wrong with it is said on stderr, and the program goes on: it did not ask for
    this."""
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, *settings = part.split(":")
        try:
            _starter(name)(**dict(map(_setting, settings)))
        except (TypeError, ValueError, OSError, RuntimeError, ControlError) as error:
            print(f"mindprof: MINDPROF={text}: {error}", file=sys.stderr)


def _starter(name: str) -> Callable[..., Any]:
    if name == "flight":
        from .api import flight_recorder

        return flight_recorder
    if name == "listen":
        from .api import listen

        return listen
    if name == "child":  # what `mindprof run --all-processes` asks of the processes that its program starts
        from .children import begin as begin_child

        return begin_child
    raise ValueError(
        f"{name!r} is not known; expected {' or '.join(NAMES)}, separated by commas, with settings as name:key=value"
    )


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise ValueError(f"{text!r} is not a setting; expected key=value")
    return key, _value(value)


def _value(text: str) -> Any:
    """A number, true, false, or the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text
