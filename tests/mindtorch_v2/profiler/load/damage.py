"""Ways to break a file."""

from __future__ import annotations

import random
import re

_PIECES = (
    b"null",
    b"true",
    b"1e5",
    b"-0",
    b'"x"',
    b"[]",
    b"{}",
    b"1.5",
    b"99999999999999999999",
    b"1695835542514261.1235",
    b'"\\ud800"',
    b"NaN",
    b",",
    b":",
    b'"',
    b"\\",
    b"\x00",
    b"\xff",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"ph"',
    b'"dur":1,',
    b'"cat":"kernel"',
)
_VALUE = re.compile(rb'-?\d+(\.\d+)?|"[^"]*"')


def damaged(data: bytes, rng: random.Random, times: int = 1) -> bytes:
    """The data with bits flipped, parts cut off, left out, put in or exchanged, or (of text) values replaced."""
    made = bytearray(data)
    for _ in range(times):
        offset, other, size = rng.randrange(len(made)), rng.randrange(len(made)), rng.randrange(1, 80)
        way = rng.randrange(6)
        if way == 0:
            made[offset] ^= 1 << rng.randrange(8)
        elif way == 1:
            del made[offset:]
        elif way == 2:
            del made[offset : offset + size]
        elif way == 3:
            made[offset:offset] = rng.choice(_PIECES)
        elif way == 4:
            made[offset : offset + size], made[other : other + size] = (
                made[other : other + size],
                made[offset : offset + size],
            )
        else:
            found = _VALUE.search(made, offset)
            if found is not None:
                made[found.start() : found.end()] = rng.choice(_PIECES)
        made = made or bytearray(b"[")
    return bytes(made)
