"""Cases of `torch.masked`: functions that leave out elements."""

from __future__ import annotations

from .harness import Case, In

_X = In((2, 3, 4))
_MASK = In(
    (3, 4), values=[[True, False, True, True], [False, False, False, False], [True, True, False, True]], dtype="bool"
)
_TWO_ROWS = In(
    (3, 4), values=[[True, False, True, True], [False, True, True, False], [True, True, False, True]], dtype="bool"
)
_ROWS = In((3, 1), values=[[True], [False], [True]], dtype="bool")

CASES = []
for _name in ("sum", "prod", "mean", "amax", "amin", "logsumexp", "var", "std"):
    _some = _MASK if _name not in ("var", "std") else _TWO_ROWS  # gradients of rows without elements are undefined
    for _dim in ("None", "1", "(0, -1)"):
        _code = f"torch.masked.{_name}(x, {_dim}, mask=mask)"
        CASES.append(Case(f"{_name}_{_dim}", _code, x=_X, mask=_some))
    _columns = _ROWS if _some is _MASK else _TWO_ROWS
    CASES.append(Case(f"{_name}_rows", f"torch.masked.{_name}(x, -1, keepdim=True, mask=mask)", x=_X, mask=_columns))
    CASES.append(Case(f"{_name}_all", f"torch.masked.{_name}(x, 0)", x=_X))
for _name in ("sum", "prod", "amax", "amin"):
    for _dtype in ("int32", "uint8"):
        _in = In((3, 4), dtype=_dtype, low=0, high=9)
        CASES.append(Case(f"{_name}_{_dtype}", f"torch.masked.{_name}(x, 1, mask=mask)", x=_in, mask=_MASK))
for _name in ("argmax", "argmin", "median"):
    CASES.append(Case(_name, f"torch.masked.{_name}(x, 2, mask=mask)", x=_X, mask=_MASK, grad=_name == "median"))
for _name in ("cumsum", "cumprod", "softmax", "log_softmax", "softmin"):
    CASES.append(Case(_name, f"torch.masked.{_name}(x, -1, mask=mask)", x=_X, mask=_MASK, atol=1e-5))
for _ord in ("2.0", "1.0", "3.0", "float('inf')", "-float('inf')", "0.0"):
    CASES.append(Case(f"norm_{_ord}", f"torch.masked.norm(x, {_ord}, -1, mask=mask)", x=_X, mask=_TWO_ROWS))
CASES += [
    Case("normalize", "torch.masked.normalize(x, 2.0, -1, mask=mask)", x=_X, mask=_MASK),
    Case("logaddexp", "torch.masked.logaddexp(x, y, input_mask=mask)", x=_X, y=_X, mask=_MASK, grad=False),
    Case("var_correction", "torch.masked.var(x, 1, correction=2, mask=mask)", x=_X, mask=_MASK),
    Case("std_biased", "torch.masked.std(x, 1, False, mask=mask)", x=_X, mask=_MASK),
    Case("sum_complex", "torch.masked.sum(x, 1, mask=mask)", x=In((2, 3, 4), "complex64"), mask=_MASK),
    Case("sum_dtype", "torch.masked.sum(x, 1, dtype=torch.float64, mask=mask)", x=_X, mask=_MASK),
    Case("many_dimensions", "torch.masked.sum(x, 0, mask=mask)", x=In((3,)), mask=_MASK),
    Case("wrong_sizes", "torch.masked.sum(x, 0, mask=mask)", x=In((2, 5)), mask=In((4,), "bool")),
    Case("mean_integers", "torch.masked.mean(x, 0)", x=In((3,), "int64")),
    Case("amax_bool", "torch.masked.amax(x, 0, mask=x)", x=In((3,), "bool")),
]
