"""Records small samples of PyTorch's operator tables (OpInfo) with its answers. Needs torch==2.13.0 and expecttest.

    python scripts/oracle/record_opinfo.py

Of every operator the smallest samples are taken: MOST of float32, one each of the other types. Left out are tables
that test a function written in the table itself, and samples that are large or cannot be written down.
"""

from __future__ import annotations

import pathlib
import sys
import warnings
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "mindtorch_v2"))

import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from oracle import opinfo  # noqa: E402

TYPES = {torch.float32: 3, torch.complex64: 1, torch.int64: 1, torch.bool: 1}
NUMBERS = 70  # at most so many in the inputs and results of one sample


def path_of(op: Any) -> str | None:
    """Where a program finds the operator; None if the table calls something of its own."""
    name = getattr(op.op, "__name__", op.name)
    for path in (op.name, f"Tensor.{op.name}", f"Tensor.{name}", f"ops.aten.{op.name}"):
        if opinfo.find(torch, path) is op.op:
            return path
    return None


def sample(path: str, given: Any) -> list[Any] | None:
    """One sample and its answers; None if it is too large, fails or cannot be written down."""
    try:
        args = [opinfo.encode(torch, v) for v in (given.input, *given.args)]
        named = {k: opinfo.encode(torch, v) for k, v in given.kwargs.items()}
        outputs, gradients = opinfo.run(torch, path, args, named)
        made = [
            path,
            args,
            named,
            *([None if t is None else opinfo.encode(torch, t) for t in ts] for ts in (outputs, gradients)),
        ]
    except (TypeError, RuntimeError, NotImplementedError, IndexError, ValueError):
        return None
    for t in (*made[3], *made[4]):
        if t is not None:
            t.pop("g", None)
    return made if count(made) <= NUMBERS and outputs else None


def count(value: Any) -> int:
    if isinstance(value, dict):
        return len(value["v"]) if value.get("@") == "t" else sum(map(count, value.values()))
    return sum(map(count, value)) if isinstance(value, list) else 0


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    samples: dict[str, list[Any]] = {}
    for op in op_db:
        path = path_of(op)
        if path is None:
            continue
        for kind, most in TYPES.items():
            if kind not in op.dtypes:
                continue
            grad = op.supports_autograd and kind in op.backward_dtypes and (kind.is_floating_point or kind.is_complex)
            made = [sample(path, s) for s in op.sample_inputs("cpu", kind, requires_grad=grad)]
            fitting = [m for m in made if m is not None and count(m)]
            samples.setdefault(op.full_name if hasattr(op, "full_name") else op.name, []).extend(
                sorted(fitting, key=count)[-most:]
            )
    samples = {name: found for name, found in samples.items() if found}
    opinfo.store(samples)
    print(f"{len(samples)} operators, {sum(map(len, samples.values()))} samples, {opinfo.FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
