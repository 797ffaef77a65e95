"""Arguments of calls as the file wrote them that a store was loaded from, each described when it is first asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, overload

from ..record.descriptions import InputDescription

_DESCRIBED = (b'"Input ', b'"Concrete Inputs"')  # how members begin that say shapes, strides, types or values
_ALL_DESCRIBED = ('"Input Dims"', '"Input Strides"', '"Input type"', '"Concrete Inputs"')


class InputTexts(Sequence[InputDescription]):
    """Descriptions of arguments, made from the members of JSON objects (`"key": value, ...`, UTF-8) that say the same.
    Of a large trace few are ever asked for, and exporting it writes the texts as they are.
    """

    def __init__(self) -> None:
        self._texts: list[bytes] = []
        self._descriptions: dict[int, InputDescription] = {}

    @abstractmethod
    def describe(self, index: int, text: bytes) -> InputDescription:
        """What an entry's text says."""

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, index: int) -> InputDescription: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[InputDescription, ...]: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        index = range(len(self))[index]
        found = self._descriptions.get(index)
        if found is None:
            found = self._descriptions[index] = self.describe(index, self._texts[index])
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (tuple, InputTexts)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(tuple(self))

    def members(self, all_of_it: bool) -> list[str | None]:
        """Per entry its text as a line of a trace may hold it; None where the description is to be written instead: it
        has characters that stand for something else in a file, it does not say all of shapes, strides, types and
        values, or these are left out (unless `all_of_it` is wanted).
        """
        together = b"\n".join(self._texts)
        plain = self._plain_texts(together)
        if not any(key in together for key in _DESCRIBED):
            return plain
        return [text if text is None or _says_all_or_nothing(text, all_of_it) else None for text in plain]

    def _plain_texts(self, together: bytes) -> list[str | None]:
        """The texts that consist of printable ASCII characters."""
        if together.isascii():
            texts = together.decode("ascii").split("\n")
            if len(texts) == len(self._texts) and "".join(texts).isprintable():  # the usual case, looked at as one
                return [*texts]
        decoded = [text.decode("ascii") if text.isascii() else "\n" for text in self._texts]
        return [text if text.isprintable() else None for text in decoded]

    def have_keyword(self, key: str) -> list[bool]:
        """Per entry whether it has a keyword of this name, which is made of ASCII letters."""
        written = b'"%b"' % key.encode("ascii")
        if written not in b"\n".join(self._texts):
            return [False] * len(self)
        return [
            written in text and any(name == key for name, _ in self[i].keywords) for i, text in enumerate(self._texts)
        ]


def _says_all_or_nothing(text: str, all_of_it: bool) -> bool:
    if '"Input ' not in text and _ALL_DESCRIBED[-1] not in text:
        return True
    return all_of_it and all(key in text for key in _ALL_DESCRIBED)
