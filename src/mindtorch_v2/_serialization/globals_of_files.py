"""Which classes and functions a pickle names."""

from __future__ import annotations

import pickletools

from .names import FOREIGN_TYPES, foreign_module
from .unpickler import ALLOWED, user_safe_globals


def _named(data: bytes) -> set[str]:
    """Everything that the pickle's instructions name, as "module.name"."""
    found: set[str] = set()
    texts: list[str] = []  # for STACK_GLOBAL, which takes its module and name from the stack
    memo: dict[int, str | None] = {}  # None for what is no text: MEMOIZE counts that, too
    latest: str | None = None  # what the last instruction put on the stack, if it is a text
    for code, argument, _ in pickletools.genops(data):
        if code.name == "MEMOIZE":
            memo[len(memo)] = latest
            continue
        if code.name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[int(argument or 0)] = latest
            continue
        latest = None
        if code.name == "GLOBAL":
            module, _, name = str(argument).partition(" ")
            found.add(f"{module}.{name}")
        elif code.name == "STACK_GLOBAL" and len(texts) >= 2:
            found.add(f"{texts[-2]}.{texts[-1]}")
        elif "UNICODE" in code.name or "STRING" in code.name:
            latest = str(argument)
        elif code.name in ("GET", "BINGET", "LONG_BINGET"):
            latest = memo.get(int(argument or 0))
        if latest is not None:
            texts.append(latest)
    return found


def unsafe_globals(data: bytes) -> list[str]:
    """Those names that the restricted loader does not allow, sorted."""
    return sorted(
        name
        for name in map(_public, _named(data))
        if name not in ALLOWED and name not in user_safe_globals and name not in FOREIGN_TYPES
    )


def _public(name: str) -> str:
    module, _, last = name.rpartition(".")
    return f"{foreign_module(module)}.{last}"
