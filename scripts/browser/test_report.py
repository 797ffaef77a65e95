"""The report in a real browser: sections, numbers, search, sort, zoom, keyboard, dark mode, two widths, hostile
names, a million events.
"""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest
from conftest import HOSTILE, trained, until

from mindtorch_v2.profiler.record.descriptions import Metadata, Options, ThreadInfo
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.report import write
from mindtorch_v2.profiler.results.event_list import key_averages
from mindtorch_v2.profiler.store.event_store import EventStore

SECTIONS = ["overview", "operators", "flame", "timeline", "modules", "memory", "advice"]
API = "SECTIONS.find(s => s.id === 'timeline').api"


def visible_sections(page) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('main > section')].filter(s => !s.hidden).map(s => s.id)")


@pytest.mark.parametrize(
    ("name", "width", "dark"), [("wide", 1280, False), ("narrow", 390, False), ("dark", 1280, True)]
)
def test_every_section_at_both_widths_and_in_the_dark(small, visit, picture, name, width, dark):
    page = visit(small[0], width, 844 if width < 500 else 900, dark)
    assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    assert page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.dataset.section)") == SECTIONS
    for section in SECTIONS:
        page.evaluate(f"location.hash = '{section}'")
        until(
            page,
            f"document.querySelector('#{section}') && !document.querySelector('#{section}').hidden && "
            f"document.querySelector('#{section} h2')",
        )
        page.wait_for_timeout(250)
        assert visible_sections(page) == [section]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
            f"{section} is wider than the window"
        )
        tab = page.locator(f"nav a[data-section={section}]").bounding_box()
        assert tab["x"] >= 0 and tab["x"] + tab["width"] <= width, f"the tab of {section} lies outside the window"
        picture(page, f"{name}-{section}")


def test_numbers_are_those_of_the_profile(small, visit):
    page = visit(small[0], hash="#operators")
    averages = {row.key: row for row in key_averages(small[1], False, 0, False)}
    rows = page.evaluate(
        "[...document.querySelectorAll('#operators tbody tr.row')].map(r => [...r.cells].map(c => c.textContent))"
    )
    assert len(rows) > 20
    for row in rows[:20]:
        expected = averages[row[0]]
        assert row[4].replace(" ", "").replace(" ", "") == str(expected.count)
        value, unit = re.fullmatch(r"([\d.]+) (\S+)", row[1]).groups()
        assert float(value) * {"ns": 1e-3, "µs": 1, "ms": 1e3, "s": 1e6}[unit] == pytest.approx(
            expected.self_cpu_time_total, rel=0.01, abs=0.001
        )
    whole = page.evaluate("P.phases.total.reduce((a, b) => a + b, 0)")
    steps = [int(e - s) for s, e, k in zip(small[1].start_ns, small[1].end_ns, small[1].kind) if k == Kind.STEP]
    assert whole == sum(steps)


def test_labels_of_the_bar_fit_or_are_not_there(small, visit):
    page = visit(small[0], 390, 844)
    seen = page.evaluate(
        "[...document.querySelectorAll('#phases > div')].map(part => { const box = part.getBoundingClientRect(), "
        "label = part.firstElementChild.getBoundingClientRect(); "
        "return [label.top >= box.bottom - 1, label.left >= box.left - 1 && label.right <= box.right + 1]; })"
    )
    assert seen and all(is_below or fits for is_below, fits in seen)
    assert any(fits and not is_below for is_below, fits in seen)


def test_the_treemap_shows_two_levels_and_goes_inside(small, visit):
    page = visit(small[0], hash="#modules")
    outer, inner = "#modules .treemap > div", "#modules .treemap .inside > div"
    areas = f"[...document.querySelectorAll('{outer}')].map(d => d.offsetWidth * d.offsetHeight)"
    whole = page.evaluate("(b => b.offsetWidth * b.offsetHeight)(document.querySelector('#modules .treemap'))")
    assert sum(page.evaluate(areas)) == pytest.approx(whole, rel=0.03)
    assert page.locator(inner).count() > 0
    module = page.locator(f"{outer}:has(> .inside) > button").first
    name = module.text_content().rpartition(" ")[0]
    module.click(position={"x": 5, "y": 5})
    assert page.locator("#modules .tools span").text_content() == name
    page.click("#modules .tools button")
    assert page.locator(inner).count() > 0


def test_tables_sort_search_and_open(small, visit):
    page = visit(small[0], hash="#operators")
    names = "[...document.querySelectorAll('#operators tbody tr.row')].map(r => r.cells[0].textContent)"
    calls = "[...document.querySelectorAll('#operators tbody tr.row')].map(r => Number(r.cells[4].textContent.replace(/\\D/g, '')))"
    page.click("#operators th:nth-child(5) button")
    assert page.evaluate(calls) == sorted(page.evaluate(calls), reverse=True)
    page.click("#operators th:nth-child(1) button")
    assert page.evaluate(names) == sorted(page.evaluate(names))
    page.fill("#operators input[type=search]", "addmm")
    found = page.evaluate(names)
    assert found and all("addmm" in name.lower() for name in found)
    page.fill("#operators input[type=search]", "/^aten::add(mm)?$/")
    assert set(page.evaluate(names)) <= {"aten::add", "aten::addmm"}
    page.click("#operators tbody tr.row")
    assert page.locator("#operators tr.opened h4", has_text="Shapes").count() == 1
    assert "operators?name=" in page.url
    page.click("#operators tr.opened button:has-text('timeline')")
    until(page, f"{API} && {API}.state().selected >= 0")
    assert "addmm" in page.locator("#timeline-details").inner_text()


def test_links_lead_to_what_they_name(small, visit):
    page = visit(small[0], hash="#operators?name=aten%3A%3Arelu")
    page.wait_for_selector("#operators tr.row[aria-expanded=true]")
    assert page.locator("#operators tr.row[aria-expanded=true]").first.inner_text().startswith("aten::relu")
    page = visit(small[0], hash="#memory")
    assert visible_sections(page) == ["memory"]


def test_the_timeline_zooms_to_nanoseconds_searches_and_follows_arrows(small, visit, picture):
    page = visit(small[0], hash="#timeline")
    until(page, f"{API} && {API}.ready")
    page.evaluate(f"{API}.ready")
    whole = page.evaluate(f"{API}.state().span")
    page.focus("#timeline canvas")
    for _ in range(60):
        page.keyboard.press("w")
    assert page.evaluate(f"{API}.state().span") == 20 < whole
    page.keyboard.press("0")
    assert page.evaluate(f"{API}.state().span") == whole
    page.keyboard.press("/")
    page.keyboard.type("AddmmBackward0")
    page.keyboard.press("Enter")
    state = page.evaluate(f"{API}.state()")
    assert state["hits"] > 0 and state["selected"] >= 0 and "1 of" in page.locator("#timeline-found").inner_text()
    page.evaluate(f"{API}.find('MmBackward0')")
    page.evaluate(f"unpackTimeline(P.timeline).then(t => {API}.select([...t.flows.keys()][0], true))")
    page.wait_for_selector("#timeline-details .events button")
    page.wait_for_timeout(200)
    picture(page, "timeline-arrow")
    before = page.evaluate(f"{API}.state().selected")
    page.click("#timeline-details .events button")
    assert page.evaluate(f"{API}.state().selected") != before
    box = page.locator("#timeline canvas").bounding_box()
    start = page.evaluate(f"{API}.state().from")
    page.mouse.move(box["x"] + 600, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 100)
    page.mouse.up()
    assert page.evaluate(f"{API}.state().from") > start


def test_flame_graphs_zoom_and_search(small, visit):
    page = visit(small[0], hash="#flame?by=operators")
    page.wait_for_selector("#flame canvas")
    whole = page.locator("#flame-info").inner_text()
    page.fill("#flame input[type=search]", "addmm")
    assert "what matches takes" in page.locator("#flame-info").inner_text()
    page.fill("#flame input[type=search]", "")
    page.focus("#flame canvas")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#flame-info").inner_text() != whole
    page.keyboard.press("Escape")
    for kind in ("Modules", "Python stack"):
        page.click(f"#flame button:has-text('{kind}')")
        assert page.locator(f"#flame button:has-text('{kind}')").get_attribute("aria-pressed") == "true"


def test_the_keyboard_reaches_everything(small, visit):
    page = visit(small[0])
    page.keyboard.press("2")
    until(page, "!document.querySelector('#operators').hidden")
    page.keyboard.press("j")
    until(page, "!document.querySelector('#flame').hidden")
    page.keyboard.press("k")
    until(page, "!document.querySelector('#operators').hidden")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("?")
    assert page.evaluate("document.getElementById('keys').open")
    page.keyboard.press("Escape")
    page.focus("#operators tr.row")
    page.keyboard.press("Enter")
    assert page.locator("#operators tr.row").first.get_attribute("aria-expanded") == "true"


def test_hostile_names_are_text(small, visit):
    page = visit(small[0])
    for section in SECTIONS:
        page.evaluate(f"location.hash = '{section}'")
        page.wait_for_timeout(100)
    assert page.title().startswith("mindprof") and page.locator("main img").count() == 0
    page.evaluate("location.hash = 'operators'")
    page.fill("#operators input[type=search]", "onerror")
    assert page.locator("#operators td.name").first.inner_text() == HOSTILE


def test_several_profiles_and_printing(small, visit, tmp_path):
    page = visit(small[0])
    page.select_option("#profile", "1")
    assert "second" in page.locator("#subtitle").inner_text()
    page.select_option("#profile", "0")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("nav").is_hidden()
    assert all(page.locator(f"#{section} h2").is_visible() for section in SECTIONS)
    page.pdf(path=str(tmp_path / "report.pdf"))
    assert (tmp_path / "report.pdf").stat().st_size > 20_000


def test_a_loop_without_stacks_modules_and_memory_has_fewer_sections(visit, tmp_path):
    path = tmp_path / "plain.html"
    write([("plain", trained(3, with_stack=False, with_modules=False, profile_memory=False, with_flops=False))], path)
    page = visit(path)
    assert page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.dataset.section)") == [
        "overview",
        "operators",
        "flame",
        "timeline",
        "advice",
    ]


def million() -> EventStore:
    """A million events on four threads: steps of operators inside operators."""
    generator = np.random.default_rng(0)
    count = 250_000
    columns: dict[str, list[np.ndarray]] = {}
    for thread in range(4):
        outer = np.arange(count // 5, dtype=np.int64) * 10_000 + generator.integers(0, 500, count // 5)
        start = np.concatenate([outer, *(outer + 600 + 2000 * i for i in range(4))])
        length = np.concatenate(
            [np.full(len(outer), 9000), *(generator.integers(100, 1900, len(outer)) for _ in range(4))]
        )
        parent = np.concatenate([np.full(len(outer), -1), *(np.arange(len(outer)) for _ in range(4))]) + thread * count
        parent = np.where(parent < thread * count, -1, parent)
        name = np.concatenate([np.zeros(len(outer)), *(np.full(len(outer), 1 + i) for i in range(4))])
        for key, values in {
            "start_ns": start,
            "end_ns": start + length,
            "parent": parent,
            "name": name,
            "thread": np.full(count, thread),
        }.items():
            columns.setdefault(key, []).append(values)
    joined = {key: np.concatenate(parts).astype(np.int64) for key, parts in columns.items()}
    order = np.lexsort((-joined["end_ns"], joined["start_ns"]))
    position = np.empty(len(order) + 1, np.int64)
    position[order] = np.arange(len(order))
    position[-1] = -1
    made = {key: values[order] for key, values in joined.items()}
    made["parent"] = position[made["parent"]]
    made["kind"] = np.zeros(len(order), np.uint8)
    return EventStore(
        made,
        strings=["aten::outer", *(f"aten::inner{i}" for i in range(4))],
        threads=[ThreadInfo(i + 1, 100 + i, f"thread {i}") for i in range(4)],
        metadata=Metadata(0, int(made["end_ns"].max()), options=Options()),
    )


def test_a_million_events(visit, tmp_path: pathlib.Path, picture):
    path = tmp_path / "million.html"
    write([("million", million())], path)
    assert path.stat().st_size < 6 << 20
    page = visit(path)
    paint = page.evaluate(
        "performance.getEntriesByType('paint').map(p => p.startTime)[0] ?? "
        "performance.getEntriesByType('navigation')[0].domInteractive"
    )
    print(f"first paint after {paint:.0f} ms, {path.stat().st_size / 2**20:.2f} MB")
    page.evaluate("location.hash = 'timeline'")
    until(page, f"{API} && true")
    page.evaluate(f"{API}.ready")
    frames = page.evaluate(f"""async () => {{
      const api = {API}, times = [];
      for (let i = 0; i < 40; i++) {{
        const begin = performance.now();
        api.zoom(i % 20 < 10 ? 0.6 : 1 / 0.6);
        await new Promise(requestAnimationFrame);
        times.push(performance.now() - begin);
      }}
      return times.sort((a, b) => a - b);
    }}""")
    print(f"frames: median {frames[20]:.0f} ms, longest {frames[-1]:.0f} ms")
    page.evaluate(f"{API}.find('inner3')")
    assert page.evaluate(f"{API}.state().hits") > 50_000
    picture(page, "million-timeline")
