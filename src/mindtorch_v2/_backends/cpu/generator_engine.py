"""The raw number stream of PyTorch's CPU generator: MT19937 and its saved state.

Everything random in the CPU backend is made from the 32-bit words this engine
hands out, so the engine also owns what PyTorch keeps beside the twister: the
seed and the second value of the last Box-Muller pair.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._dispatch.modes import call_locked
from ..._native import accelerated
from .generator_cast import count_of

if TYPE_CHECKING:
    from typing_extensions import Self

DEFAULT_SEED = 67280421310721
STATE_BYTES = 5056

_WORDS = 624
_SEED_MASK = (1 << 64) - 1
# Elements handled at a time in long draws, so that temporaries stay in the cache.
CHUNK = _WORDS * 64
# Byte layout of a saved state: seed, words left, seeded flag, next index |
# 624 words of eight bytes | three doubles and a flag | a float and a flag.
_HEAD = struct.Struct("<QiiQ")
_TAIL = struct.Struct("<dddiifBxxx")
_KEY_AT = _HEAD.size
_TAIL_AT = _KEY_AT + _WORDS * 8

_LOW_21 = np.uint64((1 << 21) - 1)
_BITS_24 = np.uint32((1 << 24) - 1)
_SHIFT_32 = np.uint64(32)
_TWO_M24 = np.float32(2.0**-24)
_TWO_M53 = 2.0**-53


def _checked_seed(seed: Any) -> int:
    """The seed as an unsigned 64-bit int, or PyTorch's error for a bad one."""
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
        raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
    value = int(seed)
    if not -(1 << 63) <= value <= _SEED_MASK:
        raise ValueError("Overflow when unpacking long long")
    return value & _SEED_MASK


@accelerated("uniforms")
def uniforms(words: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Uniform float32 in [0, 1) from the low 24 bits of words."""
    bits = words & _BITS_24
    out = bits.view(np.int32).astype(np.float32)
    out *= _TWO_M24
    return out


@accelerated("wide_uniforms")
def wide_uniforms(words: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Uniform float64 in [0, 1) from the low 53 bits of pairs of words, of which the first is the high half."""
    bits = words[0::2] & _LOW_21
    bits <<= _SHIFT_32
    bits |= words[1::2]
    out = bits.view(np.int64).astype(np.float64)
    out *= _TWO_M53
    return out


class GeneratorEngine:
    """MT19937 with PyTorch's seeding, word order and saved-state layout.

    One block of 624 finished words is kept in ``_block``; ``_pos`` is the next
    unread one and ``_end`` the end of the readable part.  A freshly seeded
    engine has read nothing and has nothing readable (both zero), which is also
    how PyTorch saves it.
    """

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._lock = threading.RLock()
        self._bits = np.random.MT19937(0)
        # numpy's legacy interface starts MT19937 from a seed the way the
        # reference does, in compiled code, on the bit generator it wraps.
        self._seeder = np.random.RandomState(self._bits)
        self.manual_seed(seed)

    # -- seed and state -------------------------------------------------

    def manual_seed(self, seed: Any) -> Self:
        """Restart the stream from ``seed`` (-2**63 .. 2**64-1); returns self."""
        call_locked(self._lock, self._restart, _checked_seed(seed))
        return self

    def _restart(self, value: int) -> None:
        self._seeder.seed(value & 0xFFFFFFFF)  # the high half has no effect
        self._block = np.zeros(_WORDS, dtype=np.uint32)
        self._pos = 0
        self._end = 0
        self._seed = value
        # Second value of the last scalar Box-Muller pair, if unused.
        self.next_normal: float | None = None
        # PyTorch saves a float32 copy of it that its CPU code never
        # reads; it is carried along so that states survive a round trip.
        self._next_float: tuple[float, int] = (0.0, 0)

    def seed(self) -> int:
        """Restart from a seed taken from the operating system and return it."""
        value = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(value)
        return value

    def initial_seed(self) -> int:
        """The seed of the current stream, as an unsigned 64-bit value."""
        return self._seed

    def get_state(self) -> NDArray[np.uint8]:
        """The whole state in PyTorch's own layout: uint8[5056]."""
        data: bytes = call_locked(self._lock, self._saved_state)
        return np.frombuffer(data, dtype=np.uint8).copy()

    def _saved_state(self) -> bytes:
        key = self._bits.state["state"]["key"].astype("<u8")
        cached = self.next_normal
        head = _HEAD.pack(self._seed, self._end - self._pos + 1, 1, self._pos)
        tail = _TAIL.pack(0.0, cached or 0.0, 0.0, cached is not None, 0, *self._next_float)
        return head + key.tobytes() + tail

    def set_state(self, state: Any) -> Self:
        """Continue from a state saved here or by PyTorch; returns self."""
        if not isinstance(state, np.ndarray):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but "
                f"found the input RNG state size to be {state.size}"
            )
        self._load_state(np.ascontiguousarray(state).tobytes())
        return self

    def _load_state(self, data: bytes) -> None:
        seed, left, seeded, pos = _HEAD.unpack_from(data, 0)
        end = pos + left - 1
        valid = seeded and 0 < left <= _WORDS and pos <= _WORDS
        # A readable part reaching past the block cannot come from a real
        # generator (PyTorch would read beyond its array there).
        if not valid or end > _WORDS:
            raise RuntimeError("Invalid mt19937 state")
        _, normal, _, has_normal, _, fvalue, fvalid = _TAIL.unpack_from(data, _TAIL_AT)
        key = np.frombuffer(data, dtype="<u8", count=_WORDS, offset=_KEY_AT)
        call_locked(self._lock, self._continue_from, key.astype(np.uint32), pos, end, seed)
        self.next_normal = normal if has_normal else None
        self._next_float = (fvalue, fvalid)

    def _continue_from(self, key: NDArray[np.uint32], pos: int, end: int, seed: int) -> None:
        self._load_key(key, pos)
        self._block = np.zeros(_WORDS, dtype=np.uint32)
        # Reading on to the end of the block both recovers the finished
        # words and leaves the twister where _draw_long expects it.
        if pos < _WORDS:
            self._block[pos:] = self._bits.random_raw(_WORDS - pos)
        self._pos, self._end, self._seed = pos, end, seed

    def _load_key(self, key: NDArray[np.uint32], pos: int) -> None:
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": pos}}

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.get_state())

    # -- words ----------------------------------------------------------

    def words(self, count: int) -> NDArray[np.uint32]:
        """The next ``count`` 32-bit words.  May be a view: do not write to it."""
        drawn: NDArray[np.uint32] = call_locked(self._lock, self._draw, count)
        return drawn

    def _draw(self, count: int) -> NDArray[np.uint32]:
        start = self._pos
        stop = start + count
        if stop <= self._end:
            self._pos = stop
            return self._block[start:stop]
        return self._draw_long(count)

    def _draw_long(self, count: int) -> NDArray[np.uint32]:
        """``words`` when the current block does not hold enough of them."""
        out = np.empty(count, dtype=np.uint32)
        done = self._end - self._pos
        out[:done] = self._block[self._pos : self._end]
        whole = (count - done - 1) // _WORDS * _WORDS
        for start in range(done, done + whole, CHUNK):
            size = min(CHUNK, done + whole - start)
            out[start : start + size] = self._bits.random_raw(size)
        done += whole
        # A new array, because earlier results may be views of the old one.
        self._block = self._bits.random_raw(_WORDS).astype(np.uint32)
        self._pos, self._end = count - done, _WORDS
        out[done:] = self._block[: self._pos]
        return out

    def words64(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` 64-bit words; the first of each pair is the high half."""
        raw = self.words(2 * count)
        out = raw[0::2].astype(np.uint64)
        out <<= _SHIFT_32
        out |= raw[1::2]
        return out

    def unit32(self, count: int) -> NDArray[np.float32]:
        """Uniform float32 in [0, 1): the low 24 bits of one word each."""
        return uniforms(self.words(count))

    def unit64(self, count: int) -> NDArray[np.float64]:
        """Uniform float64 in [0, 1): the low 53 bits of one 64-bit word each."""
        return wide_uniforms(self.words(2 * count))


def fill_in_pieces(shape: Any, store: np.dtype[Any], make: Callable[[int], NDArray[Any]]) -> NDArray[Any]:
    """An array of type ``store``, made by ``make`` piece by piece.

    ``shape`` may be a contiguous array: then that one is filled and returned.
    ``make(size)`` returns the next ``size`` elements of the stream, already of
    the stored type.  Short results are handed back as ``make`` returned them.
    """
    count = count_of(shape)
    given = shape.__class__ is np.ndarray or isinstance(shape, np.ndarray)
    if count <= CHUNK:
        if not given:
            return make(count).reshape(shape)
        shape.reshape(-1)[...] = make(count)
        return shape
    out = shape.reshape(-1) if given else np.empty(count, dtype=store)
    for start in range(0, count, CHUNK):
        stop = min(start + CHUNK, count)
        out[start:stop] = make(stop - start)
    return shape if given else out.reshape(shape)


def _rebuild(kind: type[GeneratorEngine], state: NDArray[np.uint8]) -> GeneratorEngine:
    """Make a generator of ``kind`` in ``state`` (for copy and pickle)."""
    made = kind()
    made.set_state(state)
    return made
