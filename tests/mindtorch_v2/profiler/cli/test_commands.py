"""The commands that read files: answers, wrong usage, bad files."""

from __future__ import annotations

import io
import json
import os
import subprocess

import pytest

from mindtorch_v2.profiler import load
from mindtorch_v2.profiler.analysis.busy_machine import busy_note
from mindtorch_v2.profiler.cli.main import COMMANDS, parser_of
from mindtorch_v2.profiler.cli.show import print_summary, summary
from mindtorch_v2.profiler.cli.terminal import Terminal, cut
from mindtorch_v2.profiler.report.data import report_data

from ..hand_made import E, make_store


def test_help_fits_a_screen_and_shows_an_example(tool, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = tool("--help")
    assert code == 0 and all(name in out for name in COMMANDS)
    assert len(out.splitlines()) <= 24 and max(map(len, out.splitlines())) <= 80
    for name in COMMANDS:
        text = parser_of(name).format_help()
        assert len(text.splitlines()) <= 24 and "example:" in text and f"mindprof {name}" in text
        assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), ""),
        (("bogus",), "no command 'bogus'"),
        (("show",), "required: file"),
        (("show", "x", "--rows", "many"), "invalid int"),
        (("show", "nowhere.json"), "No such file"),
        (("convert", "a", "b.doc"), "the ending is none of"),
        (("run",), "no program to run"),
        (("run", "--wait", "x", "a.py"), "not a number of steps"),
        (("run", "nowhere.py"), "can't open file"),
        (("completion", "fish"), "invalid choice"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(tool, arguments, message):
    code, _, err = tool(*arguments)
    assert code == 2
    assert message in err and len(err.splitlines()) <= 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"{}",
        b'{"traceEvents": 5}',
        b"\x1f\x8bnonsense",
        b"\x89MTPROF\r\n\x1a\n" + bytes(60),
        b"[" * 5000,
    ],
)
@pytest.mark.parametrize("command", ["show", "report", "validate"])
def test_bad_files_are_one_line_and_exit_code_2(tool, tmp_path, content, command):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    code, out, err = tool(command, str(path))
    assert code == 2 and out == "" and len(err.splitlines()) == 1 and "bad.json" in err


def test_show_tells_the_same_of_a_profile_and_of_its_trace(tool, saved, trace):
    _, text, _ = tool("show", saved, "--json")
    answer = json.loads(text)
    assert answer["steps"]["count"] == 6 and answer["steps"]["median_ns"] == 1_000_000
    assert answer["phases_ns"] == {
        "forward": 2_400_000,
        "backward": 1_800_000,
        "optimizer": 1_200_000,
        "data": 600_000,
        "copies": 0,
        "device idle": 0,
        "Python": 0,
        "unaccounted": 0,
    }
    assert [o["name"] for o in answer["operators"]] == [
        "aten::linear",
        "autograd::engine::evaluate_function: X",
        "aten::add_",
    ]
    assert answer["lines"][0] == {"line": "train.py(7): step", "calls": 6, "total_ns": 2_400_000}
    assert answer["memory"][0]["peak_bytes"] == 1000
    assert answer["modules"][0]["forward_ns"] == 2_400_000
    again = json.loads(tool("show", trace, "--json")[1])
    assert again["phases_ns"] == answer["phases_ns"] and again["verdict"] == answer["verdict"]


def test_show_is_plain_in_a_pipe_and_coloured_on_a_terminal(tool, saved, monkeypatch):
    _, plain, _ = tool("show", saved)
    assert "\x1b" not in plain and "Compute-bound" in plain and "aten::linear" in plain
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, coloured, _ = tool("show", saved)
    assert "\x1b[" in coloured and "█" in coloured


def test_report_writes_beside_the_file_and_never_over_it(tool, saved, trace, tmp_path):
    code, out, _ = tool("report", saved)
    assert code == 0 and str(tmp_path / "run.html") in out
    code, _, _ = tool("report", saved, trace, "-o", str(tmp_path / "two.html"))
    assert code == 0 and (tmp_path / "two.html").read_text().count('"title":') >= 2
    code, _, err = tool("report", saved, "-o", saved)
    assert code == 2 and "would replace" in err
    assert len(load(saved).store) > 0


def test_validate_says_what_is_wrong(tool, saved, tmp_path):
    code, out, _ = tool("validate", saved)
    assert code == 0 and "sound" in out
    broken = tmp_path / "cut.json"
    broken.write_text(
        '{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 5, "pid": 1, "tid": 1, "cat": "cpu_op"}, {"ph"'
    )
    code, out, _ = tool("validate", str(broken), "--json")
    answer = json.loads(out)
    assert (
        code == 1
        and not answer["sound"]
        and answer["events"] == 1
        and any("ends before its end" in r for r in answer["repairs"])
    )


def test_progress_and_repairs_do_not_disturb_the_answer(tool, tmp_path):
    path = tmp_path / "text_times.json"
    path.write_text('[{"ph": "X", "name": "aten::a", "ts": "1.5", "dur": "2.25", "pid": 1, "tid": 1, "cat": "cpu_op"}]')
    code, out, err = tool("show", str(path), "--json")
    assert code == 0 and json.loads(out)["operators"][0]["own_ns"] == 2250
    assert "times were text" in err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("mindprof va", "validate"),
        ("mindprof run --w", "--wait --warmup"),
        ("mindprof run -o x --wait = 5 --al", "--all --all-processes"),  # bash makes three words of --wait=5
        ("mindprof run train.py --al", ""),  # an option of the program
        ("mindprof run -m train --al", ""),
        ("mindprof run --all tra", "train.py"),
        ("mindprof ctl 12 st", "start stop status"),
        ("mindprof completion z", "zsh"),
        ("mindprof show tra", "train.py"),
    ],
)
def test_what_bash_completes(tool, tmp_path, words, found):
    (tmp_path / "train.py").write_text("")
    script = (
        f"{tool('completion', 'bash')[1]}COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _mindprof\n"
    )
    made = subprocess.run(
        ["bash", "-c", script + 'echo "${COMPREPLY[*]}"'], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (made.stdout.strip(), made.stderr) == (found, "")


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_is_a_valid_script_that_knows_all_commands(tool, shell):
    code, out, _ = tool("completion", shell)
    assert code == 0 and all(name in out for name in COMMANDS) and "--active" in out
    checked = subprocess.run(["bash", "-n"], input=out, text=True, capture_output=True)
    assert checked.returncode == 0, checked.stderr
    if shell == "bash":
        asked = out + "\nCOMP_WORDS=(mindprof sh); COMP_CWORD=1; _mindprof; echo ${COMPREPLY[@]}"
        assert subprocess.run(["bash", "-c", asked], text=True, capture_output=True).stdout.split() == ["show"]


def test_a_closed_pipe_is_no_error(saved):
    import sys

    process = subprocess.run(
        f"{sys.executable} -m mindtorch_v2.profiler show {saved} --json | head -c 1",
        shell=True,
        capture_output=True,
        text=True,
        env={**os.environ},
    )
    assert process.stdout == "{" and process.stderr == ""


def test_text_is_cut_in_the_middle():
    assert cut("abcdefghij", 20) == "abcdefghij"
    made = cut("abcdefghijklmnopqrstuvwxyz", 10)
    assert len(made) == 10 and made.startswith("abc") and made.endswith("z") and "…" in made


def test_a_terminal_without_colour_has_no_bars(capsys):
    terminal = Terminal()
    assert terminal.plain and terminal.bar(0.5) == "" and terminal.style("x", "bold") == "x"


def test_a_busy_machine_is_told():
    alone = make_store([E("aten::a", 0, 5)], machine_load={"others": 0.24, "delay": 0.04, "slices": 3.0})
    assert busy_note(alone) == "" and busy_note(make_store([E("aten::a", 0, 5)])) == ""
    busy = make_store([E("aten::a", 0, 5)], machine_load={"others": 0.25, "delay": 0.5, "slices": 3.0})
    answer = summary(busy)
    assert answer["machine"]["others"] == 0.25 and "25% of the processors" in answer["machine"]["note"]
    out = io.StringIO()
    print_summary(answer, "a", Terminal(out))
    assert "not let run for 50% of the time" in out.getvalue()
    assert report_data(busy)["machine"] == answer["machine"]["note"]
