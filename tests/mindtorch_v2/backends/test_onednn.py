"""oneDNN before the CPU kernels: the same answers, whether it is there or not. Where it is not installed only the finding is tested."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.onednn import library
from mindtorch_v2._dispatch.registry import KERNELS
from tests.tolerances import CONFIDENCE

native = library.native
needs_library = pytest.mark.skipif(library.version() is None, reason=f"no oneDNN: {library.why_missing()}")
F = torch.nn.functional
UNIT = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-9}


@pytest.fixture
def own() -> Any:
    """Calls a function as it goes without oneDNN."""

    def call(function: Any, *args: Any) -> Any:
        before = native.set_enabled(False)
        try:
            return function(*args)
        finally:
            native.set_enabled(before)

    return call


def _values(seed: int, *shape: int, dtype: Any = torch.float32) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32)).to(dtype)


def _close(got: Any, want: Any, terms: int, dtype: Any, what: str) -> None:
    """Both are sums of `terms` products of numbers of size one, added in some order in float32, and rounded to `dtype` once."""
    assert got.shape == want.shape and got.dtype == want.dtype and got.stride() == want.stride(), what
    a, b = got.double().numpy(), want.double().numpy()
    bound = CONFIDENCE * 2 * terms * UNIT[torch.float32] + 2 * UNIT[dtype] * np.abs(b)
    assert np.all(np.abs(a - b) <= bound), f"{what}: {np.max(np.abs(a - b) - bound)} above the bound"


def _used(function: Any, *args: Any) -> tuple[Any, int]:
    """The result, and how many plans were made for it."""
    native.clear_plans()
    made = function(*args)
    return made, sum(name != "" for name, _, _ in native.plans())


# --- finding it ---------------------------------------------------------------------------------------------------------
def _run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


PRODUCT = "import mindtorch_v2 as t; x = t.ones(64, 64); print((x @ x)[0, 0].item());"


def test_zero_in_the_environment_leaves_it_unused() -> None:
    done = _run(
        PRODUCT + "from mindtorch_v2._backends.onednn import library; print(library.version(), library.why_missing())",
        MINDTORCH_ONEDNN="0",
    )
    assert done.stdout.splitlines() == ["64.0", "None MINDTORCH_ONEDNN=0"], done.stderr


@pytest.mark.skipif(native is None, reason="no native part")
def test_a_path_that_is_no_library_is_an_error_that_names_it(tmp_path: Any) -> None:
    wrong = tmp_path / "libdnnl.so.3"
    wrong.write_bytes(b"not a library")
    done = _run(PRODUCT, MINDTORCH_ONEDNN=str(wrong))
    assert (
        done.returncode != 0
        and "RuntimeError: MINDTORCH_ONEDNN names a library that cannot be used" in done.stderr
        and str(wrong) in done.stderr
    )


def test_importing_and_small_operators_do_not_load_it() -> None:
    code = (
        "import mindtorch_v2 as t; x = t.ones(4, 4); (x @ x).exp().sum(); from mindtorch_v2._backends.onednn import library as l; "
        "print(l._version, repr(l._why), 'libdnnl' in open('/proc/self/maps').read())"
    )
    assert _run(code, MINDTORCH_ONEDNN="").stdout.strip() == "None '' False"


def test_the_system_s_loader_is_asked_last() -> None:
    assert library._candidates()[-1] == library.NAME


# --- convolutions -------------------------------------------------------------------------------------------------------
# batch, channels, out channels, groups, space, kernel, stride, padding, dilation
CONVOLUTIONS = [
    (2, 16, 16, 1, (9,), (3,), (1,), (1,), (1,)),
    (2, 8, 12, 4, (13,), (5,), (2,), (2,), (2,)),
    (2, 16, 32, 1, (9, 10), (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 3, 16, 1, (12, 12), (7, 7), (2, 2), (3, 3), (1, 1)),
    (2, 16, 16, 16, (8, 8), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 24, 24, 24, (9, 9), (3, 3), (2, 2), (1, 1), (1, 1)),
    (2, 8, 16, 2, (7, 9), (3, 2), (2, 1), (0, 1), (1, 2)),
    (2, 24, 40, 1, (14, 14), (1, 1), (1, 1), (0, 0), (1, 1)),
    (1, 8, 8, 1, (5, 6, 7), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1)),
    (2, 8, 16, 2, (6, 6, 6), (2, 3, 2), (2, 1, 2), (0, 1, 0), (1, 1, 2)),
]


@needs_library
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("sizes", CONVOLUTIONS, ids=str)
def test_convolutions_and_their_gradients(sizes: Any, dtype: Any, own: Any) -> None:
    n, c, o, groups, space, kernel, stride, padding, dilation = sizes
    function = (F.conv1d, F.conv2d, F.conv3d)[len(space) - 1]

    def run() -> list[Any]:
        x, w, b = (
            _values(1, n, c, *space, dtype=dtype),
            _values(2, o, c // groups, *kernel, dtype=dtype),
            _values(3, o, dtype=dtype),
        )
        given = [t.requires_grad_() for t in (x, w, b)]
        y = function(*given, stride, padding, dilation, groups)
        return [y.detach(), *torch.autograd.grad(y, given, _values(4, *y.shape, dtype=dtype))]

    (got, plans), want = _used(run), own(run)
    assert plans, "oneDNN has taken no part"
    terms = max(math.prod(kernel) * max(c, o), n * math.prod(want[0].shape[2:]))
    for name, a, b in zip(("output", "input", "weight", "bias"), got, want):
        _close(a, b, terms, dtype, name)


@needs_library
@pytest.mark.parametrize("mask", list(itertools.product([False, True], repeat=3))[1:])
def test_any_choice_of_gradients(mask: tuple[bool, ...], own: Any) -> None:
    kernel = KERNELS["convolution_backward"]
    x, w, g = (_values(i, *shape).numpy() for i, shape in enumerate([(2, 8, 9, 9), (16, 8, 3, 3), (2, 16, 9, 9)]))
    args = (g, x, w, [16] if mask[2] else None, (1, 1), (1, 1), (1, 1), False, (0, 0), 1, list(mask))
    for wanted, a, b in zip(mask, kernel(*args), own(kernel, *args)):
        assert (a is None) == (b is None) == (not wanted)
        if wanted:
            _close(torch.from_numpy(a), torch.from_numpy(b), 162, torch.float32, str(mask))


@needs_library
@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolution(groups: int, own: Any) -> None:
    def run() -> list[Any]:
        given = [
            _values(1, 2, 16, 7, 7).requires_grad_(),
            _values(2, 16, 12, 3, 3).requires_grad_(),
            _values(3, 12 * groups).requires_grad_(),
        ]
        y = F.conv_transpose2d(*given, stride=2, padding=1, output_padding=1, groups=groups)
        return [y.detach(), *torch.autograd.grad(y, given, _values(4, *y.shape))]

    for name, a, b in zip(("output", "input", "weight", "bias"), run(), own(run)):
        _close(a, b, 400, torch.float32, name)


@needs_library
def test_channels_last_stays_so(own: Any) -> None:
    x, w = _values(1, 2, 16, 8, 8).to(memory_format=torch.channels_last), _values(2, 16, 16, 3, 3)

    def run() -> Any:
        return F.conv2d(x, w, padding=1)

    made, plans = _used(run)
    assert plans and made.is_contiguous(memory_format=torch.channels_last)
    _close(made, own(run), 144, torch.float32, "channels last")


@needs_library
def test_strided_images_and_weights(own: Any) -> None:
    x, w = _values(1, 2, 10, 10, 16)[:, 1:9, ::2].permute(0, 3, 1, 2), _values(2, 3, 3, 16, 8).permute(3, 2, 0, 1)
    _close(F.conv2d(x, w), own(F.conv2d, x, w), 144, torch.float32, "strided")


# --- products -----------------------------------------------------------------------------------------------------------
@needs_library
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("turned", list(itertools.product([False, True], repeat=2)), ids=str)
def test_products_of_matrices_as_they_lie(dtype: Any, turned: tuple[bool, bool], own: Any) -> None:
    a = _values(1, 70, 90, dtype=dtype).t() if turned[0] else _values(1, 90, 70, dtype=dtype)
    b = _values(2, 50, 70, dtype=dtype).t() if turned[1] else _values(2, 70, 50, dtype=dtype)
    bias = _values(3, 50, dtype=dtype)
    for what, function in {
        "mm": lambda: a @ b,
        "addmm": lambda: torch.addmm(bias, a, b),
        "columns": lambda: a[:, ::2] @ b[::2],
        "linear": lambda: F.linear(a, b.t(), bias),
        "scaled": lambda: torch.addmm(bias, a, b, beta=0.5, alpha=2),
    }.items():
        (got, plans), want = _used(function), own(function)
        assert plans or what in ("columns", "scaled"), f"{what}: oneDNN has taken no part"
        _close(got, want, 2 * 70, dtype, what)


@needs_library
def test_products_of_batches(own: Any) -> None:
    a, b, m = _values(1, 2, 3, 40, 50), _values(2, 2, 3, 50, 60), _values(3, 50, 60)
    cases = {
        "bmm": lambda: torch.bmm(a[0], b[0]),
        "four": lambda: a @ b,
        "one matrix": lambda: a @ m,
        "heads": lambda: a.transpose(0, 1) @ b.transpose(0, 1),
        "broadcast": lambda: a @ b[:, :1],
    }
    for what, function in cases.items():
        (got, plans), want = _used(function), own(function)
        assert plans or what in ("heads", "broadcast"), f"{what}: oneDNN has taken no part"
        _close(got, want, 50, torch.float32, what)


# --- elements -----------------------------------------------------------------------------------------------------------
SPECIAL = [
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    1e-30,
    -1e-30,
    88.0,
    -88.0,
    1e4,
    -1e4,
    3e38,
    -3e38,
    1.0,
    -1.0,
    0.1,
    -5.0,
]


@needs_library
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["mish", "silu", "tanh", "sigmoid", "log", "gelu"])
def test_functions_of_elements_and_gradients_at_special_values(name: str, dtype: Any, own: Any) -> None:
    function = getattr(F, name, None) or getattr(torch, name)

    def run() -> list[Any]:
        x = torch.tensor(SPECIAL * 1000).to(dtype).requires_grad_()
        y = function(x)
        return [y.detach(), *torch.autograd.grad(y.sum(), x)]

    for what, a, b in zip(("values", "gradients"), run(), own(run)):
        got, want = a.double().numpy(), b.double().numpy()
        assert np.array_equal(np.isnan(got), np.isnan(want)), f"{name}: NaN in {what}"
        fine = np.isfinite(want)
        assert np.array_equal(got[~fine & ~np.isnan(want)], want[~fine & ~np.isnan(want)]), (
            f"{name}: infinity in {what}"
        )
        assert np.allclose(got[fine], want[fine], rtol=16 * UNIT[dtype], atol=16 * UNIT[torch.float32]), (
            f"{name}: {what}"
        )


# --- threads, memory, plans ---------------------------------------------------------------------------------------------
@needs_library
def test_the_number_of_threads_changes_results_by_rounding_only() -> None:
    x, w, before, made = _values(1, 4, 32, 16, 16), _values(2, 32, 32, 3, 3), torch.get_num_threads(), []
    try:
        for threads in (1, 2, 1):
            torch.set_num_threads(threads)
            made.append(F.conv2d(x, w, padding=1))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(made[0], made[2])
    _close(made[1], made[0], 288, torch.float32, "two threads")


@needs_library
def test_threads_run_one_plan_at_once(own: Any) -> None:
    inputs = [(_values(i, 2, 16, 16, 16), _values(i + 100, 16, 16, 3, 3)) for i in range(8)]
    want, got, faults = [own(F.conv2d, *pair) for pair in inputs], {}, []

    def work(i: int) -> None:
        try:
            for _ in range(20):
                got[i] = F.conv2d(*inputs[i])
        except RuntimeError as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    for i in range(8):
        _close(got[i], want[i], 144, torch.float32, f"thread {i}")


@needs_library
def test_a_forked_child_computes_too() -> None:
    x = _values(1, 128, 128)
    want = (x @ x).numpy().copy()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"1" if np.allclose((x @ x).numpy(), want, rtol=1e-4, atol=1e-4) else b"0")
        os._exit(0)
    os.close(writer)
    assert os.read(reader, 1) == b"1"
    os.close(reader)
    os.waitpid(child, 0)


@needs_library
def test_scratch_memory_is_seen_by_profiles() -> None:
    x, w = _values(1, 4, 32, 16, 16), _values(2, 32, 32, 3, 3)
    native.clear_plans()
    F.conv2d(x, w, padding=1)
    (needed,) = [scratch for name, _, scratch in native.plans() if name]
    assert needed > 0
    with torch.profiler.profile(profile_memory=True) as prof:
        F.conv2d(x, w, padding=1)
    sizes = prof.profiler.store.scratch.nbytes.tolist()
    assert needed + 64 in sizes and -(needed + 64) in sizes  # 64: room to align


@needs_library
def test_plans_are_kept_and_their_number_is_limited() -> None:
    native.clear_plans()
    for size in range(1, 1100):
        torch.mm(torch.ones(40, 40), torch.ones(40, size + 40))
    assert 500 <= len(native.plans()) <= 1024
    native.clear_plans()
    assert native.plans() == []


@needs_library
def test_backends_mkldnn_tells_and_switches() -> None:
    x = _values(1, 64, 64)
    assert torch.backends.mkldnn.is_available()
    with torch.backends.mkldnn.flags(enabled=False):
        assert _used(lambda: x @ x)[1] == 0
    assert _used(lambda: x @ x)[1] == 1


THREADS = """
import os
import mindtorch_v2 as t
from mindtorch_v2._backends.onednn import library
t.set_num_threads(3)
def work():
    x, w = t.ones(4, 32, 16, 16, requires_grad=True), t.ones(32, 32, 3, 3, requires_grad=True)
    t.nn.functional.conv2d(x, w, padding=1).sum().backward()
    return w.grad[0, 0, 1, 1].item()
first = work()
print(library.native.works_on_own_threads(), first, flush=True)
child = os.fork()
if child == 0:
    print(work(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@needs_library
def test_the_library_works_on_the_package_s_threads_in_a_forked_child_too() -> None:
    done = _run(THREADS, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    own_threads, first, after_fork = done.stdout.split()
    assert first == after_fork == "1024.0", done.stderr
    assert own_threads == "True" or library.version() != (3, 2, 0)  # the wheel's; other builds may have another OpenMP


@needs_library
def test_teams_of_more_threads_than_processors_meet_at_barriers(own: Any) -> None:
    """Gradients of weights are summed by several threads that wait for each other."""
    x, w, before = _values(1, 3, 3, 12, 12), _values(2, 16, 3, 7, 7).requires_grad_(), torch.get_num_threads()

    def gradient() -> Any:
        return torch.autograd.grad(F.conv2d(x, w, stride=2, padding=3).square().sum(), w)[0]

    want = own(gradient)
    try:
        torch.set_num_threads(5)
        for _ in range(30):
            got = gradient()
            scale = float(want.abs().max())
            assert float((got - want).abs().max()) <= CONFIDENCE * 2 * (108 + 147) * UNIT[torch.float32] * scale
    finally:
        torch.set_num_threads(before)
