"""Reads the events of traces that are not valid JSON: each event by itself, mended where that is possible, else left
out and counted.
"""

from __future__ import annotations

import io
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..store.files import GZIP_ERRORS, GZIP_MAGIC, Contents

_DECODER = json.JSONDecoder(strict=False)
_EVENTS = re.compile(r'"traceEvents"\s*:\s*\[')
_KEY = r'"(?:ph|name|pid|cat|ts|args|id|tid|dur|bp|s)"\s*:'
_NEXT_EVENT = re.compile(r"\}\s*,?\s*(?=\{\s*" + _KEY + r"|\]|\Z)")
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_TEXT_MEMBER = re.compile(r'("[^"\n]{1,60}"\s*:\s*")(.*?)("\s*(?=,\s*"[^"\n]{1,60}"\s*:|\}))', re.DOTALL)
_BARE_QUOTE = re.compile(r'(?<!\\)"')
_PIECE = 1 << 20


def read_text(path: str | os.PathLike[str], log: Counter[str]) -> str:
    """The text of a trace; of compressed data that is cut off, what can still be unpacked."""
    with open(path, "rb") as raw:
        packed = raw.read(2) == GZIP_MAGIC
        raw.seek(0)
        try:
            data = Contents(path, raw).read()
        except GZIP_ERRORS:
            raw.seek(0)
            data = _decompress(raw) if packed else b""
            log["its compressed data is cut off or damaged; what comes before was read"] += 1
    return data.decode("utf-8-sig", errors="surrogateescape")


def _decompress(raw: io.BufferedIOBase | io.BufferedReader) -> bytes:
    unpacker, parts = zlib.decompressobj(31), []
    while piece := raw.read(_PIECE):
        try:
            parts.append(unpacker.decompress(piece))
        except zlib.error:
            break
    return b"".join(parts)


def head_of(text: str) -> dict[str, Any]:
    """The members before the events, as far as they can be read."""
    found = _EVENTS.search(text)
    if found is None:
        return {}
    try:
        head = json.loads(text[: found.start()].rstrip().rstrip(",") + "}", strict=False)
    except ValueError:
        return {}
    return head if isinstance(head, dict) else {}


def events_of(text: str, log: Counter[str]) -> Iterator[dict[str, Any]]:
    """The events of a trace, in order. `log` counts what was mended or left out."""
    found = _EVENTS.search(text)
    at = found.end() if found else text.find("[") + 1
    while (at := text.find("{", at)) >= 0:
        between = text.find("]", at - 3, at)
        if between >= 0 and text[between + 1 : at].strip() in (",", "") and _ends(text, between):
            return
        try:
            event, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = _NEXT_EVENT.search(text, at + 1)
            stop = end.end() if end else len(text)
            event = _mend_event(text[at:stop].rstrip().rstrip(","), log)
            at = stop
        if isinstance(event, dict):
            yield event
        elif event is not None:
            log["values among the events that are not events were left out"] += 1
    if not text.rstrip().endswith(("}", "]")) or not _is_closed(text):
        log["the file ends before its end; what comes before was read"] += 1


def _ends(text: str, index: int) -> bool:
    """Whether the list of events ends at a bracket: what follows is not an event."""
    rest = text[index + 1 : index + 200].lstrip().lstrip(",").lstrip()
    return not re.match(r"\{\s*" + _KEY, rest)


def _is_closed(text: str) -> bool:
    return "]" in text[-4096:]


def _mend_event(text: str, log: Counter[str]) -> Any:
    """An event whose text is no JSON, or None."""
    mended = _BAD_ESCAPE.sub(r"\\\\", text)
    mended = re.sub(r":\s*(?=[,}\]])", ": null", mended)
    mended = re.sub(r",\s*(?=[}\]])", "", mended)
    for attempt, what in (
        (mended, "backslashes, commas or missing values"),
        (_TEXT_MEMBER.sub(_escape_quotes, mended), "quotes inside names"),
    ):
        try:
            event = json.loads(attempt, strict=False)
        except (ValueError, RecursionError):
            continue
        log[f"events with {what} that are no JSON were mended"] += 1
        return event
    log["events that could not be understood were left out"] += 1
    return None


def _escape_quotes(found: re.Match[str]) -> str:
    return found.group(1) + _BARE_QUOTE.sub(r"\"", found.group(2)) + found.group(3)
