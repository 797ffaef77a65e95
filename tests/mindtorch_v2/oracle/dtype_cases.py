"""What is asked about element types, of PyTorch (to record) and of this package (to compare)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

NAMES = (
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
    "bool",
    "bfloat16",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e5m2fnuz",
    "float8_e4m3fnuz",
    "uint16",
    "uint32",
    "uint64",
    "float8_e8m0fnu",
)
NARROW = ("float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu")
# Numbers around every rounding and limit of the short types.
NUMBERS = sorted(
    {
        sign * base * scale
        for sign in (1.0, -1.0)
        for scale in (2.0**k for k in (*range(-40, -1, 3), 0, 1, 4, 7, 8, 14, 15, 16, 40, 127))
        for base in (0.0, 1.0, 1 + 2**-3, 1 + 2**-4, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11, 1.75, 1.875, 1.999)
    }
)
NUMBERS += [
    447.0,
    448.0,
    464.0,
    465.0,
    1e4,
    57344.0,
    61440.0,
    65504.0,
    65519.0,
    65520.0,
    3.4e38,
    float("inf"),
    float("-inf"),
    float("nan"),
]


def _answer(ask: Callable[[], Any]) -> Any:
    try:
        found = ask()
    except Exception as error:  # noqa: BLE001 - the error is the answer
        return f"{type(error).__name__}: {error}"
    return found if isinstance(found, (bool, int, float, list)) else str(found)


def _limits(info: Any) -> list[Any]:
    return [
        getattr(info, name, None)
        for name in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")
    ]


def answers(torch: Any) -> dict[str, dict[str, Any]]:
    """Question -> answer, by topic."""
    kinds = {name: getattr(torch, name) for name in NAMES}
    pairs = [(f"{a} {b}", kinds[a], kinds[b]) for a, b in itertools.product(NAMES, NAMES)]
    numbers = torch.tensor(NUMBERS, dtype=torch.float64)
    return {
        "promote": {key: _answer(lambda a=a, b=b: torch.promote_types(a, b)) for key, a, b in pairs},
        "can_cast": {key: _answer(lambda a=a, b=b: torch.can_cast(a, b)) for key, a, b in pairs},
        "result": {
            key: _answer(lambda a=a, b=b: torch.result_type(torch.zeros(2, dtype=a), torch.zeros((), dtype=b)))
            for key, a, b in pairs
        },
        "number": {
            f"{name} {value}": _answer(lambda k=kind, v=value: torch.result_type(torch.zeros(2, dtype=k), v))
            for name, kind in kinds.items()
            for value in (True, 2, 1.5, 1j)
        },
        "float_limits": {name: _answer(lambda k=kind: _limits(torch.finfo(k))) for name, kind in kinds.items()},
        "integer_limits": {name: _answer(lambda k=kind: _limits(torch.iinfo(k))) for name, kind in kinds.items()},
        "facts": {
            name: [
                kind.itemsize,
                kind.is_signed,
                kind.is_floating_point,
                kind.is_complex,
                str(kind),
                str(kind.to_real()),
                _answer(kind.to_complex),
            ]
            for name, kind in kinds.items()
        },
        "casts": {
            name: [repr(x) for x in numbers.float().to(kinds[name]).to(torch.float64).tolist()] for name in NARROW
        },
        "casts_of_doubles": {
            name: [repr(x) for x in numbers.to(kinds[name]).to(torch.float64).tolist()] for name in NARROW
        },
        "type_names": {name: _answer(lambda k=kind: torch.zeros(1, dtype=k).type()) for name, kind in kinds.items()},
        "shown": {name: _answer(lambda k=kind: repr(torch.tensor([1, 2, 4, 8]).to(k))) for name, kind in kinds.items()},
        "to_numpy": {
            name: _answer(lambda k=kind: str(torch.ones(2, dtype=k).numpy().dtype)) for name, kind in kinds.items()
        },
    }
