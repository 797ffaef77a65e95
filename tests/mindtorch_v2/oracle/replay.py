"""The oracle cases as material for other tests: run again in float64, or on another device."""

from __future__ import annotations

import importlib
import pathlib
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import harness

FAMILIES = sorted(p.stem.removeprefix("cases_") for p in pathlib.Path(__file__).parent.glob("cases_*.py"))
_DOUBLE = {"float16": "float64", "float32": "float64", "complex64": "complex128"}


def cases_of(family: str) -> Iterator[tuple[harness.Case, dict[str, Any]]]:
    """(case, recorded answer) of every recorded case of a family."""
    answers = harness.load(family)
    for case in importlib.import_module(f"{__package__}.cases_{family}").CASES:
        if case.id in answers:
            yield case, answers[case.id]


def all_cases() -> Iterator[tuple[str, harness.Case, dict[str, Any]]]:
    """(family, case, recorded answer) of every recorded case."""
    for family in FAMILIES:
        for case, answer in cases_of(family):
            yield family, case, answer


def seed_of(case: harness.Case) -> int:
    return zlib.crc32(case.id.encode())


def inputs_of(torch: Any, case: harness.Case, double: bool = False) -> dict[str, Any]:
    """The case's inputs; `double` widens floating and complex ones."""
    made = {}
    for i, (name, spec) in enumerate(case.inputs.items()):
        array = spec.array(seed_of(case) + i)
        if double:
            array = array.astype(_DOUBLE.get(str(array.dtype), array.dtype))
        kind = spec.dtype if spec.dtype == "bfloat16" and not double else str(array.dtype)
        plain = harness.In(array.shape, kind, grad=spec.grad, layout=spec.layout, values=array)
        made[name] = harness._tensor(torch, plain, 0, case.grad)
    return made


def run(torch: Any, case: harness.Case, names: dict[str, Any]) -> Any:
    """The value of the case's expression over the given inputs, with the generator in the state that the case starts
    from.
    """
    torch.manual_seed(seed_of(case))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return harness._run(torch, case.code, dict(names))


def tensors_in(torch: Any, value: Any) -> list[Any]:
    """The tensors in nested lists, tuples and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in tensors_in(torch, v)] if isinstance(value, (list, tuple)) else []


@contextmanager
def default_dtype(torch: Any, dtype: Any) -> Iterator[None]:
    """Floating literals and factories make tensors of this type inside."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
