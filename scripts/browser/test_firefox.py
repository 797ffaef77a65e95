"""The report in Firefox: the sections at two widths in light and dark, numbers, search, sort, keyboard, zoom, a million
events.
"""

from __future__ import annotations

import pathlib

from conftest import HOSTILE, PICTURES, until
from firefox import Firefox
from test_report import API, SECTIONS, million

from mindtorch_v2.profiler.report import write
from mindtorch_v2.profiler.results.event_list import key_averages

ROWS = "[...document.querySelectorAll('#operators tbody tr.row')]"


def test_every_section(small, firefox: Firefox):
    for width in (1280, 450):  # its windows are not narrower
        firefox.visit(small[0], width)
        theme = firefox.evaluate("document.documentElement.dataset.theme")
        assert theme == ("dark" if firefox.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "light")
        assert firefox.evaluate("innerWidth") == width
        for section in SECTIONS:
            firefox.evaluate(f"location.hash = '{section}'")
            until(firefox, f"document.querySelector('#{section} h2') && !document.querySelector('#{section}').hidden")
            assert firefox.evaluate("document.documentElement.scrollWidth <= innerWidth"), (section, width)
            firefox.evaluate("new Promise(done => setTimeout(done, 200))")
            firefox.picture(PICTURES / f"firefox-{theme}-{width}-{section}.png")
    assert firefox.evaluate("document.title").startswith("mindprof")  # no name has run as a script
    assert firefox.evaluate("document.querySelectorAll('main img').length") == 0


def test_numbers_search_sort_and_keyboard(small, firefox: Firefox):
    firefox.visit(small[0], hash="#operators")
    until(firefox, f"{ROWS}.length > 20")
    averages = {row.key: row.count for row in key_averages(small[1], False, 0, False)}
    shown = firefox.evaluate(f"{ROWS}.map(r => [r.cells[0].textContent, r.cells[4].textContent.replace(/\\D/g, '')])")
    assert {name: int(count) for name, count in shown} == {name: averages[name] for name, _ in shown}
    firefox.evaluate("document.querySelector('#operators th:nth-child(1) button').click()")
    names = firefox.evaluate(f"{ROWS}.map(r => r.cells[0].textContent)")
    assert names == sorted(names)
    firefox.keys("/onerror")
    until(firefox, f"{ROWS}.length === 1")
    assert firefox.evaluate(f"{ROWS}[0].cells[0].textContent") == HOSTILE
    firefox.keys("\ue00c4")  # Escape leaves the search
    until(firefox, "!document.querySelector('#timeline').hidden")


def test_a_million_events(firefox: Firefox, tmp_path: pathlib.Path):
    path = tmp_path / "million.html"
    write([("million", million())], path)
    firefox.visit(path)
    paint = firefox.evaluate("performance.getEntriesByName('first-contentful-paint').map(p => p.startTime)[0] ?? -1")
    firefox.evaluate("location.hash = 'timeline'")
    until(firefox, API)
    frames = firefox.evaluate(f"""(async () => {{
      await {API}.ready;
      const times = [];
      for (let i = 0; i < 40; i++) {{
        const begin = performance.now();
        {API}.zoom(i % 20 < 10 ? 0.6 : 1 / 0.6);
        await new Promise(requestAnimationFrame);
        times.push(performance.now() - begin);
      }}
      return times.sort((a, b) => a - b);
    }})()""")
    print(f"first paint after {paint:.0f} ms; frames: median {frames[20]:.0f} ms, longest {frames[-1]:.0f} ms")
    firefox.evaluate(f"{API}.find('inner3')")
    assert firefox.evaluate(f"{API}.state().hits") > 50_000
