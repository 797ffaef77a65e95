"""Puts the page together: one file with its style, its script and its data, which asks nobody for anything."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from ..._files import atomic_file
from ..store.event_store import EventStore
from .data import report_data
from .timeline import MOST_EVENTS

SCRIPTS = (
    "core.js",
    "table.js",
    "overview.js",
    "operators.js",
    "flame.js",
    "timeline_data.js",
    "timeline.js",
    "modules.js",
    "memory.js",
    "device.js",
    "advice.js",
    "ranks.js",
    "main.js",
)


def write(stores: Sequence[tuple[str, EventStore]], path: str | os.PathLike[str]) -> None:
    """Writes the page of one or more profiles, each with its title. The file appears when it is complete."""
    share = MOST_EVENTS // max(len(stores), 1)
    text = page([report_data(store, title, share) for title, store in stores])
    with atomic_file(path) as out:
        out.write(text.encode("utf-8"))


def page(profiles: list[dict[str, Any]]) -> str:
    """The page of profiles in the form of `report_data`."""
    template = asset("page.html")
    parts = {
        "STYLE": asset("style.css"),
        "SCRIPT": "\n".join(asset(name) for name in SCRIPTS),
        "DATA": as_script_data(profiles),
        "TITLE": _escape(", ".join(p["title"] for p in profiles)[:200] or "profile"),
    }
    pieces = template.split("%%")  # text, name, text, name, ..., text
    return "".join(piece if i % 2 == 0 else parts[piece] for i, piece in enumerate(pieces))


def as_script_data(value: Any) -> str:
    """JSON that may stand inside a script element whatever the names in it contain."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _escape(text: str) -> str:
    return "".join(f"&#{ord(c)};" if c in "<>&\"'" or not c.isprintable() else c for c in text)


def asset(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "assets", name), encoding="utf-8") as file:
        return file.read()
