"""Generators of the devices: a seed and how many numbers were drawn. The devices compute the numbers."""

from __future__ import annotations

import os
import threading
from typing import Any

_lock = threading.Lock()
_states: dict[int, list[int]] = {}  # device -> [seed, offset]
_DEFAULT_SEED = 67280421310721
# what one operator advances the offset by, whatever its size: as torch_npu does, so that seeds give its numbers
_DRAW = 12


_common = _DEFAULT_SEED  # the seed of devices that were not seeded by themselves


def _state(index: int) -> list[int]:
    return _states.setdefault(index, [_common, 0])


def seed_all(value: int) -> None:
    """Starts all devices' numbers anew."""
    global _common
    with _lock:
        _common = int(value) & 0xFFFFFFFFFFFFFFFF
        _states.clear()


def seed(index: int, value: int) -> None:
    """Starts a device's numbers anew."""
    with _lock:
        _states[index] = [int(value) & 0xFFFFFFFFFFFFFFFF, 0]


def fresh_seed() -> int:
    return int.from_bytes(os.urandom(8), "little") >> 1


def initial_seed(index: int) -> int:
    return _state(index)[0]


def get_state(index: int) -> bytes:
    """Seed and offset as bytes."""
    return b"".join(n.to_bytes(8, "little") for n in _state(index))


def set_state(index: int, state: bytes) -> None:
    with _lock:
        _states[index] = [int.from_bytes(state[:8], "little"), int.from_bytes(state[8:16], "little")]


def draw(t: Any, generator: Any) -> tuple[int, int]:
    """Seed and offset for as many numbers as a tensor has elements."""
    if generator is not None:
        return generator.draw_on_device(t._array.size)
    with _lock:
        state = _state(t.device.index or 0)
        found = state[0], state[1]
        state[1] += _DRAW
    return found[0] & 0x7FFFFFFFFFFFFFFF, found[1]
