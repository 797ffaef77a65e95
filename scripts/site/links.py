"""Checks a built site: every link inside it leads to a file and an anchor that are there, and no page loads anything
from elsewhere.
"""

from __future__ import annotations

import pathlib
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class _Page(HTMLParser):
    """What a page links to, what it loads, and the anchors in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if values.get("id"):
            self.anchors.add(str(values["id"]))
        if tag == "a" and values.get("href"):
            self.targets.append(str(values["href"]))
        address = values.get(_LOADED.get(tag, ""))
        if address and not (tag == "link" and values.get("rel") not in ("stylesheet", "icon")):
            self.loaded.append(address)


def problems(site: pathlib.Path) -> list[str]:
    """One line for every link that leads nowhere and for everything that is loaded from elsewhere."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        found += [f"{name}: loads {address} from elsewhere" for address in page.loaded if urlsplit(address).netloc]
        for target in [*page.targets, *(a for a in page.loaded if not urlsplit(a).netloc)]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            wanted = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not wanted.exists():
                found.append(f"{name}: {target} leads to no file")
            elif parts.fragment and wanted in pages and unquote(parts.fragment) not in pages[wanted].anchors:
                found.append(f"{name}: {target} leads to no anchor")
    return found
