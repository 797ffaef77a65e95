"""The page of a memory timeline: one SVG drawn by a few lines of script from data inside the page."""
from __future__ import annotations

import html
import json

from ..analysis.memory import Category

_MAX_POINTS = 20_000
_COLOURS = {Category.PARAMETER: "darkgreen", Category.OPTIMIZER_STATE: "goldenrod", Category.INPUT: "black",
            Category.TEMPORARY: "mediumpurple", Category.ACTIVATION: "red", Category.GRADIENT: "mediumblue",
            Category.AUTOGRAD_DETAIL: "royalblue", Category.UNKNOWN: "grey"}

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Memory timeline of __DEVICE__</title>
<style>
body { font: 14px system-ui, sans-serif; margin: 24px; color: #222; background: #fff; }
svg { width: 100%; height: 60vh; border: 1px solid #ccc; }
#legend span { display: inline-block; margin: 8px 16px 0 0; }
#legend i { display: inline-block; width: 12px; height: 12px; margin-right: 5px; vertical-align: -1px; }
#here { min-height: 1.5em; color: #555; }
</style></head>
<body>
<h1>Memory timeline of __DEVICE__</h1>
<p>Peak __PEAK__. Only what was allocated while the profile ran is counted.</p>
<svg id="plot" viewBox="0 0 1000 500" preserveAspectRatio="none" role="img" aria-label="Live bytes by category over time"></svg>
<p>0 to <span id="end"></span> ms</p>
<div id="here"></div><div id="legend"></div>
<script id="data" type="application/json">__DATA__</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const { times, sizes, names, colours } = data;
const plot = document.getElementById("plot"), here = document.getElementById("here");
const span = times.length ? Math.max(times[times.length - 1], 1) : 1;
const totals = sizes.map(row => row.reduce((a, b) => a + b, 0));
const peak = totals.reduce((a, b) => Math.max(a, b), 1);
const x = t => 1000 * t / span, y = v => 500 - 480 * v / peak;
function bytes(n) {
  for (const [power, unit] of [[30, "GB"], [20, "MB"], [10, "KB"]])
    if (n >= 2 ** power) return (n / 2 ** power).toFixed(2) + " " + unit;
  return n + " B";
}
const base = times.map(() => 0);
names.forEach((name, k) => {
  if (!sizes.some(row => row[k])) return;
  let top = "", bottom = "";
  times.forEach((t, i) => {
    const until = i + 1 < times.length ? times[i + 1] : span;
    top += `L${x(t)},${y(base[i] + sizes[i][k])}L${x(until)},${y(base[i] + sizes[i][k])}`;
    bottom = `L${x(until)},${y(base[i])}L${x(t)},${y(base[i])}` + bottom;
    base[i] += sizes[i][k];
  });
  const area = document.createElementNS("http://www.w3.org/2000/svg", "path");
  area.setAttribute("d", "M" + top.slice(1) + bottom + "Z");
  area.setAttribute("fill", colours[k]);
  plot.appendChild(area);
  const item = document.createElement("span"), box = document.createElement("i");
  box.style.background = colours[k];
  item.append(box, name.toLowerCase().replace("_", " "));
  document.getElementById("legend").appendChild(item);
});
document.getElementById("end").textContent = (span / 1000).toFixed(3);
plot.addEventListener("mousemove", event => {
  if (!times.length) return;
  const at = span * event.offsetX / plot.clientWidth;
  let low = 0, high = times.length - 1;
  while (low < high) { const middle = (low + high + 1) >> 1; if (times[middle] <= at) low = middle; else high = middle - 1; }
  const parts = names.map((name, k) => [name, sizes[low][k]]).filter(part => part[1]);
  here.textContent = `${(at / 1000).toFixed(3)} ms: ${bytes(totals[low])}` +
    (parts.length ? " = " + parts.map(([name, n]) => `${name.toLowerCase().replace("_", " ")} ${bytes(n)}`).join(" + ") : "");
});
</script>
</body>
</html>
"""


def page(times: list[int], sizes: list[list[int]], device: str) -> str:
    """The page as text. Of very many points the highest of each stretch is kept, so that no peak is lost."""
    peak = max((sum(row) for row in sizes), default=0)
    kept = _thinned(sizes)
    data = {"times": [times[i] - times[0] for i in kept], "sizes": [sizes[i][1:] for i in kept],
            "names": [category.name for category in Category], "colours": [_COLOURS[category] for category in Category]}
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return (_PAGE.replace("__DEVICE__", html.escape(device)).replace("__PEAK__", f"{peak:,} bytes").replace("__DATA__", text))


def _thinned(sizes: list[list[int]]) -> list[int]:
    """The rows to draw: all, or of each stretch of equally many the largest."""
    if len(sizes) <= _MAX_POINTS:
        return list(range(len(sizes)))
    step = -(-len(sizes) // _MAX_POINTS)
    return [max(range(first, min(first + step, len(sizes))), key=lambda i: sum(sizes[i])) for first in range(0, len(sizes), step)]
