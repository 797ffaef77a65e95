"""Ctrl-C may come at any moment: what follows must work as if nothing had been."""

from __future__ import annotations

import importlib
import os
import pathlib
import signal
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._autograd import rules
from mindtorch_v2._storage import native
from mindtorch_v2.profiler import ExecutionTraceObserver, _ExperimentalConfig, profile, schedule
from mindtorch_v2.utils.checkpoint import checkpoint

from .interrupts import PACKAGE, Interrupt, assert_nothing_is_left, interrupted

# An interrupt inside __del__ is reported by the interpreter; profile functions come and go here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore:Python calls are missing from this profile",
    "ignore:Profiler won.t be using warmup",
)

FLAGS = {
    "plain": {},
    "stacks": {"with_stack": True, "experimental_config": _ExperimentalConfig(record_python_gc_info=True)},
    "everything": {
        "with_stack": True,
        "record_shapes": True,
        "profile_memory": True,
        "with_modules": True,
        "with_flops": True,
        "experimental_config": _ExperimentalConfig(profile_all_threads=True, record_python_gc_info=True),
    },
}
MOST = 20000  # moments; more than any of these operations has


def _every_moment(run, apart=1):
    """Calls `run(moment)`, which says whether the interrupt came, until it no longer does."""
    moment = 0
    while run(moment):
        moment += apart
        assert moment < MOST
    return moment


def _work(prof=None):
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_start(flags):
    def run(moment):
        prof, begun = profile(**flags), []
        came = interrupted(moment, lambda: begun.append(prof.start()))
        if begun:  # an interrupt in a finaliser, or in what the native part asks of Python, may be dropped
            prof.stop()
        assert_nothing_is_left()
        if prof._running or prof._is_moving:
            prof.stop()  # by somebody who does not know how far it came
            assert_nothing_is_left()
        return came

    assert _every_moment(run) > 50


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_stop_ends_the_recording_and_a_second_one_gives_the_results(flags):
    def run(moment):
        prof = profile(**flags)
        prof.start()
        torch.ones(2) + 1
        came = interrupted(moment, prof.stop)
        assert_nothing_is_left()
        prof.stop()
        assert_nothing_is_left()
        assert "aten::add" in [e.name for e in prof.events()]
        return came

    assert _every_moment(run, 1 if native is not None or not flags else 11) > 50


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_a_block(flags):
    def block():
        with profile(**flags):
            _work()

    def run(moment):
        came = interrupted(moment, block)
        assert_nothing_is_left()
        return came

    _work()
    assert _every_moment(run, 1 if flags == {} else 5 if native is not None else 31) > 100


def test_steps_of_a_schedule():
    ready = []

    def run(moment):
        prof = profile(
            schedule=schedule(wait=1, warmup=1, active=1, repeat=2), on_trace_ready=lambda p: ready.append(p.step_num)
        )
        prof.start()

        def steps():
            for _ in range(4):
                prof.step()

        came = interrupted(moment, steps)
        prof.stop()
        assert_nothing_is_left()
        prof.stop()
        return came

    assert _every_moment(run) > 200
    assert set(ready) <= {2, 3, 4}


def test_a_step_that_is_interrupted_in_the_midst_of_a_move_ends_the_recording():
    def raises(prof):
        raise Interrupt

    prof = profile(schedule=schedule(wait=0, warmup=0, active=1, repeat=0), on_trace_ready=raises)
    prof.start()
    with pytest.raises(Interrupt):
        prof.step()
    assert_nothing_is_left()
    prof.stop()


def test_an_execution_trace(tmp_path):
    def run(moment):
        observer = ExecutionTraceObserver().register_callback(str(tmp_path / f"{moment}.json"))
        prof = profile(execution_trace_observer=observer)

        def block():
            with prof:
                torch.ones(2) + 1

        came = interrupted(moment, block)
        assert_nothing_is_left()
        return came

    assert _every_moment(run, 7) > 100


# --- gradients, optimizers, modes
def _model():
    layer = torch.nn.Linear(3, 2)
    return layer, torch.ones(4, 3, requires_grad=True)


def _closure(optimizer, layer, x):
    def evaluate():
        optimizer.zero_grad()
        loss = layer(x).pow(2).mean()
        loss.backward()
        return loss

    return evaluate


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@torch.no_grad()
def without_grad(x):
    return x * 2


@torch.no_grad()
def generator_without_grad(x):
    yield x * 2
    yield x * 3


@torch.inference_mode()
def inferred(x):
    return x * 2


def _optimizers():
    layer, x = _model()
    made = {
        "SGD": torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9),
        "Adam": torch.optim.Adam(layer.parameters()),
    }
    for optimizer in made.values():
        yield lambda o=optimizer: o.step(_closure(o, layer, x))
        yield lambda o=optimizer: o.zero_grad(set_to_none=False)


def _operations():
    layer, x = _model()
    yield "backward", lambda: layer(x).sum().backward()
    yield "backward of two", lambda: torch.autograd.backward([layer(x).sum(), x.mean()])
    yield "grad", lambda: torch.autograd.grad(layer(x).pow(2).sum(), [x], create_graph=True)[0].sum().backward()
    yield "function", lambda: Double.apply(x).sum().backward()
    yield "no_grad", lambda: without_grad(x)
    yield "a generator without grad", lambda: list(generator_without_grad(x))
    yield "inference mode", lambda: inferred(x)
    yield "checkpoint", lambda: checkpoint(layer, x, use_reentrant=False, preserve_rng_state=False).sum().backward()
    yield (
        "checkpoint, re-entering",
        lambda: checkpoint(layer, x, use_reentrant=True, preserve_rng_state=False).sum().backward(),
    )
    yield "clip_grad_norm_", lambda: torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    for i, run in enumerate(_optimizers()):
        yield f"optimizer {i}", run
    lbfgs = torch.optim.LBFGS(layer.parameters(), lr=0.1, max_iter=2, history_size=2)
    yield "optimizer L-BFGS", lambda: lbfgs.step(_closure(lbfgs, layer, x))


@pytest.mark.parametrize("observed", [False, True], ids=["", "observed"])
@pytest.mark.parametrize("name", [name for name, _ in _operations()])
def test_operations(name, observed):
    operation = dict(_operations())[name]
    operation()
    prof = None

    def run(moment):
        nonlocal prof
        if observed:
            prof = profile()
            prof.start()
        came = interrupted(moment, operation)
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        if observed:
            prof.stop()
        assert_nothing_is_left()
        return came

    long = 31 if "L-BFGS" in name else 1  # it calls the closure several times
    _every_moment(run, long * (1 if native is not None and not observed else 5))
    operation()


@pytest.mark.parametrize("reenters", [False, True])
def test_a_checkpoint_leaves_the_generator_where_it_was(reenters):
    """The backward pass runs the function again with the random numbers of the first time; afterwards those that
    come next are the same as without it, also where it was interrupted.
    """
    x = torch.ones(4, 3, requires_grad=True)

    def drop(x):
        return torch.nn.functional.dropout(x, 0.5) * x

    def run(moment):
        torch.manual_seed(3)
        loss = checkpoint(drop, x, use_reentrant=reenters, preserve_rng_state=True).sum()
        state = torch.get_rng_state()
        came = interrupted(moment, loss.backward)
        assert torch.equal(torch.get_rng_state(), state)
        assert_nothing_is_left()
        return came

    run(0)
    assert _every_moment(run, 1 if native is not None else 7) > 10


@pytest.mark.skipif(native is None, reason="the fallback is Python: between its lines everything can happen")
@pytest.mark.parametrize("name", [name for name, _ in _operations() if not name.startswith("optimizer")])
def test_operations_at_every_instruction(name):
    operation = dict(_operations())[name]
    operation()

    def run(moment):
        came = interrupted(moment, operation, opcodes=True)
        assert_nothing_is_left()
        return came

    _every_moment(run, 29)  # a different instruction of each line


# --- real signals
def _hammered(operation, delay, times):
    """Runs an operation with so many signals in a row, the first after `delay` seconds."""
    left = times

    def handler(number, frame):
        nonlocal left
        # the test itself is left alone
        if left and frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
            left -= 1
            raise Interrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, delay, 2e-5)
        operation()
    except Interrupt:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(
    native is None, reason="the fallback is Python: a second interrupt may come while it puts right what the first left"
)
@pytest.mark.parametrize("times", [1, 3])
def test_signals_in_a_row(times):
    operation = dict(_operations())["backward"]
    for i in range(150):
        # without stacks: with them the calls of the handler, and of this test, are traced and interrupted too
        prof = profile()

        def work(prof=prof):
            prof.start()
            operation()
            prof.stop()

        _hammered(work, 2e-6 * (i + 1) ** 1.3, times)
        if prof._running or prof._is_moving:
            prof.stop()
        assert_nothing_is_left()


# --- what is loaded when first used
FIRST_USE = """
import signal, sys, threading
import mindtorch_v2 as torch

class Stop(Exception): pass
program, delay = sys.argv[1], float(sys.argv[2])
results = []

def use():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    (x @ x.t()).softmax(-1).sum().backward()
    return torch.linalg.norm(x.detach()).item() ** 2, x.grad.abs().max().item() < 1e-5, torch.ones(3).cumsum(0).tolist()

def handler(*_):
    results.append(use())
    if program == "raise":
        raise Stop

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, delay)
try:
    results.append(use())
except Stop:
    pass
signal.setitimer(signal.ITIMER_REAL, 0)
results.append(use())
assert all(abs(a - 55.0) < 1e-4 and b and c == [1.0, 2.0, 3.0] for a, b, c in results), results
"""


@pytest.mark.parametrize("program", ["return", "raise"])
@pytest.mark.parametrize("delay", [0.001, 0.005, 0.02, 0.04])
def test_operators_in_a_signal_handler_while_they_are_loaded_for_the_first_time(program, delay):
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[2] / "src")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore:mindtorch_v2 runs", "-c", FIRST_USE, program, str(delay)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_family_whose_import_was_interrupted_is_imported_again():
    name = "mindtorch_v2._autograd.derivatives.movement"
    first = importlib.import_module(name)
    del sys.modules[name]
    assert importlib.import_module(name) is not first
    x = torch.ones(2, 3).requires_grad_()
    x.reshape(6).expand(2, 6).sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2


def test_a_derivative_is_declared_once():
    with pytest.raises(ValueError, match="the derivative of view is declared twice"):
        rules.derivative("view", self=lambda g: g)
