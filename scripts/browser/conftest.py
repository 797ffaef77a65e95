"""What the tests in a real browser share: Chromium, pages made from profiles, and pages opened in it."""

from __future__ import annotations

import os
import pathlib
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from firefox import Firefox, find_firefox
from playwright.sync_api import Browser, Page, sync_playwright

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import profile, record_function, schedule
from mindtorch_v2.profiler.report import write
from mindtorch_v2.profiler.store.event_store import EventStore

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = "</script><img src=x onerror=document.title='broken'>"
PICTURES = pathlib.Path(os.environ.get("MINDPROF_PICTURES", "build/pictures"))


def until(page: Any, expression: str) -> None:
    """Waits until an expression in the page is true. Playwright's own way needs `eval`, which the page forbids."""
    end = time.monotonic() + 60
    while not page.evaluate(f"Boolean({expression})"):
        assert time.monotonic() < end, expression
        time.sleep(0.02)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = (
        os.environ.get("CHROMIUM")
        or shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if path is None:
        pytest.exit("no Chromium: install Debian's package chromium, or set CHROMIUM", returncode=2)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=[False, True], ids=["light", "dark"])
def firefox(request: pytest.FixtureRequest) -> Iterator[Firefox]:
    """A Firefox that prefers light or dark pages."""
    path = find_firefox()
    if path is None:
        pytest.skip("no Firefox: install Debian's package firefox-esr, or set FIREFOX")
    one = Firefox(path, **{"layout.css.prefers-color-scheme.content-override": 0 if request.param else 1})
    yield one
    one.close()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.act, self.second = nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.act(self.first(x)))


def trained(steps: int = 8, **options: Any) -> EventStore:
    """A profile of a small training loop, with a name in it that tries to break out of the page."""
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    options = {
        "record_shapes": True,
        "profile_memory": True,
        "with_stack": True,
        "with_modules": True,
        "with_flops": True,
        **options,
    }
    with profile(schedule=schedule(wait=1, warmup=1, active=steps, repeat=1), **options) as prof:
        for _ in range(steps + 2):
            with record_function(HOSTILE):
                x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            prof.step()
    return prof.profiler.store


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, EventStore]:
    """A page of a training loop, and its store."""
    with ThreadPoolExecutor(1) as pool:  # its stacks do not begin with the test runner's
        store = pool.submit(trained, 10).result()
    path = tmp_path_factory.mktemp("page") / "small.html"
    write([("small", store), ("second", trained(3, with_stack=False))], path)
    return path, store


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page; what its script reports as errors fails the test, and so does any request for something outside."""
    contexts, errors = [], []

    def open_page(path: pathlib.Path, width: int = 1280, height: int = 900, dark: bool = False, hash: str = "") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on(
            "request",
            lambda request: None if request.url.startswith(("file:", "blob:", "data:")) else errors.append(request.url),
        )
        page.goto(path.as_uri() + hash)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not errors, errors


@pytest.fixture
def picture() -> Callable[[Page, str], None]:
    """Keeps a screenshot; pictures of the documentation are made so."""

    def take(page: Page, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(PICTURES / f"{name}.png"))

    return take
