"""Cases that run on PyTorch (to record) and on this package (to compare).

A case is an expression over named inputs. `observe` evaluates it on either implementation and returns plain data:
values, dtypes, shapes, strides, gradients, the name of the grad_fn, or the error. `scripts/oracle/record.py` stores
what PyTorch answers in `data/<family>.json.gz`; the tests compare.
"""

from __future__ import annotations

import gzip
import json
import math
import pathlib
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

DATA = pathlib.Path(__file__).parent / "data"


@dataclass(frozen=True)
class In:
    """A generated input: shape, dtype name, value range, whether it requires a gradient, layout."""

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    low: float = -2.0
    high: float = 2.0
    grad: bool | None = None  # None: yes for floating and complex inputs of a case with grad=True
    layout: str = "contiguous"  # "transposed" (last two dims swapped in memory), "strided" (every second element)
    values: Any = None  # exact values instead of random ones

    def array(self, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        if self.values is not None:
            return np.array(self.values, dtype="float32" if self.dtype == "bfloat16" else self.dtype)
        if self.dtype == "bool":
            return rng.random(self.shape) < 0.5
        if self.dtype.startswith(("int", "uint")):
            return rng.integers(int(self.low), int(self.high) + 1, self.shape).astype(self.dtype)
        real = rng.uniform(self.low, self.high, self.shape)
        if self.dtype.startswith("complex"):
            return (real + 1j * rng.uniform(self.low, self.high, self.shape)).astype(self.dtype)
        # numpy lacks it: cast by who is asked
        return real.astype("float32" if self.dtype == "bfloat16" else self.dtype)


RTOL, ATOL = 2e-5, 2e-6


@dataclass(frozen=True)
class Case:
    """`Case("add", "torch.add(a, b, alpha=2)", a=In((3, 4)), b=In((4,)))`; ids must be unique in a family.

    The expression sees `torch`, `F` (torch.nn.functional), `np` and the inputs. It may be several statements; then
    the last line must be an expression. `rtol`/`atol` loosen the comparison where PyTorch's summation order differs.
    """

    id: str
    code: str
    inputs: dict[str, In] = field(default_factory=dict)
    grad: bool = True
    rtol: float = RTOL
    atol: float = ATOL
    strides: bool = True
    values: bool = True  # False: compare shapes and types only

    def __init__(
        self,
        id: str,
        code: str,
        *,
        grad: bool = True,
        rtol: float = RTOL,
        atol: float = ATOL,
        strides: bool = True,
        values: bool = True,
        **inputs: In,
    ) -> None:
        for name, value in {
            "id": id,
            "code": code,
            "inputs": inputs,
            "grad": grad,
            "rtol": rtol,
            "atol": atol,
            "strides": strides,
            "values": values,
        }.items():
            object.__setattr__(self, name, value)


def _tensor(torch: Any, spec: In, seed: int, case_grad: bool) -> Any:
    array = spec.array(seed)
    if spec.layout == "transposed":
        t = torch.from_numpy(np.ascontiguousarray(array.swapaxes(-1, -2))).transpose(-1, -2)
    elif spec.layout == "strided":
        wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
        wide[..., ::2] = array
        t = torch.from_numpy(wide)[..., ::2]
    else:
        t = torch.from_numpy(array) if array.ndim else torch.from_numpy(array.reshape(1)).reshape(())
    if spec.dtype == "bfloat16":
        t = t.to(torch.bfloat16)
    wants = spec.grad if spec.grad is not None else case_grad and (t.is_floating_point() or t.is_complex())
    return t.detach().requires_grad_() if wants else t


def _run(torch: Any, code: str, names: dict[str, Any]) -> Any:
    space = {"torch": torch, "F": torch.nn.functional, "np": np, "math": math, **names}
    *body, last = code.strip().splitlines()
    if not body and ";" in last:
        *body, last = [s.strip() for s in last.split(";")]
    exec("\n".join(body), space)
    return eval(last, space)


def _plain(torch: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        t = value.detach() if value.layout == torch.strided else value.detach().to_dense()
        if t.is_complex():
            numbers = [[x.real, x.imag] for x in t.reshape(-1).tolist()]
        else:
            numbers = [float(f"{x:.9g}") if isinstance(x, float) else x for x in t.reshape(-1).tolist()]
        return {"shape": list(t.shape), "dtype": str(t.dtype), "stride": list(t.stride()), "data": numbers}
    if isinstance(value, (list, tuple)):
        return [_plain(torch, v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(torch, v) for k, v in value.items()}
    if isinstance(value, complex):
        return [value.real, value.imag]
    return value if isinstance(value, (int, float, bool, str, type(None))) else str(value)


def _tensors(torch: Any, value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _tensors(torch, v)]
    return []


def _cotangent(torch: Any, t: Any, seed: int) -> Any:
    array = np.random.default_rng(seed).uniform(0.5, 1.5, tuple(t.shape))
    return torch.from_numpy(np.array(array)).to(t.dtype)


def observe(torch: Any, case: Case) -> dict[str, Any]:
    """What the implementation answers, as plain data."""
    seed = zlib.crc32(case.id.encode())
    torch.manual_seed(seed)
    names = {n: _tensor(torch, spec, seed + i, case.grad) for i, (n, spec) in enumerate(case.inputs.items())}
    try:
        out = _run(torch, case.code, names)
    except Exception as error:  # noqa: BLE001 - the error is the answer
        return {"error": f"{type(error).__name__}: {error}"}
    answer: dict[str, Any] = {"out": _plain(torch, out)}
    roots = [t for t in _tensors(torch, out) if t.requires_grad and t.grad_fn is not None]
    if case.grad and roots:
        answer["grad_fn"] = [
            type(t.grad_fn).__name__ if not hasattr(t.grad_fn, "name") else t.grad_fn.name().split("::")[-1]
            for t in roots
        ]
        torch.autograd.backward(roots, [_cotangent(torch, t, seed + 77 + i) for i, t in enumerate(roots)])
        answer["grads"] = {
            n: None if t.grad is None else _plain(torch, t.grad)
            for n, t in names.items()
            if t.requires_grad and t.is_leaf
        }
    return answer


def load(family: str) -> dict[str, Any]:
    with gzip.open(DATA / f"{family}.json.gz", "rt") as f:
        return json.load(f)


def store(family: str, answers: dict[str, Any]) -> None:
    text = json.dumps(answers, separators=(",", ":"), sort_keys=True)
    with (
        open(DATA / f"{family}.json.gz", "wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as f,
    ):
        f.write(text.encode())


def _compare_tensor(case: Case, got: dict[str, Any], want: dict[str, Any], where: str) -> None:
    assert got["shape"] == want["shape"], f"{where}: shape {got['shape']}, PyTorch {want['shape']}"
    assert got["dtype"] == want["dtype"], f"{where}: dtype {got['dtype']}, PyTorch {want['dtype']}"
    if case.strides and where.startswith("out"):
        assert got["stride"] == want["stride"], f"{where}: stride {got['stride']}, PyTorch {want['stride']}"
    if not case.values:
        return
    a, b = np.array(got["data"], dtype=float), np.array(want["data"], dtype=float)
    rtol, atol = _tolerance(case, want["dtype"])
    np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=where)


def _tolerance(case: Case, dtype: str) -> tuple[float, float]:
    """Relative and absolute: about 170 units in the last place of single precision, 2 of half precision. Where
    inputs and result are in double precision, what nine recorded digits can tell, unless the case says otherwise.
    """
    if "float16" in dtype:
        return max(case.rtol, 2e-3), max(case.atol, 2e-3)
    is_double = dtype in ("torch.float64", "torch.complex128") and all(
        spec.dtype not in ("float16", "float32", "complex64") for spec in case.inputs.values()
    )
    if is_double and (case.rtol, case.atol) == (RTOL, ATOL):
        return 2e-8, 1e-10
    return case.rtol, case.atol


def compare(case: Case, got: Any, want: Any, where: str = "out") -> None:
    """AssertionError tells the first difference."""
    if isinstance(want, dict) and want.keys() == {"shape", "dtype", "stride", "data"}:
        assert isinstance(got, dict) and "data" in got, f"{where}: got {got!r}, PyTorch a tensor"
        _compare_tensor(case, got, want, where)
    elif isinstance(want, dict):
        assert isinstance(got, dict) and got.keys() == want.keys(), f"{where}: got {got!r}, PyTorch {want!r}"
        for key in want:
            compare(
                case,
                got[key],
                want[key],
                key if where == "out" and key in ("out", "grads", "error", "grad_fn") else f"{where}.{key}",
            )
    elif isinstance(want, list) and not all(isinstance(w, (int, float, str, bool)) for w in want):
        assert isinstance(got, list) and len(got) == len(want), f"{where}: got {got!r}, PyTorch {want!r}"
        for i, (g, w) in enumerate(zip(got, want)):
            compare(case, g, w, f"{where}[{i}]")
    elif isinstance(want, float):
        np.testing.assert_allclose(got, want, rtol=case.rtol, atol=case.atol, err_msg=where)
    elif where == "error":
        assert isinstance(got, str) and got.split("\n")[0] == want.split("\n")[0], (
            f"error: got {got!r}, PyTorch {want!r}"
        )
    else:
        assert got == want, f"{where}: got {got!r}, PyTorch {want!r}"
