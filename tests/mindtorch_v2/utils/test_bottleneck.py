"""`python -m mindtorch_v2.utils.bottleneck`."""

from __future__ import annotations

import runpy
import sys

import pytest

SCRIPT = """
import sys
import mindtorch_v2 as torch
assert __name__ == "__main__"
print("given", sys.argv[1:])
torch.ones(3) + torch.ones(3)
sys.exit({code})
"""


def run(tmp_path, monkeypatch, code):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(code=code))
    monkeypatch.setattr(sys, "argv", ["bottleneck", str(script), "a", "--b"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    runpy.run_module("mindtorch_v2.utils.bottleneck", run_name="__main__")


def test_three_sections(tmp_path, monkeypatch, capsys):
    run(tmp_path, monkeypatch, 0)
    out = capsys.readouterr().out
    assert out.count("given ['a', '--b']") == 2
    offsets = [
        out.index(title)
        for title in ("  Environment Summary\n", "  cProfile output\n", "  autograd profiler output (CPU mode)\n")
    ]
    assert (
        offsets == sorted(offsets)
        and "function calls" in out[offsets[1] : offsets[2]]
        and "aten::add" in out[offsets[2] :]
    )


def test_a_script_that_fails_is_not_hidden(tmp_path, monkeypatch):
    with pytest.raises(SystemExit):
        run(tmp_path, monkeypatch, 3)
