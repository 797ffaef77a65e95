"""Compares two profiles: what is slower or faster, with 99% intervals over the steps of both, and facts exactly.

What makes everything slower alike (another load of the machine) is taken out and said. With --gate the exit code is
1 if a rule of the file is broken, for instance: step_time = "+3%", peak_memory = "+0", "aten::copy_".count = "+0",
[module."fc"] time = "+5%".
"""

from __future__ import annotations

import argparse
import html
import json
import sys
from typing import Any

from ..analysis.diff import Diff, Row, diff
from ..analysis.gate import Broken, RuleError, check
from ..report.page import asset
from .main import UsageError
from .source import open_profile
from .terminal import Terminal, size, time

EXAMPLE = (
    "mindprof diff before.mindprof after.mindprof",
    "mindprof diff main.mindprof branch.mindprof --gate rules.toml --markdown -",
)
_COLOURS = {"slower": "red", "added": "red", "faster": "green", "removed": "green"}
_MOST_TOTALS = 4  # facts of the whole program in the sentence
_MOST_ROWS = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", help="the profile before")
    parser.add_argument("after", metavar="B", help="the profile after")
    parser.add_argument("--gate", metavar="RULES", help="a TOML file of limits; exit code 1 if one is broken")
    parser.add_argument("--json", action="store_true", help="everything as one JSON object")
    parser.add_argument("--html", metavar="FILE", help="write a page")
    parser.add_argument("--markdown", metavar="FILE", help="write a summary for a pull request (- for the terminal)")
    parser.add_argument("--raw", action="store_true", help="do not take out what changed everything alike")


def run(options: argparse.Namespace) -> int:
    rules = read_rules(options.gate) if options.gate else {}
    compared = diff(open_profile(options.before), open_profile(options.after), adjust=not options.raw)
    try:
        broken = check(compared, rules)
    except RuleError as error:
        raise UsageError(f"{options.gate!r}: {error}") from error
    summary = markdown(compared, broken, options.before, options.after, bool(options.gate))
    if options.html:
        with open(options.html, "w", encoding="utf-8") as out:
            out.write(page(compared, broken, options.before, options.after))
    if options.markdown and options.markdown != "-":
        with open(options.markdown, "w", encoding="utf-8") as out:
            out.write(summary)
    if options.json:
        json.dump(as_json(compared, broken), sys.stdout, indent=1)
        print()
    elif options.markdown == "-":
        print(summary, end="")
    else:
        _print(compared, broken, options, Terminal())
    return 1 if broken else 0


def read_rules(path: str) -> dict[str, Any]:
    """The rules of a TOML file."""
    try:
        import tomllib
    except ModuleNotFoundError:  # before Python 3.11
        try:
            import tomli as tomllib  # type: ignore[import-not-found,no-redef]
        except ModuleNotFoundError:
            raise UsageError("reading rules needs Python 3.11, or tomli: pip install tomli") from None
    with open(path, "rb") as file:
        try:
            return tomllib.load(file)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{path!r} is no TOML: {error}") from error


def sentence(compared: Diff) -> str:
    """The answer in one line: what happened to a step, and which part changed most."""
    step = compared.rows[0].difference
    whole = {
        "slower": f"A step is {step.change:.1%} slower",
        "faster": f"A step is {-step.change:.1%} faster",
        "no evidence": "No evidence that a step takes longer or shorter",
    }[compared.verdict]
    if compared.alike != "no evidence" and compared.whole is not None:
        change = abs(compared.whole.change)
        alike = f"A step is {change:.1%} {compared.alike}, and all operators are so alike"
        whole = alike if compared.verdict == "no evidence" else f"{alike}; beside that, {whole[0].lower()}{whole[1:]}"
    parts = changed(compared, "call path") or changed(compared, "module") or changed(compared, "operator")
    named = f"; most changed: {parts[0].name} ({parts[0].status})" if parts else ""
    return whole + named + _changed_facts(compared) + "."


def _changed_facts(compared: Diff) -> str:
    """How many facts differ, and by how much those of the whole program."""
    found = compared.changed_facts
    if not found:
        return "; all facts are the same"
    totals = [
        f"{f.name.replace('_', ' ')} {'-' if f.after < f.before else '+'}{_fact(f.name, abs(f.after - f.before))}"
        for f in found
        if not f.name.endswith(" calls")
    ]
    what = f"{len(found)} facts differ" if len(found) > 1 else "1 fact differs"
    return f"; {what}{': ' if totals else ''}{', '.join(totals[:_MOST_TOTALS])}"


def changed(compared: Diff, kind: str) -> list[Row]:
    return [row for row in compared.rows if row.kind == kind and row.status != "no evidence"]


def _change(row: Row) -> str:
    if row.status in ("added", "removed"):
        return row.status
    if row.difference.before == 0:
        return "was none before"
    return f"{row.difference.change:+.1%} [{row.difference.low:+.1%}, {row.difference.high:+.1%}]"


def _fact(name: str, value: int) -> str:
    return size(value) if name in ("peak_memory", "allocated_bytes") else f"{value:,}"


def _print(compared: Diff, broken: list[Broken], options: argparse.Namespace, out: Terminal) -> None:
    out.line(out.style(sentence(compared), "bold"))
    out.line(f"{compared.steps[0]} steps before, {compared.steps[1]} after.")
    for note in compared.notes:
        out.line(note)
    for old, new in compared.renamed:
        out.line(f"module {old} is now {new}")
    step = compared.rows[0]
    out.title("Step")
    _print_rows([step, *[r for r in compared.rows if r.kind == "phase"]], out)
    for kind, title in (
        ("module", "Modules that changed"),
        ("operator", "Operators that changed"),
        ("call path", "Call paths that changed"),
    ):
        rows = changed(compared, kind)
        if rows:
            out.title(title)
            _print_rows(rows[:_MOST_ROWS], out)
            if len(rows) > _MOST_ROWS:
                out.line(f"  and {len(rows) - _MOST_ROWS} more (--json has all)")
    if compared.changed_facts:
        out.title("Facts that changed (per step)")
        out.rows(
            ("fact", "before", "after", "change"),
            [
                (f.name, _fact(f.name, f.before), _fact(f.name, f.after), f"{f.after - f.before:+,}")
                for f in compared.changed_facts[: _MOST_ROWS * 2]
            ],
        )
    if options.gate:
        out.title("Gate")
        for rule in broken:
            out.line("  " + out.style(f"{rule.rule}: {rule.message}", "red"))
        out.line("  " + ("failed" if broken else "passed"))


def _print_rows(rows: list[Row], out: Terminal) -> None:
    out.rows(
        ("", "before", "after", "change [99% interval]", ""),
        [(row.name, time(row.difference.before), time(row.difference.after), _change(row), row.status) for row in rows],
    )


def markdown(compared: Diff, broken: list[Broken], before: str, after: str, gated: bool) -> str:
    """A summary for a pull request."""
    lines = [
        f"### mindprof: {'**failed**' if broken else 'passed' if gated else 'comparison'}",
        "",
        sentence(compared),
        "",
    ]
    lines += [f"`{_code(before)}` -> `{_code(after)}`, {compared.steps[0]} and {compared.steps[1]} steps.", ""]
    if broken:
        lines += [
            "| rule | limit | what happened |",
            "|---|---|---|",
            *[f"| `{_code(b.rule)}` | {b.limit} | {b.message} |" for b in broken],
            "",
        ]
    rows = [
        compared.rows[0],
        *(r for kind in ("phase", "module", "operator", "call path") for r in changed(compared, kind)[:5]),
    ]
    lines += ["| part | before | after | change | |", "|---|---:|---:|---:|---|"]
    lines += [
        f"| `{_code(r.name)}` | {time(r.difference.before)} | {time(r.difference.after)} | {_change(r)} | {r.status} |"
        for r in rows
    ]
    if compared.changed_facts:
        lines += ["", "| fact | before | after |", "|---|---:|---:|"]
        lines += [
            f"| `{_code(f.name)}` | {_fact(f.name, f.before)} | {_fact(f.name, f.after)} |"
            for f in compared.changed_facts[:15]
        ]
    return "\n".join([*lines, "", *compared.notes]) + "\n"


def _code(text: str) -> str:
    """Text that stays inside a cell of code."""
    return text.replace("`", "'").replace("|", "\\|").replace("\n", " ")


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in HTML; the first column is a name, the others are figures."""
    head = "".join(f"<th{'' if not i else ' class=n'}>{html.escape(h)}</th>" for i, h in enumerate(heads))
    body = "".join(
        "<tr>"
        + "".join(f"<td class={'name' if not i else 'n'}>{html.escape(c)}</td>" for i, c in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def page(compared: Diff, broken: list[Broken], before: str, after: str) -> str:
    """The comparison as a page without script."""
    parts = [
        f"<h1>{html.escape(before)} &rarr; {html.escape(after)}</h1>",
        f'<div class="card verdict"><strong>{html.escape(sentence(compared))}</strong></div>',
    ]
    parts += [f"<p>{html.escape(note)}</p>" for note in compared.notes]
    parts += [
        f"<p>Module <code>{html.escape(old)}</code> is now <code>{html.escape(new)}</code>.</p>"
        for old, new in compared.renamed
    ]
    if broken:
        parts += ["<h2>Broken rules</h2>", _table(("rule", "what happened"), [(b.rule, b.message) for b in broken])]
    for kind, title in (
        ("step", "Step"),
        ("phase", "Phases"),
        ("module", "Modules"),
        ("operator", "Operators"),
        ("call path", "Call paths"),
    ):
        rows = [r for r in compared.rows if r.kind == kind]
        rows = (
            rows
            if kind in ("step", "phase")
            else sorted(rows, key=lambda r: (r.status == "no evidence", -abs(r.impact_ns)))[:60]
        )
        if rows:
            parts += [
                f"<h2>{title}</h2>",
                _table(
                    ("part", "before", "after", "change", "verdict"),
                    [(r.name, time(r.difference.before), time(r.difference.after), _change(r), r.status) for r in rows],
                ),
            ]
    parts += [
        "<h2>Facts</h2>",
        _table(
            ("fact (per step)", "before", "after"),
            [
                (f.name, _fact(f.name, f.before), _fact(f.name, f.after))
                for f in (compared.changed_facts or compared.facts)[:80]
            ],
        ),
    ]
    return _document("mindprof diff", parts)


def _document(title: str, parts: list[str]) -> str:
    """A page of one file, which loads nothing and runs no script."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    style = asset("style.css") + "body{display:block;padding:20px;max-width:1200px;margin:auto}h1{font-size:20px}"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>{html.escape(title)}</title>'
        f"<style>{style}</style></head><body>" + "\n".join(parts) + "</body></html>\n"
    )


def as_json(compared: Diff, broken: list[Broken]) -> dict[str, Any]:
    def number(value: float) -> float | None:
        return value if abs(value) != float("inf") else None

    return {
        "verdict": compared.verdict,
        "sentence": sentence(compared),
        "common_factor": compared.common,
        "common_verdict": compared.alike,
        "step_change_with_common": None if compared.whole is None else number(compared.whole.change),
        "steps": compared.steps,
        "notes": compared.notes,
        "renamed": compared.renamed,
        "broken_rules": [b._asdict() for b in broken],
        "rows": [
            {
                "kind": r.kind,
                "name": r.name,
                "status": r.status,
                "before_ns": r.difference.before,
                "after_ns": r.difference.after,
                "change": number(r.difference.change),
                "low": number(r.difference.low),
                "high": number(r.difference.high),
                "impact_ns": r.impact_ns,
            }
            for r in compared.rows
        ],
        "facts": [{"name": f.name, "before": f.before, "after": f.after} for f in compared.facts],
    }
