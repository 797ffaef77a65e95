"""The API reference has an entry for everything public; `make docs` turns it into a site."""

from __future__ import annotations

import pathlib
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._ops import table

SITE = pathlib.Path(__file__).parents[2] / "scripts" / "site"


@pytest.fixture(scope="module")
def modules():
    sys.path.insert(0, str(SITE))
    try:
        import links
        import reference

        yield reference, links
    finally:
        sys.path.remove(str(SITE))


def test_entries(modules):
    pages = modules[0].pages()
    text = "\n".join(pages.values())
    public = [name for name in table.OVERLOADS if not name.startswith("_") and hasattr(torch, name)]
    assert [name for name in public if f"{{py:function}} {name}(" not in text] == []
    assert [name for name in torch.nn.modules.__all__ if f"{{py:class}} {name}(" not in pages["nn"]] == []
    assert "{py:method} Tensor.add_(other: Tensor | Number, *, alpha: Number = 1) -> Tensor" in pages["tensor"]
    assert "{py:property} Tensor.shape" in pages["tensor"]
    assert "{py:class} profile(" in pages["profiler"] and "{py:method} export_chrome_trace(" in pages["profiler"]
    assert "::::{py:function} svd(A: Tensor" in pages["linalg"]


def test_text_is_shown_literally(modules):
    assert (
        modules[0].escaped("(*, n) of `a*b` and x_1\n    code * here") == "(\\*, n) of `a*b` and x\\_1\n    code * here"
    )


def test_links_that_lead_nowhere_are_found(modules, tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here"></a><a href="b.html#gone"></a><a href="c.html"></a><script '
        'src="https://x.org/y.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="here"><a href="https://elsewhere.org">kept</a></p>')
    assert modules[1].problems(tmp_path) == [
        "a.html: loads https://x.org/y.js from elsewhere",
        "a.html: b.html#gone leads to no anchor",
        "a.html: c.html leads to no file",
    ]
