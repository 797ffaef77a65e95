"""Samples of PyTorch's operator tables (OpInfo) as plain data: how calls are written down, made again and compared.

A sample is [path of the function below `torch`, arguments, named arguments, outputs, gradients]. Tensors are
dictionaries; so is whatever JSON lacks. `scripts/oracle/record_opinfo.py` writes the file, `test_opinfo.py` reads it.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np

from .harness import DATA

FILE = DATA / "opinfo.json.gz"
SEED = 17


def encode(torch: Any, value: Any) -> Any:
    """A value as JSON; TypeError for what cannot be written down (generators, functions, sparse tensors)."""
    if isinstance(value, torch.Tensor):
        return _encode_tensor(torch, value)
    if isinstance(value, (tuple, list)):
        items = [encode(torch, v) for v in value]
        return items if isinstance(value, list) else {"@": "tuple", "v": items}
    if isinstance(value, slice):
        return {"@": "slice", "v": [value.start, value.stop, value.step]}
    if isinstance(value, complex):
        return {"@": "complex", "v": [value.real, value.imag]}
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return {"@": "torch", "v": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"@": "device", "v": str(value)}
    if value is Ellipsis:
        return {"@": "ellipsis"}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__} cannot be written down")


def _encode_tensor(torch: Any, t: Any) -> dict[str, Any]:
    if t.layout != torch.strided or t.is_quantized:
        raise TypeError("dense tensors only")
    plain = t.detach().resolve_conj().resolve_neg()
    kind = str(t.dtype).removeprefix("torch.")
    wide = plain.to(torch.complex128) if t.is_complex() else plain
    flat = (torch.view_as_real(wide) if t.is_complex() else plain).reshape(-1).tolist()
    made = {
        "@": "t",
        "d": kind,
        "s": list(t.shape),
        "v": [float(f"{x:.9g}") if isinstance(x, float) else x for x in flat],
    }
    if t.requires_grad:
        made["g"] = 1
    return made


def decode(torch: Any, value: Any) -> Any:
    """The value that was written down, in `torch`'s types."""
    if isinstance(value, list):
        return [decode(torch, v) for v in value]
    if not isinstance(value, dict):
        return value
    kind = value["@"]
    if kind == "t":
        t = torch.from_numpy(array(value)).to(getattr(torch, value["d"])).reshape(value["s"])
        return t.requires_grad_() if value.get("g") else t
    if kind == "tuple":
        return tuple(decode(torch, v) for v in value["v"])
    if kind == "ellipsis":
        return Ellipsis
    if kind == "torch":
        return getattr(torch, value["v"])
    return {"slice": lambda v: slice(*v), "complex": lambda v: complex(*v), "device": torch.device}[kind](value["v"])


def array(value: dict[str, Any]) -> np.ndarray:
    """The numbers of a tensor that was written down, flat."""
    kind = value["d"]
    if kind.startswith("complex"):
        return np.array(value["v"], np.float64).reshape(-1, 2).view(np.complex128).reshape(-1)
    if kind == "bool" or kind.startswith(("int", "uint")):
        return np.array(value["v"], kind)
    return np.array(value["v"], np.float64)


def tensors(torch: Any, value: Any) -> list[Any]:
    """The tensors in nested sequences and dictionaries, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for item in items for t in tensors(torch, item)]


def find(torch: Any, path: str) -> Any:
    """The function at a path below `torch`, such as `nn.functional.relu` or `Tensor.add`; None if there is none."""
    found = torch
    for part in path.split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


def run(torch: Any, path: str, args: Any, named: Any) -> tuple[list[Any], list[Any]]:
    """The outputs, and the gradients of the inputs that want one (None: none arrived), of a recorded call."""
    torch.manual_seed(SEED)
    positional, keywords = decode(torch, args), {k: decode(torch, v) for k, v in named.items()}
    outputs = tensors(torch, find(torch, path)(*positional, **keywords))
    roots = [t for t in outputs if t.requires_grad]
    leaves = [t for t in tensors(torch, (positional, keywords)) if t.requires_grad]
    if not roots or not leaves:
        return outputs, []
    seeds = [_cotangent(torch, t, i) for i, t in enumerate(roots)]
    return outputs, list(torch.autograd.grad(roots, leaves, seeds, allow_unused=True))


def _cotangent(torch: Any, t: Any, number: int) -> Any:
    values = np.random.default_rng(SEED + number).uniform(0.5, 1.5, tuple(t.shape))
    return torch.from_numpy(np.array(values)).to(t.dtype)


def load() -> dict[str, list[Any]]:
    """The recorded samples by operator."""
    with gzip.open(FILE, "rt") as f:
        return json.load(f)


def store(samples: dict[str, list[Any]]) -> None:
    text = json.dumps(samples, separators=(",", ":"), sort_keys=True)
    with open(FILE, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as f:
        f.write(text.encode())
