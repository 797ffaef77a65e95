"""Looking for texts in a text, in order: `FileCheck`."""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class _Check(NamedTuple):
    kind: str  # as in the comment lines of a file: CHECK, CHECK-NEXT, ...
    text: str
    times: int = 1
    exactly: bool = False


_LINE = re.compile(r"^\s*(?:#|//)?\s*CHECK(-[A-Z_]+(?:-EXACTLY)?(?:-\d+)?)?:\s?(.*)$")
_KINDS = {"": "CHECK", "-NEXT": "NEXT", "-SAME": "SAME", "-NOT": "NOT", "-DAG": "DAG", "-REGEX": "REGEX"}


class FileCheck:
    """Conditions on a text, each of which looks on from where the one before found something; `run` tests them.

    >>> torch.testing.FileCheck().check("aten::add").check_not("aten::mul").check("return").run("aten::add(x) return")
    """

    def __init__(self) -> None:
        self._checks: list[_Check] = []

    def _with(self, kind: str, text: str, count: int = 1, exactly: bool = False) -> FileCheck:
        self._checks.append(_Check(kind, text, count, exactly))
        return self

    def check(self, text: str) -> FileCheck:
        """The text comes later."""
        return self._with("CHECK", text)

    def check_next(self, text: str) -> FileCheck:
        """The text comes in the next line."""
        return self._with("NEXT", text)

    def check_same(self, text: str) -> FileCheck:
        """The text comes later in the same line."""
        return self._with("SAME", text)

    def check_not(self, text: str) -> FileCheck:
        """The text does not come before what the next condition finds."""
        return self._with("NOT", text)

    def check_dag(self, text: str) -> FileCheck:
        """The text comes later; neighbouring conditions of this kind may be met in any order."""
        return self._with("DAG", text)

    def check_regex(self, pattern: str) -> FileCheck:
        """Something that fits a regular expression comes later."""
        return self._with("REGEX", pattern)

    def check_count(self, text: str, count: int, exactly: bool = False) -> FileCheck:
        """The text comes `count` times; with `exactly` not again before what the next condition finds."""
        return self._with("COUNT", text, count, exactly)

    def check_source_highlighted(self, text: str) -> FileCheck:
        """The text comes later, and the line below marks it with ~."""
        return self._with("SOURCE", text)

    def run(self, *files: Any) -> None:
        """Tests the conditions on a text, or on a second text those that comment lines of the first state
        (`# CHECK: ...`). RuntimeError names the first condition that is not met."""
        if len(files) == 2:
            for line in str(files[0]).splitlines():
                self._read(line)
        _Search(str(files[-1])).run(self._checks)

    def _read(self, line: str) -> None:
        found = _LINE.match(line)
        if found is None:
            return
        suffix, text = found[1] or "", found[2].strip()
        counted = re.fullmatch(r"-COUNT(-EXACTLY)?-(\d+)", suffix)
        if counted:
            self._with("COUNT", text, int(counted[2]), counted[1] is not None)
        elif suffix in _KINDS:
            self._with(_KINDS[suffix], text)
        elif suffix == "-SOURCE-HIGHLIGHTED":
            self._with("SOURCE", text)
        else:
            raise RuntimeError(f"FileCheck: unknown condition CHECK{suffix}: in {line!r}")


class _Search:
    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0

    def run(self, checks: list[_Check]) -> None:
        forbidden: list[_Check] = []
        i = 0
        while i < len(checks):
            check = checks[i]
            if check.kind == "NOT":
                forbidden.append(check)
                i += 1
                continue
            start = self.position
            group = [check]
            while check.kind == "DAG" and i + len(group) < len(checks) and checks[i + len(group)].kind == "DAG":
                group.append(checks[i + len(group)])
            spans = [self._one(one, start) for one in group]
            self.position = max(end for _, end in spans)
            self._exclude(forbidden, start, min(begin for begin, _ in spans))
            forbidden = [check] if check.exactly else []
            i += len(group)
        self._exclude(forbidden, self.position, len(self.text))

    def _one(self, check: _Check, start: int) -> tuple[int, int]:
        """Where the condition's text begins and ends."""
        if check.kind == "REGEX":
            found = re.compile(check.text).search(self.text, start)
            if found is None:
                raise self._missing(check, start)
            return found.span()
        if check.kind == "SOURCE":
            return self._highlighted(check, start)
        first, end = -1, start
        for _ in range(check.times):
            begin = self.text.find(check.text, end)
            if begin < 0:
                raise self._missing(check, end)
            first, end = begin if first < 0 else first, begin + len(check.text)
        breaks = self.text.count("\n", start, first)
        if check.kind == "SAME" and breaks or check.kind == "NEXT" and breaks != 1:
            if check.kind == "NEXT" and not breaks:
                raise self._missing(_Check("NEXT", "\n"), start)
            raise self._present("\n", self.text.index("\n", start), check)
        return first, end

    def _highlighted(self, check: _Check, start: int) -> tuple[int, int]:
        begin = self.text.find(check.text, start)
        while begin >= 0:
            line = self.text.rfind("\n", 0, begin) + 1
            below = self.text.find("\n", begin) + 1
            marks = self.text[below + begin - line :][: len(check.text)] if below else ""
            if marks == "~" * len(check.text):
                return begin, below + begin - line + len(check.text)
            begin = self.text.find(check.text, begin + 1)
        raise self._missing(check, start)

    def _exclude(self, checks: list[_Check], start: int, end: int) -> None:
        for check in checks:
            found = self.text.find(check.text, start, end)
            if found >= 0:
                raise self._present(check.text, found, check)

    def _missing(self, check: _Check, start: int) -> RuntimeError:
        return RuntimeError(
            f"Expected to find {_quoted(check.text)} but did not find it\nSearched string:\n{self.text[start:]}\n"
            f"From {_named(check)}: {check.text}\n"
        )

    def _present(self, text: str, at: int, check: _Check) -> RuntimeError:
        line = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        printed = self.text[line : len(self.text) if end < 0 else end]
        return RuntimeError(
            f"Expected to not find {_quoted(text)} but found it\n{printed}\n{' ' * (at - line)}{'~' * len(text)} "
            f"<--- HERE\nFrom {_named(check)}: {check.text}\n"
        )


def _quoted(text: str) -> str:
    return '"' + text.replace("\n", "\\n") + '"'


def _named(check: _Check) -> str:
    if check.kind == "COUNT":
        return f"CHECK-COUNT-{'EXACTLY-' if check.exactly else ''}{check.times}"
    return {"CHECK": "CHECK", "SOURCE": "CHECK-SOURCE-HIGHLIGHTED"}.get(check.kind, f"CHECK-{check.kind}")
