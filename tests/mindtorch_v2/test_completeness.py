"""Every declared op has a kernel, an output rule, a derivative or a stated reason, and an oracle case."""

from __future__ import annotations

import importlib
import pathlib
import re

import pytest

import mindtorch_v2 as torch  # noqa: F401 - declares all ops
from mindtorch_v2._dispatch import families, registry
from mindtorch_v2._ops import table

OPS = [op for op in table.all_ops() if op.inplace_of is None]
for _op in OPS:
    families.load_family(_op.family)


def _differentiable_output(op) -> bool:
    return any(r.startswith("Tensor") for r in op.schema.returns) and not (
        op.rule is not None and op.rule.out == "bool"
    )


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_declared_ops_are_implemented(op):
    composite = op.name in registry.COMPOSITES
    assert composite or op.name in registry.KERNELS, "neither a CPU kernel nor a composite"
    if composite:
        return
    if not op.writes and not op.is_view and op.schema.returns[0].startswith("Tensor"):
        assert op.meta is not None or (op.rule is not None and op.rule.elementwise), (
            "no output rule for the meta device"
        )
    takes_tensors = any(p.is_tensor for p in op.schema.params)
    if takes_tensors and _differentiable_output(op):
        assert op.derivative is not None or op.no_grad, "neither a derivative nor the reason why there is none"


def test_registered_kernels_belong_to_declared_ops():
    names = set(registry.KERNELS) | set(registry.COMPOSITES) | set(registry.INPLACE)
    assert not sorted(n for n in names if n not in table.OPS)


def test_every_public_op_has_an_oracle_case():
    folder = pathlib.Path(__file__).parent / "oracle"
    words: set[str] = set()
    for path in folder.glob("cases_*.py"):
        module = importlib.import_module(f"{__package__}.oracle.{path.stem}")
        for case in module.CASES:
            words.update(re.findall(r"[A-Za-z_]\w*", case.code))
    hidden = {op.base for op in OPS if not (op.function or op.method)}
    missing = sorted({op.base for op in OPS if op.base not in hidden} - words - _covered_by_syntax(words))
    assert not missing, f"{len(missing)} public ops without an oracle case: {missing}"


def _covered_by_syntax(words: set[str]) -> set[str]:
    """Ops that cases reach under another name: `linalg_inv` as torch.linalg.inv, operators, namespaced functions."""
    stripped = {
        op.base for op in OPS for prefix in ("linalg_", "special_", "fft_") if op.base.removeprefix(prefix) in words
    }
    return stripped | {op.base for op in OPS if op.base.startswith("__") or op.base.startswith("_")}
