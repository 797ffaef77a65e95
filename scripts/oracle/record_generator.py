"""Records what PyTorch 2.13's CPU generator answers, for the generator tests.

Run with torch installed (on a processor that is not Intel's, see
``mindtorch_v2._backends.cpu.generator``)::

    python scripts/oracle/record_generator.py

writes tests/mindtorch_v2/backends/data/generator.npz.  A case is a seed and a
list of steps ``[operation, arguments]`` drawn from one generator; the steps
are stored beside the answers, so the tests replay exactly what was asked.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import warnings
from typing import Any

import numpy as np
import torch

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/mindtorch_v2/backends/data/generator.npz"
Step = tuple[str, dict[str, Any]]
FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTS = ["uint8", "int8", "int16", "int32", "int64"]


def _empty(a: dict[str, Any]) -> torch.Tensor:
    return torch.empty(a["shape"], dtype=getattr(torch, a["dtype"]))


def _weights(a: dict[str, Any]) -> torch.Tensor:
    rows, columns = a["size"]
    values = (np.arange(rows * columns) * 37) % 11 + a.get("add", 1)
    table = torch.tensor(values.reshape(rows, columns) / 16.0)
    return table.to(getattr(torch, a["dtype"]))


def _probabilities(a: dict[str, Any]) -> torch.Tensor:
    return torch.linspace(0, 1, a["count"], dtype=torch.float64).to(getattr(torch, a["p_dtype"]))


def _dropout(a: dict[str, Any], gen: torch.Generator) -> torch.Tensor:
    saved = torch.get_rng_state()
    torch.set_rng_state(gen.get_state())
    source = torch.ones(a["shape"], requires_grad=a["grad"])
    result = torch.nn.functional.dropout(source, a["p"], training=True).detach()
    gen.set_state(torch.get_rng_state())
    torch.set_rng_state(saved)
    return result


def _strided_normal(a: dict[str, Any], gen: torch.Generator) -> torch.Tensor:
    column = torch.zeros(a["shape"], 2, dtype=getattr(torch, a["dtype"]))[:, 0]
    return column.normal_(a["mean"], a["std"], generator=gen)


def _arrays_normal(a: dict[str, Any], gen: torch.Generator) -> torch.Tensor:
    mean = torch.linspace(-3, 3, a["shape"])
    return torch.normal(mean, torch.linspace(0, 2, a["shape"]), generator=gen)


def _random_int(a: dict[str, Any], gen: torch.Generator) -> torch.Tensor:
    if a["dtype"] in ("uint16", "uint32", "uint64"):
        size = [a["shape"]]
        dtype = getattr(torch, a["dtype"])
        return torch.randint(a["low"], a["high"], size, dtype=dtype, generator=gen)
    return _empty(a).random_(a["low"], a["high"], generator=gen)


ACTIONS: dict[str, Any] = {
    "uniform": lambda a, g: (
        _empty(a).uniform_(a["low"], a["high"], generator=g)
        if not a["dtype"].startswith("complex")
        else torch.rand(a["shape"], dtype=getattr(torch, a["dtype"]), generator=g)
    ),
    "normal": lambda a, g: _empty(a).normal_(a["mean"], a["std"], generator=g),
    "strided_normal": _strided_normal,
    "arrays_normal": _arrays_normal,
    "random_int": _random_int,
    "random_full": lambda a, g: _empty(a).random_(generator=g),
    "permutation": lambda a, g: torch.randperm(a["n"], dtype=getattr(torch, a["dtype"]), generator=g),
    "bernoulli_scalar": lambda a, g: _empty(a).bernoulli_(a["p"], generator=g),
    "bernoulli_array": lambda a, g: torch.empty(a["count"], dtype=getattr(torch, a["dtype"])).bernoulli_(
        _probabilities(a), generator=g
    ),
    "dropout": _dropout,
    "exponential": lambda a, g: _empty(a).exponential_(a["lambd"], generator=g),
    "geometric": lambda a, g: _empty(a).geometric_(a["p"], generator=g),
    "cauchy": lambda a, g: _empty(a).cauchy_(a["median"], a["sigma"], generator=g),
    "log_normal": lambda a, g: _empty(a).log_normal_(a["mean"], a["std"], generator=g),
    "multinomial": lambda a, g: torch.multinomial(_weights(a), a["n"], a["replacement"], generator=g),
    "seed": lambda a, g: torch.tensor(g.manual_seed(a["seed"]).initial_seed() % 2**63),
}


def _each(name: str, dtypes: list[str], **arguments: Any) -> list[Step]:
    return [(name, dict(arguments, dtype=dtype)) for dtype in dtypes]


def _real_cases() -> dict[str, list[Step]]:
    unit, ms = {"low": 0, "high": 1}, {"mean": 1.3, "std": 2.7}
    std = {"mean": 0, "std": 1}
    cases = {
        "uniform_unit": _each("uniform", FLOATS, shape=1500, **unit)
        + _each("uniform", ["complex64", "complex128"], shape=20, **unit),
        "uniform_range": _each("uniform", FLOATS, shape=700, low=-1.3, high=2.7),
        "uniform_narrow": _each("uniform", FLOATS, shape=300, low=1, high=1.00000024)
        + _each("uniform", FLOATS, shape=300, low=1, high=1.01),
        "uniform_long": _each("uniform", ["float32"], shape=2, **unit)
        + _each("uniform", ["float64"], shape=[41, 25], low=-1e3, high=1e4),
    }
    for size in (0, 1, 2, 5, 15, 16, 17, 31, 32, 100, 1000):
        cases[f"normal_{size}"] = _each("normal", FLOATS, shape=size, **std) + _each("normal", FLOATS, shape=size, **ms)
    for size in (3, 7, 8, 21):
        cases[f"normal_complex_{size}"] = _each("normal", ["complex64", "complex128"], shape=size, mean=0.5, std=2)
    cases["normal_strided"] = _each("strided_normal", FLOATS, shape=37, **ms)
    cases["normal_arrays"] = [("arrays_normal", {"shape": n}) for n in (3, 40, 21)]
    cases["exponential"] = _each("exponential", FLOATS, shape=333, lambd=2.5)
    cases["cauchy"] = _each("cauchy", FLOATS, shape=333, median=1.3, sigma=2.7)
    cases["log_normal"] = _each("log_normal", FLOATS, shape=333, mean=1.3, std=0.7)
    cases["geometric"] = _each("geometric", FLOATS + INTS, shape=333, p=0.3)
    return cases


def _integer_cases() -> dict[str, list[Step]]:
    every = INTS + FLOATS + ["bool"]
    cases = {"random_full": _each("random_full", every, shape=300)}
    unsigned = ["uint16", "uint32", "uint64"]
    cases["random_small"] = _each("random_int", INTS + FLOATS + unsigned, shape=100, low=3, high=90) + _each(
        "random_int", ["bool"], shape=100, low=0, high=2
    )
    for power in (27, 28, 29, 31, 32, 33, 62):
        cases[f"random_wide_{power}"] = [
            ("random_int", {"shape": 40, "dtype": "int64", "low": -4, "high": 2**power - 4 + d}) for d in (-1, 0, 1)
        ]
    cases["random_open"] = _each("random_int", INTS, shape=60, low=5, high=None)
    cases["random_open"] += _each("random_int", FLOATS, shape=60, low=-3, high=None)
    least = -(2**63)
    cases["random_ends"] = [
        ("random_int", {"shape": 40, "dtype": "int64", "low": low, "high": high})
        for low, high in ((least, None), (least, 2**63 - 1), (2**62, 2**63 - 1))
    ]
    wide = ["float32", "float64", "bfloat16"]
    cases["random_ends"] += _each("random_int", wide, shape=40, low=least, high=None)
    bounds = [(0, 3000), (2049, 8191), (257, 1001), (-1001, 999), (-5001, -2051)]
    cases["random_inexact"] = [
        ("random_int", {"shape": 60, "dtype": dtype, "low": low, "high": high})
        for dtype in ("float16", "bfloat16")
        for low, high in bounds
    ]
    cases["permutation"] = _each("permutation", INTS + FLOATS, n=50)
    cases["permutation"] += [("permutation", {"n": n, "dtype": "int64"}) for n in (0, 1, 2, 100, 101, 2500)]
    return cases


def _choice_cases() -> dict[str, list[Step]]:
    every = INTS + FLOATS + ["bool"]
    cases: dict[str, list[Step]] = {"bernoulli_scalar": [], "bernoulli_array": []}
    for p in (0.3, 0.0, 1.0):
        cases["bernoulli_scalar"] += _each("bernoulli_scalar", every, shape=50, p=p)
    for given in FLOATS:
        cases["bernoulli_array"] += _each("bernoulli_array", every, count=50, p_dtype=given)
    cases["dropout"] = [
        ("dropout", {"shape": [30, 10], "p": p, "grad": grad}) for p in (0.3, 0.5) for grad in (False, True)
    ]
    for dtype in ["float32", "float64", "float16"]:
        cases[f"multinomial_{dtype}"] = [
            ("multinomial", {"size": size, "dtype": dtype, "n": n, "replacement": replacement})
            for size in ([1, 7], [3, 40])
            for n, replacement in ((1, False), (1, True), (5, True), (300, True))
        ]
    cases["multinomial_bfloat16"] = [
        ("multinomial", {"size": [3, 9], "dtype": "bfloat16", "n": 50, "replacement": True})
    ]
    cases["multinomial_order"] = [
        ("multinomial", {"size": [4, 30], "dtype": dtype, "n": n, "replacement": False})
        for dtype in ("float32", "float64")
        for n in (2, 30)
    ]
    cases["multinomial_zeros"] = [
        ("multinomial", {"size": [2, 22], "add": 0, "dtype": "float32", "n": n, "replacement": r})
        for n, r in ((200, True), (20, False))
    ]
    return cases


def _mixed_cases() -> dict[str, list[Step]]:
    def n(shape: int, dtype: str = "float32") -> Step:
        return ("normal", {"shape": shape, "dtype": dtype, "mean": 0, "std": 1})

    u: Step = ("uniform", {"shape": 3, "dtype": "float32", "low": 0, "high": 1})
    log: Step = ("log_normal", {"shape": 3, "dtype": "float32", "mean": 1, "std": 2})
    mixed = [n(3), n(20), u, n(2, "float64"), log, n(1, "float16"), u, n(33), n(5)]
    mixed += [n(4, "float64"), ("random_int", {"shape": 2, "dtype": "int64", "low": 0, "high": 9})]
    cases = {"mixed": mixed, "mixed_seeded": [n(3), ("seed", {"seed": 11}), n(3), u]}
    for seed in (0, 1, -1, 2**32 + 7, 2**63 - 1, -(2**63)):
        cases[f"seed_{seed}"] = [("seed", {"seed": seed}), u, n(16)]
    for start in (622, 623, 624, 625, 1248):
        first: Step = ("random_full", {"shape": start, "dtype": "int32"})
        wide: Step = ("random_full", {"shape": 3, "dtype": "int64"})
        cases[f"edge_{start}"] = [first, wide, u]
    return cases


def _refused_draws() -> list[Step]:
    i = "int64"
    return [
        ("uniform", {"low": 2, "high": 1}),
        ("uniform", {"low": 0, "high": 1, "dtype": i}),
        ("uniform", {"low": 0, "high": 1e39}),
        ("uniform", {"low": 0, "high": 1e6, "dtype": "float16"}),
        ("uniform", {"low": -3e38, "high": 3e38}),
        ("normal", {"mean": 0, "std": -1}),
        ("normal", {"mean": 0, "std": 1, "dtype": i}),
        ("bernoulli_scalar", {"p": 1.5}),
        ("bernoulli_scalar", {"p": -0.1}),
        ("exponential", {"lambd": 0}),
        ("exponential", {"lambd": 1, "dtype": i}),
        ("geometric", {"p": 0}),
        ("geometric", {"p": 1}),
        ("geometric", {"p": 0.5, "dtype": "bool"}),
        ("cauchy", {"median": 0, "sigma": 0}),
        ("cauchy", {"median": 0, "sigma": 1, "dtype": i}),
        ("log_normal", {"mean": 1, "std": 0}),
        ("log_normal", {"mean": 1, "std": 1, "dtype": i}),
        ("random_int", {"low": 5, "high": 5}),
        ("random_int", {"low": -1, "high": 5, "dtype": "uint8"}),
        ("random_int", {"low": -1, "high": None, "dtype": "uint8"}),
        ("random_int", {"low": -(2**63), "high": None, "dtype": "int32"}),
        ("random_int", {"low": -(2**63), "high": None, "dtype": "float16"}),
        ("random_full", {"dtype": "uint16"}),
        ("random_full", {"dtype": "complex64"}),
    ]


def _errors() -> list[Step]:
    f, i = "float32", "int64"
    base = _refused_draws()
    for dtype, high in [("uint8", 257), ("int8", 129), ("int16", 2**16), ("bool", 3)]:
        base.append(("random_int", {"low": 0, "high": high, "dtype": dtype}))
    base.append(("random_int", {"low": 0, "high": 2**40, "dtype": "int32"}))
    base.append(("random_int", {"low": 0, "high": 2**20, "dtype": "float16"}))
    steps = [(op, {"shape": 3, "dtype": f, **a}) for op, a in base]
    for n, dtype in ((300, "uint8"), (200, "int8"), (3000, "float16"), (3, "bool")):
        steps.append(("permutation", {"n": n, "dtype": dtype}))
    steps.append(("permutation", {"n": -1, "dtype": i}))
    for n, replacement, add in ((0, False, 1), (9, False, 1), (1, False, -3), (4, True, -3)):
        a = {"size": [1, 7], "add": add, "dtype": f, "n": n, "replacement": replacement}
        steps.append(("multinomial", a))
    steps.append(("multinomial", {"size": [1, 7], "dtype": i, "n": 1, "replacement": True}))
    zero = {"size": [1, 1], "add": 0, "dtype": f}
    steps.append(("multinomial", dict(zero, n=1, replacement=False)))
    steps.append(("multinomial", dict(zero, n=3, replacement=True)))
    return steps + [("seed", {"seed": s}) for s in (2**64, -(2**63) - 1, 1.5, "a", True)]


def _plain(result: torch.Tensor) -> np.ndarray[Any, Any]:
    if result.dtype == torch.bfloat16:
        result = result.float()
    return np.array(result.numpy())


def _run_case(name: str, steps: list[Step], arrays: dict[str, Any]) -> dict[str, Any]:
    gen = torch.Generator().manual_seed(7)
    for index, (operation, arguments) in enumerate(steps):
        arrays[f"{name}/{index}"] = _plain(ACTIONS[operation](arguments, gen))
    state = gen.get_state().numpy()
    arrays[f"{name}/tail"] = state[5016:].copy()
    words = hashlib.sha256(state[:5016].tobytes()).hexdigest()
    return {"name": name, "steps": steps, "words": words}


def _run_error(step: Step) -> dict[str, Any]:
    try:
        ACTIONS[step[0]](step[1], torch.Generator())
    except Exception as problem:  # noqa: BLE001 - whatever PyTorch raises is the answer
        return {"step": step, "type": type(problem).__name__, "text": str(problem)}
    raise AssertionError(f"PyTorch accepts {step}")


def _saved_state(arrays: dict[str, Any]) -> None:
    gen = torch.Generator().manual_seed(99)
    torch.randn(301, generator=gen)
    torch.randn(3, generator=gen)
    arrays["saved/state"] = gen.get_state().numpy().copy()
    arrays["saved/normal"] = torch.randn(4, generator=gen).numpy()
    arrays["saved/uniform"] = torch.rand(700, generator=gen).numpy()


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    arrays: dict[str, Any] = {}
    cases = {**_real_cases(), **_integer_cases(), **_choice_cases(), **_mixed_cases()}
    listing = {
        "torch": torch.__version__,
        "cases": [_run_case(name, steps, arrays) for name, steps in cases.items()],
        "errors": [_run_error(step) for step in _errors()],
    }
    _saved_state(arrays)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(OUT, listing=np.array(json.dumps(listing)), **arrays)
    print(f"{len(cases)} cases, {len(listing['errors'])} errors, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
