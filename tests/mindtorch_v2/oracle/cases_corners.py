"""Corners of many ops: `out=` of other types and shapes, ties, empty and 0-dim inputs, bool and unsigned types, errors."""
from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []

# --- lists of tensors ---------------------------------------------------------------------------------------------------
_TIE, _OTHER = In(values=[1.0, 2.0, 3.0, 2.0]), In(values=[1.0, 3.0, 2.0, 2.0])
for _n in ("maximum", "minimum", "clamp_min", "clamp_max"):
    CASES += [
        Case(f"foreach-{_n}-ties", f"torch._foreach_{_n}([a], [b])[0].sum()", a=_TIE, b=_OTHER),
        Case(f"foreach-{_n}-ties-number", f"torch._foreach_{_n}([a, a * 1], 2.0)[0].sum()", a=_TIE),
        Case(f"foreach-{_n}-ties-numbers", f"torch._foreach_{_n}([a], [2.0])[0].sum()", a=_TIE),
        Case(f"foreach-{_n}_-ties", f"c = [a * 1]; torch._foreach_{_n}_(c, [b]); c[0].sum()", a=_TIE, b=_OTHER),
    ]
_LISTS = ("_foreach_add_(x, 1)", "_foreach_mul_(x, x)", "_foreach_sqrt_(x)", "_foreach_zero_(x)", "_foreach_copy_(x, x)",
          "_foreach_addcmul_(x, x, x, 2.0)", "_foreach_maximum_(x, 1.0)", "_foreach_lerp_(x, x, 0.5)", "_foreach_pow_(x, 2)")
CASES += [Case(f"foreach-returns-{c}", f"x = [a]; r = torch.{c}; [r is x, r[0] is a]", grad=False, a=In((2,), low=0.1)) for c in _LISTS]

# --- out= ---------------------------------------------------------------------------------------------------------------
_OUTS = {   # a call on a (3, 3), v (3,), i (3,) of positions -> the type and shape of its result
    "torch.add(a, a, {})": "float32", "torch.abs(a, {})": "float32", "torch.exp(a, {})": "float32", "torch.gt(a, a, {})": "bool",
    "torch.norm(a, {})": "float32", "torch.norm(a, 1, 0, {})": "float32", "torch.tensordot(a, a, 1, {})": "float32",
    "F.normalize(a, {})": "float32", "torch.gather(a, 0, i.expand(3, 3), {})": "float32", "torch.complex(a, a, {})": "complex64",
    "torch.mm(a, a, {})": "float32", "torch.dot(v, v, {})": "float32", "torch.softmax(a, 0, {})": "float32",
    "torch.log_softmax(a, 0, {})": "float32", "F.linear(a, a, {})": "float32", "torch.slice_scatter(a, a[:2], 0, 0, 2, {})": "float32",
    "F.avg_pool2d(a[None], 2, {})": "float32", "F.logsigmoid(a, {})": "float32", "torch.narrow_copy(a, 0, 1, 1, {})": "float32",
    "torch.diagonal_copy(a, {})": "float32", "torch.arange(3, dtype=torch.float32, {})": "float32", "torch.zeros(3, dtype=torch.float32, {})": "float32",
    "torch.ones(2, 2, dtype=torch.float32, {})": "float32", "torch.full((2,), 3., dtype=torch.float32, {})": "float32",
    "torch.eye(2, dtype=torch.float32, {})": "float32", "torch.linspace(0, 1, 3, dtype=torch.float32, {})": "float32",
    "torch.logspace(0, 1, 3, dtype=torch.float32, {})": "float32", "torch.arange(4, {})": "int64", "torch.zeros(4, {})": "float32",
    "torch.linspace(0, 5, 6, {})": "float32", "torch.cat([a, a], {})": "float32", "torch.amax(a, 0, {})": "float32",
    "torch.sum(a, 0, {})": "float32", "torch.mean(a, 0, {})": "float32", "torch.cumsum(a, 0, {})": "float32", "torch.index_select(a, 0, i, {})": "float32",
    "torch.take(a, i, {})": "float32", "torch.masked_select(a, a > 0, {})": "float32", "torch.tril(a, {})": "float32",
    "torch.argmax(a, 0, {})": "int64", "torch.all(a, {})": "bool", "torch.std(a, 0, {})": "float32", "torch.nonzero(a, {})": "int64",
    "torch.searchsorted(v, v, {})": "int64", "torch.nan_to_num(a, {})": "float32", "torch.absolute(a, {})": "float32",
    "torch.arcsin(a / 4, {})": "float32", "torch.less(a, a, {})": "bool", "torch.linalg.det(a, {})": "float32",
    "torch.linalg.cond(a, {})": "float32", "torch.histc(a, 4, {})": "float32", "torch.square(a, {})": "float32",
}
for _code, _kind in _OUTS.items():
    for _other in ("float32", "float64", "int64", "complex64", "bool"):
        CASES.append(Case(f"out-{_code}-{_other}", f"o = torch.empty(0, dtype=torch.{_other}); " + "r = " + _code.format("out=o") + "; [r is o, o]",
                          grad=False, a=In((3, 3), low=0.5, high=1.5), v=In((3,), values=[0.25, 0.5, 0.75]), i=In((3,), "int64", values=[2, 0, 1]),
                          strides=False))
_PAIRS = ("torch.aminmax(a, dim=0, out=(o, p))", "torch.max(a, 0, out=(o, p.long()))", "torch.linalg.qr(a, out=(o, p))",
          "torch.linalg.slogdet(a, out=(o, p))", "torch.sort(a, out=(o, p.long()))", "torch.topk(a, 2, out=(o, p.long()))",
          "torch.linalg.eigh(a @ a.T, out=(o, p))", "torch.linalg.inv_ex(a, out=(o, p.int()))", "torch.linalg.cholesky_ex(a @ a.T, out=(o, p.int()))",
          "torch.kthvalue(a, 2, out=(o, p.long()))", "torch.mode(a, out=(o, p.long()))", "torch.cummax(a, 0, out=(o, p.long()))",
          "torch.linalg.lu_factor(a, out=(o, p.int()))", "torch.triangular_solve(a, a, out=(o, p))")
for _code in _PAIRS:
    for _other in ("float32", "float64", "bool"):
        CASES.append(Case(f"outs-{_code}-{_other}", f"o = torch.empty(0, dtype=torch.{_other}); p = torch.empty(0); r = {_code}; "
                          "[r[0] is o, o.abs() if o.is_floating_point() else o]", grad=False, a=In((3, 3), low=0.5, high=1.5), strides=False, rtol=1e-3))
CASES += [
    Case("outs-svd", "o = [torch.empty(0) for _ in range(3)]; torch.linalg.svd(a, out=o); [o[1], (o[0] * o[1]) @ o[2]]", grad=False, a=In((3, 3)),
         strides=False, rtol=1e-3, atol=1e-4),
    Case("out-strided", "o = torch.zeros(3, 2).t(); torch.add(a, 1, out=o); [o, o.stride()]", grad=False, a=In((2, 3))),
    Case("out-requires-grad", "torch.norm(a, out=torch.empty(()))", a=In((3,))),
    Case("out-cumsum-in-integers", "torch.cumsum(a, 0, out=torch.empty(4, dtype=torch.int64))", grad=False, a=In((4,), low=0.5, high=3.5)),
]
