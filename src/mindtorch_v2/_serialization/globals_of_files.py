"""Which classes and functions a pickle names."""

from __future__ import annotations

import pickletools

from .names import FOREIGN_TYPES, foreign_module
from .unpickler import ALLOWED, user_safe_globals


def _named(data: bytes) -> set[str]:
    """Everything that the pickle's instructions name, as "module.name"."""
    found: set[str] = set()
    texts: list[str] = []  # for STACK_GLOBAL, which takes its module and name from the stack
    memo: dict[int, str] = {}
    for code, argument, _ in pickletools.genops(data):
        if code.name == "GLOBAL":
            module, _, name = str(argument).partition(" ")
            found.add(f"{module}.{name}")
        elif code.name == "STACK_GLOBAL" and len(texts) >= 2:
            found.add(f"{texts[-2]}.{texts[-1]}")
        elif "UNICODE" in code.name or "STRING" in code.name:
            texts.append(str(argument))
        elif code.name == "MEMOIZE" and texts:
            memo[len(memo)] = texts[-1]
        elif code.name in ("BINGET", "LONG_BINGET", "GET") and int(argument or 0) in memo:
            texts.append(memo[int(argument or 0)])
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
