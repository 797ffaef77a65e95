"""The page of a memory timeline: one SVG drawn by a few lines of script from data inside the page."""

from __future__ import annotations

import html
import json

from ..analysis.formatting import _format_memory, printable
from ..analysis.memory_peak import Holder
from ..record.kinds import Category

_MAX_POINTS = 20_000
_MAX_HOLDERS = 25
_COLOURS = {
    Category.PARAMETER: "#2f7d4f",
    Category.OPTIMIZER_STATE: "#d9a521",
    Category.INPUT: "#5b4636",
    Category.TEMPORARY: "#a98bd0",
    Category.ACTIVATION: "#d9604c",
    Category.GRADIENT: "#2f5fb3",
    Category.AUTOGRAD_DETAIL: "#6fb1e0",
    Category.UNKNOWN: "#9a9a9a",
    Category.SCRATCH: "#e8c3a0",
    Category.BUFFER: "#7fb08d",
}
_MEANINGS = {
    Category.PARAMETER: "parameters",
    Category.OPTIMIZER_STATE: "kept by optimizers",
    Category.INPUT: "batches and targets",
    Category.TEMPORARY: "gone before any backward pass",
    Category.ACTIVATION: "made in forward, needed by backward",
    Category.GRADIENT: "made in backward and kept",
    Category.AUTOGRAD_DETAIL: "handed from one backward function to the next",
    Category.UNKNOWN: "no backward pass followed",
    Category.SCRATCH: "a kernel's own, gone when the operator ends",
    Category.BUFFER: "kept by modules, not trained",
}

_SCRATCH = {
    True: "and what kernels took for themselves",
    False: "without scratch memory of kernels, of which none was seen",
}

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Memory timeline of __DEVICE__</title>
<style>
:root { color-scheme: light dark; --ink: #222; --soft: #667; --line: #d8d8de; --ground: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6ea; --soft: #a0a0ac; --line: #3c3c46; --ground: #1a1a1f; } }
body { font: 14px/1.45 system-ui, sans-serif; margin: 24px; color: var(--ink); background: var(--ground); }
h1 { font-size: 20px; margin: 0 0 4px; } h2 { font-size: 16px; margin: 24px 0 6px; }
p { margin: 0 0 12px; color: var(--soft); }
svg { display: block; width: 100%; height: 52vh; min-height: 260px; }
svg text { fill: var(--soft); font-size: 12px; } svg .grid { stroke: var(--line); } svg .mark { stroke: var(--ink); }
#here { min-height: 1.5em; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: 3px 14px 3px 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; } .n { text-align: right; white-space: nowrap; } .wide { overflow-x: auto; }
i { display: inline-block; width: 11px; height: 11px; margin-right: 7px; border-radius: 2px; }
</style></head>
<body>
<h1>Memory timeline of __DEVICE__</h1>
<p>Peak <b>__PEAK__</b>: the memory of tensors, those from before the profile too, __SCRATCH__.</p>
<svg id="plot" role="img" aria-label="Live bytes by category over time"></svg>
<div id="here">Move over the picture to read it.</div>
<h2>What the memory is for</h2>
<table id="legend">
<tr><th>Category</th><th class="n">Highest</th><th class="n">At the peak</th><th>Meaning</th></tr></table>
<h2>Who held it at the peak</h2>
<div class="wide"><table>
<tr><th class="n">Bytes</th><th class="n">Blocks</th><th>Category</th><th>Call</th><th>Module</th><th>Line</th></tr>
__HOLDERS__</table></div>
<script id="data" type="application/json">__DATA__</script>
<script>
"use strict";
const { times, sizes, names, colours, meanings } = JSON.parse(document.getElementById("data").textContent);
const plot = document.getElementById("plot"), here = document.getElementById("here");
const span = times.length ? Math.max(times[times.length - 1], 1) : 1;
const totals = sizes.map(row => row.reduce((a, b) => a + b, 0));
const peakAt = totals.indexOf(totals.reduce((a, b) => Math.max(a, b), 0));
const peak = Math.max(totals[peakAt] || 0, 1);
const used = names.map((_, k) => k).filter(k => sizes.some(row => row[k]));
const margin = { left: 76, right: 12, top: 12, bottom: 26 };
let width = 0, height = 0;
const x = t => margin.left + (width - margin.left - margin.right) * t / span;
const y = v => height - margin.bottom - (height - margin.top - margin.bottom) * v / peak;
function bytes(n) {
  for (const [power, unit] of [[30, "GB"], [20, "MB"], [10, "KB"]])
    if (n >= 2 ** power) return (n / 2 ** power).toFixed(2) + " " + unit;
  return n + " B";
}
function add(parent, tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return parent.appendChild(made);
}
// Round steps: 1, 2 or 5 times a power of ten for time, a power of two for bytes.
function timeStep(wanted) {
  const power = 10 ** Math.floor(Math.log10(wanted));
  return [1, 2, 5, 10].map(f => f * power).find(s => s >= wanted);
}
function axes() {
  for (let v = 0, step = 2 ** Math.ceil(Math.log2(peak / 8)); v <= peak; v += Math.max(step, 1)) {
    add(plot, "line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: y(v), y2: y(v) });
    add(plot, "text", { x: margin.left - 8, y: y(v) + 4, "text-anchor": "end" }, bytes(v));
  }
  const step = timeStep(span / Math.max(width / 140, 1));
  for (let t = 0; t <= span; t += step)
    add(plot, "text", { x: x(t), y: height - 8, "text-anchor": t ? "middle" : "start" },
        t ? +(t / 1000).toPrecision(6) + " ms" : "0");
}
function areas() {
  const base = new Float64Array(times.length);
  for (const k of used) {
    const top = [], bottom = [];
    times.forEach((t, i) => {
      const left = x(t).toFixed(2), right = x(i + 1 < times.length ? times[i + 1] : span).toFixed(2);
      const high = y(base[i] + sizes[i][k]).toFixed(2), low = y(base[i]).toFixed(2);
      top.push(`${left},${high}L${right},${high}`);
      bottom.push(`${right},${low}L${left},${low}`);
      base[i] += sizes[i][k];
    });
    add(plot, "path", { d: `M${top.join("L")}L${bottom.reverse().join("L")}Z`, fill: colours[k] });
  }
}
function draw() {
  width = plot.clientWidth; height = plot.clientHeight;
  plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
  plot.replaceChildren();
  axes();
  areas();
  if (!times.length)
    add(plot, "text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "nothing was allocated");
  cursor = add(plot, "line", { class: "mark", y1: margin.top, y2: height - margin.bottom, visibility: "hidden" });
}
function legend() {
  for (const k of used) {
    const row = document.getElementById("legend").insertRow();
    const box = document.createElement("i");
    box.style.background = colours[k];
    row.insertCell().append(box, names[k]);
    for (const value of [sizes.reduce((most, at) => Math.max(most, at[k]), 0), sizes[peakAt][k]]) {
      const cell = row.insertCell();
      cell.className = "n";
      cell.textContent = bytes(value);
    }
    row.insertCell().textContent = meanings[k];
  }
}
let cursor;
plot.addEventListener("mousemove", event => {
  if (!times.length) return;
  const at = Math.min(Math.max(span * (event.offsetX - margin.left) / (width - margin.left - margin.right), 0), span);
  let low = 0, high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= at) low = middle; else high = middle - 1;
  }
  cursor.setAttribute("x1", x(at)); cursor.setAttribute("x2", x(at)); cursor.setAttribute("visibility", "visible");
  const parts = used.filter(k => sizes[low][k]).map(k => `${names[k]} ${bytes(sizes[low][k])}`);
  here.textContent = `${(at / 1000).toFixed(3)} ms: ${bytes(totals[low])}` +
    (parts.length ? " = " + parts.join(" + ") : "");
});
window.addEventListener("resize", draw);
draw();
legend();
</script>
</body>
</html>
"""


def page(times: list[int], sizes: list[list[int]], device: str, holders: list[Holder] | None = None) -> str:
    """The page as text. Of very many points the highest of each stretch is kept, so that no peak is lost."""
    peak = max((sum(row) for row in sizes), default=0)
    kept = _rows_to_draw(sizes)
    data = {
        "times": [times[i] - times[0] for i in kept],
        "sizes": [sizes[i][1:] for i in kept],
        "names": [_label(category) for category in Category],
        "colours": [_COLOURS[category] for category in Category],
        "meanings": [_MEANINGS[category] for category in Category],
    }
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    peak_text = f"{_format_memory(peak)} ({peak:,} bytes)"
    seen = any(row[Category.SCRATCH + 1] for row in sizes if len(row) > Category.SCRATCH + 1)
    made = (
        _PAGE.replace("__DEVICE__", html.escape(device))
        .replace("__PEAK__", peak_text)
        .replace("__SCRATCH__", _SCRATCH[seen])
    )
    return made.replace("__HOLDERS__", _holder_rows(holders or [])).replace("__DATA__", text)


def _label(category: Category) -> str:
    return category.name.lower().replace("_", " ")


def _holder_rows(holders: list[Holder]) -> str:
    rows = [
        (
            _format_memory(h.nbytes),
            str(h.blocks),
            f'<i style="background:{_COLOURS[h.category]}"></i>{_label(h.category)}',
            *(html.escape(printable(text)) for text in (h.name, h.module, h.line)),
        )
        for h in holders[:_MAX_HOLDERS]
    ]
    rest = holders[_MAX_HOLDERS:]
    if rest:
        rows.append(
            (
                _format_memory(sum(h.nbytes for h in rest)),
                str(sum(h.blocks for h in rest)),
                "",
                f"{len(rest)} others",
                "",
                "",
            )
        )
    return "".join(
        "<tr>"
        + "".join(f'<td class="n">{cell}</td>' if i < 2 else f"<td>{cell}</td>" for i, cell in enumerate(row))
        + "</tr>\n"
        for row in rows
    )


def _rows_to_draw(sizes: list[list[int]]) -> list[int]:
    """The rows to draw: all, or of each stretch of equally many the largest."""
    if len(sizes) <= _MAX_POINTS:
        return list(range(len(sizes)))
    step = -(-len(sizes) // _MAX_POINTS)
    return [
        max(range(first, min(first + step, len(sizes))), key=lambda i: sum(sizes[i]))
        for first in range(0, len(sizes), step)
    ]
