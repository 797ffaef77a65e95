"""Tensors that several processes see."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import multiprocessing as mp

PROGRAM = """
    import mindtorch_v2 as torch
    from mindtorch_v2 import multiprocessing as mp

    def work(i, t, queue, model, done):
        t[i] = i + 1.0
        with torch.no_grad():
            model.weight[i].fill_(i + 2.0)
        queue.put(torch.full((3,), float(i)))
        done.wait()          # who sends a tensor stays until it has arrived

    def bad(i):
        raise ValueError("boom")

    if __name__ == "__main__":
        t, model = torch.zeros(4), torch.nn.Linear(2, 2).share_memory()
        assert model.weight.is_shared() and not t.is_shared()
        context = mp.get_context("spawn")
        queue, done = context.Queue(), context.Event()
        running = mp.spawn(work, (t, queue, model, done), nprocs=2, join=False)
        assert t.is_shared()
        assert sorted(queue.get().tolist() for _ in range(2)) == [[0.0] * 3, [1.0] * 3]
        done.set()
        while not running.join():
            pass
        assert t.tolist() == [1.0, 2.0, 0.0, 0.0]
        assert model.weight.tolist() == [[2.0, 2.0], [3.0, 3.0]] and isinstance(model.weight, torch.nn.Parameter)
        try:
            mp.start_processes(bad, nprocs=1, start_method="fork")
        except mp.ProcessRaisedException as error:
            assert "Process 0 terminated with the following error" in str(error) and "ValueError: boom" in str(error)
            print("ok")
"""


def test_processes_see_the_same_memory(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_sharing_moves_a_tensor_and_keeps_its_layout():
    t = torch.arange(12.0).reshape(3, 4).t()[1:]
    expected, strides = t.tolist(), t.stride()
    assert t.share_memory_() is t and t.is_shared()
    assert (t.tolist(), t.stride()) == (expected, strides)
    assert t[0].is_shared() and not (t + 1).is_shared()


def test_what_cannot_cross_processes_is_refused():
    from mindtorch_v2.multiprocessing.reductions import reduce_tensor

    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        reduce_tensor(torch.ones(2, requires_grad=True) * 2)
    with pytest.raises(AssertionError, match="invalid sharing strategy"):
        mp.set_sharing_strategy("telepathy")
