"""The CPU generator against recorded PyTorch answers.

The answers come from scripts/oracle/record_generator.py.  They are compared
exactly, except where float64 results go through log, tan, exp, sin or cos in
bulk: numpy picks those routines by processor, and they may differ from the C
library's in the last bit.
"""

from __future__ import annotations

import copy
import hashlib
import json
import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mindtorch_v2._backends.cpu import generator

DATA = np.load(pathlib.Path(__file__).parent / "data" / "generator.npz")
LISTING = json.loads(str(DATA["listing"]))
LIBRARY_MATH = ("normal", "strided_normal", "exponential", "cauchy", "log_normal")

Gen = generator.CPUGenerator


def _weights(a: dict[str, Any]) -> Any:
    rows, columns = a["size"]
    values = (np.arange(rows * columns) * 37) % 11 + a.get("add", 1)
    dtype = "float32" if a["dtype"] == "bfloat16" else a["dtype"]
    return (values.reshape(rows, columns) / 16.0).astype(dtype)


def _bernoulli_array(gen: Gen, a: dict[str, Any]) -> Any:
    p = np.linspace(0, 1, a["count"])
    if a["p_dtype"] == "bfloat16":
        bits = p.astype(np.float32).view(np.uint32)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
        return gen.bernoulli_array(bits.view(np.float32), a["dtype"])
    return gen.bernoulli_array(p.astype(a["p_dtype"]), a["dtype"])


def _dropout(gen: Gen, a: dict[str, Any]) -> Any:
    keep = 1 - a["p"]
    mask = gen.bernoulli_scalar(a["shape"], np.float32, keep)
    return mask / np.float32(keep)


def _arrays_normal(gen: Gen, a: dict[str, Any]) -> Any:
    size = a["shape"]
    mean = _linspace32(-3, 3, size)
    return gen.normal(size) * _linspace32(0, 2, size) + mean


def _linspace32(start: float, stop: float, count: int) -> Any:
    """PyTorch's float32 linspace: built from both ends towards the middle."""
    step = np.float32((stop - start) / (count - 1))
    index = np.arange(count)
    rising = index.astype(np.float64) * step + start
    falling = stop - (count - 1 - index).astype(np.float64) * step
    return np.where(index < count // 2, rising, falling).astype(np.float32)


def _multinomial(gen: Gen, a: dict[str, Any]) -> Any:
    kind = "bfloat16" if a["dtype"] == "bfloat16" else None
    return gen.multinomial(_weights(a), a["n"], a["replacement"], kind)


def _seed(gen: Gen, a: dict[str, Any]) -> Any:
    gen.manual_seed(a["seed"])
    return np.array(gen.initial_seed() % 2**63)


SPECIAL: dict[str, Callable[[Gen, dict[str, Any]], Any]] = {
    "bernoulli_array": _bernoulli_array,
    "dropout": _dropout,
    "arrays_normal": _arrays_normal,
    "multinomial": _multinomial,
    "seed": _seed,
    "strided_normal": lambda gen, a: gen.normal(**a, contiguous=False),
}


def _ask(gen: Gen, step: list[Any]) -> Any:
    operation, arguments = step
    if operation in SPECIAL:
        return SPECIAL[operation](gen, arguments)
    return getattr(gen, operation)(**arguments)


def _compare(got: Any, want: Any, operation: str, label: str) -> None:
    assert got.shape == want.shape and got.dtype == want.dtype, label
    assert got.flags.c_contiguous and got.flags.writeable, label
    if operation in LIBRARY_MATH and want.dtype in (np.float64, np.complex128):
        np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-15, err_msg=label)
    else:
        np.testing.assert_array_equal(got, want, err_msg=label)


@pytest.mark.filterwarnings("ignore:.*out of bounds:UserWarning")
@pytest.mark.parametrize("case", LISTING["cases"], ids=lambda case: case["name"])
def test_numbers_and_state(case: dict[str, Any]) -> None:
    gen = Gen(7)
    for index, step in enumerate(case["steps"]):
        want = DATA[f"{case['name']}/{index}"]
        _compare(_ask(gen, step), want, step[0], f"{case['name']}/{index} {step}")
    state = gen.get_state()
    assert hashlib.sha256(state[:5016].tobytes()).hexdigest() == case["words"]
    tail = DATA[f"{case['name']}/tail"]
    np.testing.assert_array_equal(state[5040:], tail[24:])
    np.testing.assert_allclose(state[5016:5040].view(np.float64), tail[:24].view(np.float64), rtol=1e-14)


@pytest.mark.parametrize("entry", LISTING["errors"], ids=lambda e: f"{e['step']}")
def test_error_texts(entry: dict[str, Any]) -> None:
    with pytest.raises(Exception) as caught:
        _ask(Gen(), entry["step"])
    assert (type(caught.value).__name__, str(caught.value)) == (entry["type"], entry["text"])


def test_bad_probability_array() -> None:
    with pytest.raises(RuntimeError, match="Expected p_in >= 0 && p_in <= 1"):
        Gen().bernoulli_array(np.array([2.0, 0.5]))
    with pytest.raises(NotImplementedError, match="bernoulli_tensor_cpu_p_"):
        Gen().bernoulli_array(np.array([1, 0]))


def test_inexact_bounds_warn() -> None:
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^11\), 2\^11\]"):
        Gen().random_int(3, np.float16, 0, 3000)


def test_state_saved_by_pytorch_continues() -> None:
    gen = Gen()
    assert gen.set_state(DATA["saved/state"]) is gen
    assert gen.initial_seed() == 99
    np.testing.assert_array_equal(gen.get_state(), DATA["saved/state"])
    np.testing.assert_array_equal(gen.normal(4), DATA["saved/normal"])
    np.testing.assert_array_equal(gen.uniform(700), DATA["saved/uniform"])


def test_state_saved_here_is_pytorchs() -> None:
    gen = Gen(99)
    gen.normal(301)
    gen.normal(3)
    state = gen.get_state()
    assert state.shape == (generator.STATE_BYTES,) and state.dtype == np.uint8
    np.testing.assert_array_equal(state, DATA["saved/state"])


@pytest.mark.parametrize("drawn", [0, 1, 623, 624, 625, 5000])
def test_state_round_trip(drawn: int) -> None:
    gen = Gen(3)
    gen.uniform(drawn)
    gen.normal(3)
    state = gen.get_state()
    ahead = [gen.normal(3), gen.uniform(2000), gen.normal(18), gen.get_state()]
    for other in (Gen().set_state(state), gen.set_state(state)):
        again = [other.normal(3), other.uniform(2000), other.normal(18)]
        for got, want in zip([*again, other.get_state()], ahead):
            np.testing.assert_array_equal(got, want)


def test_saved_state_does_not_follow_the_generator() -> None:
    gen = Gen(3)
    state = gen.get_state()
    kept = state.copy()
    gen.uniform(1000)
    np.testing.assert_array_equal(state, kept)


def test_float_normal_of_a_foreign_state_is_kept() -> None:
    state = Gen(5).get_state()
    state[5048:5052] = np.frombuffer(np.float32(1.5).tobytes(), dtype=np.uint8)
    state[5052] = 1
    np.testing.assert_array_equal(Gen().set_state(state).get_state(), state)


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (
            lambda good: np.zeros(10, np.uint8),
            RuntimeError,
            ("Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to be 10"),
        ),
        (lambda good: np.zeros(5056, np.float32), TypeError, "RNG state must be a torch.ByteTensor"),
        (lambda good: 3, TypeError, "expected a torch.ByteTensor, but got int"),
        (lambda good: good * np.uint8(0), RuntimeError, "Invalid mt19937 state"),
    ],
)
def test_bad_states(make: Any, kind: type[Exception], text: str) -> None:
    gen = Gen(4)
    before = gen.get_state()
    with pytest.raises(kind) as caught:
        gen.set_state(make(before))
    assert str(caught.value) == text
    np.testing.assert_array_equal(gen.get_state(), before)


def test_copies_are_independent() -> None:
    gen = Gen(8)
    gen.normal(3)
    copies = [gen.clone_state(), copy.deepcopy(gen), pickle.loads(pickle.dumps(gen))]
    want = gen.normal(5)
    for copied in copies:
        assert type(copied) is Gen and copied.initial_seed() == 8
        np.testing.assert_array_equal(copied.normal(5), want)


def test_seeds() -> None:
    assert Gen().initial_seed() == generator.DEFAULT_SEED == 67280421310721
    assert Gen().manual_seed(2**64 - 1).initial_seed() == 2**64 - 1
    assert Gen().manual_seed(-(2**63)).initial_seed() == 2**63
    assert Gen().manual_seed(np.int32(5)).initial_seed() == 5
    gen = Gen()
    first = gen.seed()
    assert gen.initial_seed() == first != gen.seed()


def test_results_do_not_share_memory() -> None:
    gen = Gen(6)
    first = gen.random_int(4, np.uint32, 0, 2**20)
    kept = first.copy()
    before = gen.get_state()
    first[:] = 0
    np.testing.assert_array_equal(gen.get_state(), before)
    again = Gen(6).random_int(4, np.uint32, 0, 2**20)
    np.testing.assert_array_equal(again, kept)


def test_long_results_equal_short_ones_joined() -> None:
    size = 100_003  # several pieces of the chunked fill
    draws: list[Callable[[Gen, int], Any]] = [
        lambda gen, n: gen.uniform(n),
        lambda gen, n: gen.uniform(n, np.float64, -1, 2),
        lambda gen, n: gen.random_int(n, np.int64, 0, 2**40),
        lambda gen, n: gen.exponential(n, np.float64),
        lambda gen, n: gen.normal(n, np.float32, contiguous=False),
    ]
    for draw in draws:
        whole, parts = Gen(1), Gen(1)
        joined = np.concatenate([draw(parts, n) for n in (7, 50_000, size - 50_007)])
        np.testing.assert_array_equal(draw(whole, size), joined)


def test_long_permutation_is_the_swapping_loop() -> None:
    size = 3000
    words = Gen(2).random_full(size, np.int32)  # consumes one word each
    order = list(range(size))
    gen = Gen(2)
    raw = gen.words(size - 1).astype(np.int64)
    for index in range(size - 1):
        other = index + int(raw[index]) % (size - index)
        order[index], order[other] = order[other], order[index]
    np.testing.assert_array_equal(raw[:10] & 0x7FFFFFFF, words[:10])
    np.testing.assert_array_equal(Gen(2).permutation(size), order)
