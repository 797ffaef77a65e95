"""Writing protocol buffers: fields as bytes, without a schema compiler."""

from __future__ import annotations


def varint(value: int) -> bytes:
    """An integer; negative ones in two's complement of 64 bits."""
    value &= 0xFFFFFFFFFFFFFFFF
    if value < 0x80:
        return bytes((value,))
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def integer(field: int, value: int) -> bytes:
    """A field that holds an integer, a truth value or a member of an enum."""
    return varint(field << 3) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    return varint(field << 3 | 1) + (value & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")


def data(field: int, value: bytes) -> bytes:
    """A field that holds bytes: a message, or packed integers."""
    return varint(field << 3 | 2) + varint(len(value)) + value


def text(field: int, value: str) -> bytes:
    """A field that holds text; halves of characters are written escaped."""
    return data(field, value.encode("utf-8", "backslashreplace"))


def packed_field(field: int, values: list[int]) -> bytes:
    return data(field, b"".join(map(varint, values)))
