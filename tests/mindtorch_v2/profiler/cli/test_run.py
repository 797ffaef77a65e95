"""`mindprof run`: a program under it behaves as without it, and its profile is written however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mindtorch_v2.profiler import load
from mindtorch_v2.profiler.analysis.phases import Phase, phases
from mindtorch_v2.profiler.analysis.steps import find_steps
from mindtorch_v2.profiler.cli.run import split
from mindtorch_v2.profiler.record.kinds import Flag

PROGRAM = """
import atexit, os, signal, sys, time
import torch
atexit.register(print, "at exit")
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
print(sys.argv[1:], __name__, os.path.basename(__file__))
for _ in range(5):
    optimizer.zero_grad()
    model(torch.ones(3, 4)).sum().backward()
    optimizer.step()
sys.stdout.flush()
{end}
"""
ENDS = {
    "done": "",
    "code": "sys.exit(7)",
    "text": "sys.exit('sorry')",
    "error": "raise KeyError('boom')",
    # A job in the background inherits that SIGINT is ignored: the program asks for Python's own handler.
    "interrupt": "signal.signal(signal.SIGINT, signal.default_int_handler); os.kill(os.getpid(), signal.SIGINT); "
    "time.sleep(60)",
    "terminate": "os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)",
    "at once": "os._exit(5)",
    "closed": "sys.stdout.close(); sys.stderr.close()",
    "hang up": "os.kill(os.getpid(), signal.SIGHUP); time.sleep(60)",
    "quit": "signal.signal(signal.SIGQUIT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGQUIT); time.sleep(60)",
    "no stderr": "os.close(2)",
}


def _run(folder: Path, *arguments: str, module: str = "mindtorch_v2.profiler") -> subprocess.CompletedProcess[str]:
    # SIGHUP is ignored under nohup, SIGQUIT in the background
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "100"},
        preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in (signal.SIGHUP, signal.SIGQUIT)],
    )


@pytest.mark.parametrize("end", ENDS)
def test_a_program_ends_as_without_the_tool(tmp_path, end):
    (tmp_path / "program.py").write_text(PROGRAM.format(end=ENDS[end]))
    under = _run(tmp_path, "run", "--quiet", "--no-report", "program.py", "a", "--b")
    alone = _run(tmp_path, "program.py", "a", "--b", module="mindtorch_v2")
    assert under.stdout == alone.stdout
    assert (
        under.returncode
        == alone.returncode
        == {
            "done": 0,
            "code": 7,
            "text": 1,
            "error": 1,
            "interrupt": -signal.SIGINT,
            "terminate": -signal.SIGTERM,
            "at once": 5,
            "closed": 0,
            "hang up": -signal.SIGHUP,
            "quit": -signal.SIGQUIT,
            "no stderr": 0,
        }[end]
    )
    if end == "error":
        assert "KeyError: 'boom'" in under.stderr and "program.py" in under.stderr
        assert "profiler/cli" not in under.stderr.replace(os.sep, "/")
    store = load(tmp_path / "profile.mindprof").store
    steps = find_steps(store)
    assert steps.source == "optimizer" and len(steps.number) == 4  # from the end of the first of five on


def _calls(store, name: str) -> int:
    return sum(store.name_of(row) == name for row in range(len(store)))


def test_all_threads_and_functions_of_atexit_are_recorded(tmp_path):
    """A thread that goes on when the main one is done is waited for, as the interpreter does; then atexit."""
    (tmp_path / "program.py").write_text(
        "import atexit, threading, torch\n"
        "atexit.register(lambda: torch.ones(2).tanh())\n"
        "def late():\n"
        "    threading.main_thread().join()\n"
        "    torch.ones(2).sigmoid()\n"
        "    print('late')\n"
        "threading.Thread(target=late).start()\n"
        "torch.ones(2).exp()\n"
    )
    made = _run(tmp_path, "run", "--no-report", "program.py")
    assert (made.returncode, made.stdout) == (0, "late\n"), made.stderr
    store = load(tmp_path / "profile.mindprof").store
    assert [_calls(store, f"aten::{name}") for name in ("exp", "sigmoid", "tanh")] == [1, 1, 1]
    assert made.stderr.rstrip().splitlines()[-1].startswith("mindprof: profile.mindprof")


def test_the_program_sees_nothing_of_the_tool(tmp_path):
    """Its signals have their defaults, its annotations are values, its module has a loader; an error in its text is
    shown without frames of the tool, and leaves an empty profile."""
    (tmp_path / "program.py").write_text(
        "import signal, sys\n"
        "def function(x: int): ...\n"
        "assert function.__annotations__ == {'x': int}\n"
        "assert __loader__.get_filename('__main__') == __file__\n"
        "assert __builtins__ is sys.modules['builtins']\n"
        "number = signal.SIGTERM\n"
        "def handler(*_): ...\n"
        "assert signal.getsignal(number) == signal.SIG_DFL\n"
        "assert signal.signal(number, handler) == signal.SIG_DFL and signal.getsignal(number) is handler\n"
        "assert signal.signal(number, signal.SIG_DFL) is handler and signal.getsignal(number) == signal.SIG_DFL\n"
    )
    (tmp_path / "broken.py").write_text("print(1\n")
    for program, code in (("program.py", 0), ("broken.py", 1)):
        made = _run(tmp_path, "run", "--no-report", program)
        assert made.returncode == code, made.stderr
        assert "Traceback" not in made.stderr and "called no operator of torch" in made.stderr
        assert len(load(tmp_path / "profile.mindprof").store) == 0
    assert made.stderr.startswith('  File "broken.py", line 1\n')


def test_a_signal_waits_until_the_profile_is_written():
    """In a process of its own: one signal begins to write, the second comes meanwhile."""
    program = (
        "import os, signal\n"
        "from mindtorch_v2.profiler.cli.signals import before_ending\n"
        "def write():\n"
        "    os.kill(os.getpid(), signal.SIGUSR1)\n"
        "    print('written', flush=True)\n"
        "before_ending(write)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    for ending in (signal.SIGUSR1, signal.SIGTERM):
        text = (
            program if ending == signal.SIGUSR1 else program.replace("    os.kill(os.getpid(), signal.SIGUSR1)\n", "")
        )
        made = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
        assert (made.returncode, made.stdout) == (-ending, "written\n"), made.stderr


def test_steps_that_are_counted_are_those_of_one_optimizer(tmp_path):
    """The two of a GAN step in turns; a step is one turn. The first one is then used no more."""
    (tmp_path / "gan.py").write_text(
        "import torch\n"
        "one, two = ([torch.ones(2, requires_grad=True)] for _ in range(2))\n"
        "first, second = torch.optim.SGD(one, 0.1), torch.optim.SGD(two, 0.1)\n"
        "for i in range(40):\n"
        "    for parameter, optimizer in ((one, first), (two, second)):\n"
        "        if i < 10 or optimizer is second:\n"
        "            parameter[0].sum().backward()\n"
        "            optimizer.step()\n"
    )
    ran = _run(tmp_path, "run", "--quiet", "--no-report", "--wait", "1", "--active", "100", "gan.py")
    assert ran.returncode == 0
    store = load(tmp_path / "profile.mindprof").store
    counts = [text.startswith("Optimizer.step#") for text in (store.name_of(row) for row in range(len(store)))]
    assert sum(counts) == 2 * 10 + 30 - 1  # all but the first
    # 9 of the first, then 11 of the second, which has 20 turns alone before; what comes then may be too long to be none
    assert find_steps(store).number.tolist()[:20] == list(range(1, 21)) and len(find_steps(store).number) <= 21


def test_steps_of_the_optimizer_follow_the_schedule_and_the_summary_names_the_page(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM.format(end=""))
    made = _run(
        tmp_path, "run", "--all", "--wait", "1", "--warmup", "1", "--active=2", "-o", "out.mindprof", "program.py"
    )
    assert made.returncode == 0, made.stderr
    store = load(tmp_path / "out.mindprof").store
    assert find_steps(store).source == "profiler" and len(find_steps(store).number) == 2
    options = store.metadata.options
    assert (
        options.record_shapes
        and options.profile_memory
        and options.with_stack
        and options.with_modules
        and options.with_flops
    )
    assert (tmp_path / "out.html").exists() and "out.html" in made.stderr and "2 steps" in made.stderr
    assert made.stdout == "[] __main__ program.py\nat exit\n"


def test_a_step_ends_after_the_scope_of_its_optimizer(tmp_path):
    """A scope that began in one step and ended in the next would lie in none, and its time would be nobody's."""
    (tmp_path / "program.py").write_text(PROGRAM.format(end=""))
    ran = _run(tmp_path, "run", "-q", "--stacks", "--no-report", "--wait", "1", "--active", "3", "program.py")
    assert ran.returncode == 0, ran.stderr
    store = load(tmp_path / "profile.mindprof").store
    names = [store.name_of(row) for row in range(len(store))]
    stepped = [row for row, name in enumerate(names) if name.startswith("Optimizer.step#")]
    steps = [row for row, name in enumerate(names) if name.startswith("ProfilerStep#")]
    assert len(stepped) == len(steps) == 3
    assert not (store.flags[stepped] & int(Flag.ASYNC)).any()
    for step, row in zip(steps, stepped):
        assert store.start_ns[step] <= store.start_ns[row] and store.end_ns[row] <= store.end_ns[step]
    assert (phases(store).nanoseconds[:, Phase.OPTIMIZER] > 0).all()
    # the outermost frame is the program's: not the tool's that started it
    assert min(row for row, name in enumerate(names) if "<module>" in name) == 0
    assert names[0].startswith("program.py(") and not any("runpy" in name or "mindprof" in name for name in names)


@pytest.mark.parametrize("options", [(), ("--wait", "1", "--active", "2")])
def test_steps_of_a_program_that_calls_prof_step_are_those(tmp_path, options):
    """Two optimizer steps in each of its own, and others before and after its profile."""
    (tmp_path / "own.py").write_text(
        "import torch\n"
        "parameter = torch.ones(2, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([parameter], 0.1)\n"
        "plan = torch.profiler.schedule(wait=1, warmup=1, active=2)\n"
        "with torch.profiler.profile(schedule=plan) as prof:\n"
        "    for i in range(4):\n"
        "        for _ in range(2):\n"
        "            parameter.sum().backward()\n"
        "            optimizer.step()\n"
        "        prof.step()\n"
        "print(sum(e.name.startswith('Optimizer.step') for e in prof.events()))\n"
    )
    ran = _run(tmp_path, "run", "-q", "--no-report", *options, "own.py")
    assert (ran.returncode, ran.stdout) == (0, "4\n"), ran.stderr
    steps = find_steps(load(tmp_path / "profile.mindprof").store)
    assert (steps.source, steps.number.tolist()) == ("profiler", [1, 2] if options else [0, 1, 2, 3])
    store = load(tmp_path / "profile.mindprof").store
    ends = [store.end_ns[row] for row in range(len(store)) if store.name_of(row).startswith("Optimizer.step#")]
    for start, end in zip(steps.start_ns, steps.end_ns):
        assert sum(start < moment <= end for moment in ends) == 2


def test_code_and_modules(tmp_path):
    (tmp_path / "tiny.py").write_text("import sys, torch\ntorch.ones(2).add_(1)\nprint(sys.argv[1:], __name__)\n")
    for arguments in (("-m", "tiny", "-x"), ("-c", "import tiny", "-x")):
        made = _run(tmp_path, "run", "-q", "--no-report", *arguments)
        assert made.returncode == 0 and made.stdout.startswith("['-x']"), made.stderr
        assert any(
            load(tmp_path / "profile.mindprof").store.name_of(i) == "aten::add_"
            for i in range(len(load(tmp_path / "profile.mindprof").store))
        )


@pytest.mark.parametrize(
    ("given", "own", "program"),
    [
        (["a.py", "--all"], [], ["a.py", "--all"]),
        (["--all", "-o", "x", "a.py"], ["--all", "-o", "x"], ["a.py"]),
        (["--wait=2", "-m", "pkg", "-o"], ["--wait=2"], ["-m", "pkg", "-o"]),
        (["-q", "--", "-c", "1"], ["-q"], ["-c", "1"]),
        (["-o"], ["-o"], []),
    ],
)
def test_options_end_where_the_program_begins(given, own, program):
    assert split(given) == (own, program)
