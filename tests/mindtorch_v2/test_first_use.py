"""Ops may be used for the first time by several threads at once."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import threading

from mindtorch_v2._dispatch import families

PROGRAM = """
import sys, threading
sys.setswitchinterval(1e-6)
import mindtorch_v2 as torch

errors, together = [], threading.Barrier(4)

def work():
    together.wait()
    try:
        x = torch.randn(3, 3, requires_grad=True)
        (x @ x).softmax(-1).mean().backward()
        torch.linalg.inv(torch.eye(3)).sort()
    except Exception as error:
        errors.append(repr(error))

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(errors)
"""


def test_threads_that_need_the_same_family():
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[2] / "src")}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_importing_the_package_leaves_out_what_few_programs_need():
    """Importing is a large part of a short program's time; these parts are imported when first used."""
    code = "import sys, mindtorch_v2; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    parts = ("fx", "nn", "optim", "profiler", "_backends.generators", "_python.tensor_str")
    assert not loaded & {"numpy.random", *(f"mindtorch_v2.{part}" for part in parts)}


def test_a_fork_waits_for_imports_of_other_threads(monkeypatch):
    """A child would find the modules half imported, and nobody there to complete them."""
    order: list[str] = []
    begun, go = threading.Event(), threading.Event()

    def slow_import(family: str) -> None:
        begun.set()
        go.wait()
        order.append("imported")

    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(len(order))  # what the child sees
        order.append(f"forked, child saw {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}")

    monkeypatch.setattr(families, "_import_here", slow_import)
    threads = [threading.Thread(target=families.load_family, args=("no such family",)), threading.Thread(target=fork)]
    threads[0].start()
    begun.wait()
    threads[1].start()
    go.set()
    for thread in threads:
        thread.join()
    assert order == ["imported", "forked, child saw 1"]
