"""Corners of many ops: `out=` of other types and shapes, ties, empty and 0-dim inputs, bool and unsigned types,
errors.
"""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []

# --- lists of tensors
_TIE, _OTHER = In(values=[1.0, 2.0, 3.0, 2.0]), In(values=[1.0, 3.0, 2.0, 2.0])
for _n in ("maximum", "minimum", "clamp_min", "clamp_max"):
    CASES += [
        Case(f"foreach-{_n}-ties", f"torch._foreach_{_n}([a], [b])[0].sum()", a=_TIE, b=_OTHER),
        Case(f"foreach-{_n}-ties-number", f"torch._foreach_{_n}([a, a * 1], 2.0)[0].sum()", a=_TIE),
        Case(f"foreach-{_n}-ties-numbers", f"torch._foreach_{_n}([a], [2.0])[0].sum()", a=_TIE),
        Case(f"foreach-{_n}_-ties", f"c = [a * 1]; torch._foreach_{_n}_(c, [b]); c[0].sum()", a=_TIE, b=_OTHER),
    ]
_LISTS = (
    "_foreach_add_(x, 1)",
    "_foreach_mul_(x, x)",
    "_foreach_sqrt_(x)",
    "_foreach_zero_(x)",
    "_foreach_copy_(x, x)",
    "_foreach_addcmul_(x, x, x, 2.0)",
    "_foreach_maximum_(x, 1.0)",
    "_foreach_lerp_(x, x, 0.5)",
    "_foreach_pow_(x, 2)",
)
CASES += [
    Case(f"foreach-returns-{c}", f"x = [a]; r = torch.{c}; [r is x, r[0] is a]", grad=False, a=In((2,), low=0.1))
    for c in _LISTS
]

# --- out=
_OUTS = {  # a call on a (3, 3), v (3,), i (3,) of positions -> the type and shape of its result
    "torch.add(a, a, {})": "float32",
    "torch.abs(a, {})": "float32",
    "torch.exp(a, {})": "float32",
    "torch.gt(a, a, {})": "bool",
    "torch.norm(a, {})": "float32",
    "torch.norm(a, 1, 0, {})": "float32",
    "torch.tensordot(a, a, 1, {})": "float32",
    "F.normalize(a, {})": "float32",
    "torch.gather(a, 0, i.expand(3, 3), {})": "float32",
    "torch.complex(a, a, {})": "complex64",
    "torch.mm(a, a, {})": "float32",
    "torch.dot(v, v, {})": "float32",
    "torch.softmax(a, 0, {})": "float32",
    "torch.log_softmax(a, 0, {})": "float32",
    "F.linear(a, a, {})": "float32",
    "torch.slice_scatter(a, a[:2], 0, 0, 2, {})": "float32",
    "F.avg_pool2d(a[None], 2, {})": "float32",
    "F.logsigmoid(a, {})": "float32",
    "torch.narrow_copy(a, 0, 1, 1, {})": "float32",
    "torch.diagonal_copy(a, {})": "float32",
    "torch.arange(3, dtype=torch.float32, {})": "float32",
    "torch.zeros(3, dtype=torch.float32, {})": "float32",
    "torch.ones(2, 2, dtype=torch.float32, {})": "float32",
    "torch.full((2,), 3., dtype=torch.float32, {})": "float32",
    "torch.eye(2, dtype=torch.float32, {})": "float32",
    "torch.linspace(0, 1, 3, dtype=torch.float32, {})": "float32",
    "torch.logspace(0, 1, 3, dtype=torch.float32, {})": "float32",
    "torch.arange(4, {})": "int64",
    "torch.zeros(4, {})": "float32",
    "torch.linspace(0, 5, 6, {})": "float32",
    "torch.cat([a, a], {})": "float32",
    "torch.amax(a, 0, {})": "float32",
    "torch.sum(a, 0, {})": "float32",
    "torch.mean(a, 0, {})": "float32",
    "torch.cumsum(a, 0, {})": "float32",
    "torch.index_select(a, 0, i, {})": "float32",
    "torch.take(a, i, {})": "float32",
    "torch.masked_select(a, a > 0, {})": "float32",
    "torch.tril(a, {})": "float32",
    "torch.argmax(a, 0, {})": "int64",
    "torch.all(a, {})": "bool",
    "torch.std(a, 0, {})": "float32",
    "torch.nonzero(a, {})": "int64",
    "torch.searchsorted(v, v, {})": "int64",
    "torch.nan_to_num(a, {})": "float32",
    "torch.absolute(a, {})": "float32",
    "torch.arcsin(a / 4, {})": "float32",
    "torch.less(a, a, {})": "bool",
    "torch.linalg.det(a, {})": "float32",
    "torch.linalg.cond(a, {})": "float32",
    "torch.histc(a, 4, {})": "float32",
    "torch.square(a, {})": "float32",
}
for _code, _kind in _OUTS.items():
    for _other in ("float32", "float64", "int64", "complex64", "bool"):
        CASES.append(
            Case(
                f"out-{_code}-{_other}",
                f"o = torch.empty(0, dtype=torch.{_other}); " + "r = " + _code.format("out=o") + "; [r is o, o]",
                grad=False,
                a=In((3, 3), low=0.5, high=1.5),
                v=In((3,), values=[0.25, 0.5, 0.75]),
                i=In((3,), "int64", values=[2, 0, 1]),
                strides=False,
            )
        )
_PAIRS = (
    "torch.aminmax(a, dim=0, out=(o, p))",
    "torch.max(a, 0, out=(o, p.long()))",
    "torch.linalg.qr(a, out=(o, p))",
    "torch.linalg.slogdet(a, out=(o, p))",
    "torch.sort(a, out=(o, p.long()))",
    "torch.topk(a, 2, out=(o, p.long()))",
    "torch.linalg.eigh(a @ a.T, out=(o, p))",
    "torch.linalg.inv_ex(a, out=(o, p.int()))",
    "torch.linalg.cholesky_ex(a @ a.T, out=(o, p.int()))",
    "torch.kthvalue(a, 2, out=(o, p.long()))",
    "torch.mode(a, out=(o, p.long()))",
    "torch.cummax(a, 0, out=(o, p.long()))",
    "torch.linalg.lu_factor(a, out=(o, p.int()))",
    "torch.triangular_solve(a, a, out=(o, p))",
)
for _code in _PAIRS:
    for _other in ("float32", "float64", "bool"):
        CASES.append(
            Case(
                f"outs-{_code}-{_other}",
                f"o = torch.empty(0, dtype=torch.{_other}); p = torch.empty(0); r = {_code}; "
                "[r[0] is o, o.abs() if o.is_floating_point() else o]",
                grad=False,
                a=In((3, 3), low=0.5, high=1.5),
                strides=False,
                rtol=1e-3,
            )
        )
CASES += [
    Case(
        "outs-svd",
        "o = [torch.empty(0) for _ in range(3)]; torch.linalg.svd(a, out=o); [o[1], (o[0] * o[1]) @ o[2]]",
        grad=False,
        a=In((3, 3)),
        strides=False,
        rtol=1e-3,
        atol=1e-4,
    ),
    Case("out-strided", "o = torch.zeros(3, 2).t(); torch.add(a, 1, out=o); [o, o.stride()]", grad=False, a=In((2, 3))),
    Case("out-requires-grad", "torch.norm(a, out=torch.empty(()))", a=In((3,))),
    Case(
        "out-cumsum-in-integers",
        "torch.cumsum(a, 0, out=torch.empty(4, dtype=torch.int64))",
        grad=False,
        a=In((4,), low=0.5, high=3.5),
    ),
]

# --- whole numbers that a type cannot hold wrap
_BYTE, _SMALL = In((3,), "uint8", values=[1, 7, 200]), In((3,), "int8", values=[1, 7, -100])
for _code in (
    "a + {n}",
    "a - {n}",
    "{n} - a",
    "a * {n}",
    "a // {n}",
    "a % {n}",
    "torch.fmod(a, {n})",
    "torch.remainder({n}, a)",
    "a & {n}",
    "a | {n}",
    "a.clamp(min={n})",
    "a.clamp(max={n})",
    "a.clamp_min({n})",
    "torch.clamp(a, {n}, 100)",
    "torch.add(a, a, alpha={n})",
    "torch.sub(a, a, alpha={n})",
    "a.clone().add_(a, alpha={n})",
    "torch.rsub(a, 1, alpha={n})",
    "a.clone().fill_({n})",
    "a == {n}",
    "a > {n}",
    "a.masked_fill(a > 3, {n})",
    "a.index_fill(0, torch.tensor([0]), {n})",
    "a.scatter(0, torch.tensor([1]), {n})",
    "torch.addcmul(a, a, a, value={n})",
    "torch.full_like(a, {n})",
    "a.new_full((2,), {n})",
    "torch.scalar_tensor({n}, dtype=a.dtype)",
    "torch.addmm(a.reshape(3, 1), a.reshape(3, 1), a[:1].reshape(1, 1), alpha={n}, beta={n})",
    "torch._foreach_maximum([a], {n})[0]",
    "torch._foreach_add([a], [a], alpha={n})[0]",
    "b = a.clone(); b[0] = {n}; b",
    "torch.pow({n}, a % 3)",
):
    for _n in (-3, 300):
        CASES += [
            Case(f"wraps-uint8-{_code}-{_n}", _code.format(n=_n), a=_BYTE),
            Case(f"wraps-int8-{_code}-{_n}", _code.format(n=_n), a=_SMALL),
        ]

# --- empty and 0-dim
_ONE, _POINT, _Z = In((), values=2.5), In((3,), values=[0.5, 0.1, 1.0]), "complex64"
CASES += [
    *[
        Case(
            f"quantile-0d-{q}-{d}-{k}",
            f"torch.quantile(a, {q}, dim={d}, keepdim={k})",
            a=_ONE,
            q=In((3,), values=[0.5, 0.1, 1.0], grad=False),
        )
        for q in ("0.5", "q")
        for d in (None, 0, -1)
        for k in (False, True)
    ],
    Case("nanquantile-0d", "torch.nanquantile(a, 0.5, dim=0)", a=_ONE),
    Case("quantile-empty", "torch.quantile(torch.empty(0), 0.5)"),
    Case("vander-0d", "torch.linalg.vander(a, N=3)", a=_ONE),
    Case("vander-0d-alone", "torch.linalg.vander(a)", a=_ONE),
    Case("vander-empty", "torch.linalg.vander(torch.ones(0))"),
    Case("multilabel_margin-0d", "F.multilabel_margin_loss(a, torch.tensor(0))", a=_ONE),
    Case("multilabel_margin-empty", "F.multilabel_margin_loss(torch.empty(0), torch.empty(0, dtype=torch.int64))"),
    Case(
        "multilabel_margin-3d", "F.multilabel_margin_loss(torch.ones(1, 2, 3), torch.zeros(1, 2, 3, dtype=torch.int64))"
    ),
    Case("gather-empty-index", "torch.gather(a, 0, torch.empty(0))", a=In((2, 2)), grad=False),
    Case("scatter-empty-index", "torch.scatter(a, 0, torch.empty(0), a)", a=In((2, 2)), grad=False),
    *[
        Case(f"{part}-{name}", f"a{view}.{part}.sum()", a=In(shape, _Z))
        for part in ("real", "imag")
        for name, shape, view in (
            ("0d", (), ""),
            ("empty", (1, 0, 3), ""),
            ("transposed", (2, 3), ".t()"),
            ("strided", (2, 4), "[:, ::2]"),
            ("expanded", (3,), ".expand(2, 3)"),
        )
    ],
    Case("batch_norm-1d", "F.batch_norm(a, torch.zeros(5), torch.ones(5))", a=In((5,)), grad=False),
    Case(
        "batch_norm-no-channels",
        "F.batch_norm(a, torch.zeros(0), torch.ones(0))",
        a=In((2, 0, 3)),
        grad=False,
        strides=False,
    ),
]

# --- bool
_TRUTH = In((3, 4), "bool")
CASES += [
    Case(f"bool-{c}", c, a=_TRUTH)
    for c in (
        "torch.triu(a)",
        "torch.triu(a, 1)",
        "torch.tril(a, -1)",
        "a.clone().triu_(1)",
        "a.clone().tril_()",
        "torch.triu(a[:0])",
        "F.unfold(a[None, None], 2)",
        "torch.triu(torch.ones(4, 4, dtype=torch.bool), diagonal=1)",
    )
]


# --- second derivatives
CASES += [
    Case(
        f"layer_norm-twice-{shape}",
        f"y = F.layer_norm(x, {shape}, w, w); g, = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True); "
        "g.pow(2).sum()",
        x=In((2, 3), "float64"),
        w=In(shape, "float64"),
        rtol=1e-9,
    )
    for shape in ((2, 3), (3,))
]

# --- errors
CASES += [
    Case(f"error-{c}", c, a=In((4,)), grad=False)
    for c in (
        "torch.isclose(a, 1)",
        "torch.isclose(a, a.double())",
        "torch.isclose(a, a, rtol=-1)",
        "torch.isclose(a, a, atol=-1)",
        "torch.cat([a, None])",
        "torch.stack([a, None])",
        "torch.cat([a, 1])",
        "torch.cat(a)",
        "torch.cat([])",
        "torch.narrow_copy(a, 0, 5, 1)",
        "torch.narrow_copy(a, 0, 2, 3)",
        "torch.narrow_copy(a, 0, 0, -1)",
        "torch.narrow_copy(a, 3, 2, 3)",
        "torch.narrow_copy(torch.tensor(4), 0, 2, 3)",
        "torch.allclose(a, 1)",
        "torch.hstack([a, None])",
        "torch.matmul(a, 1)",
        "torch.block_diag(a, None)",
        "F.multi_margin_loss(a, torch.tensor([0, 1]))",
        "F.multi_margin_loss(a.reshape(2, 2), torch.tensor([0., 1.]))",
        "F.multi_margin_loss(a.reshape(2, 2), torch.tensor([0, 1]), p=3)",
        "F.multi_margin_loss(a.reshape(2, 2), torch.tensor([0, 5]))",
        "F.multi_margin_loss(a.reshape(2, 2), torch.tensor([0, 1]), weight=a)",
        "torch.square(1)",
        "torch.einsum('ij', 1)",
        "torch.tensordot(a, 1)",
        "a.isclose(1)",
        "torch.outer(a, 2)",
        "torch.kron(a, 2)",
    )
]

# --- channels innermost, in volumes too
_FORMATS = (("channels_last", "a"), ("channels_last_3d", "v"))
for _f, _x in _FORMATS:
    CASES += [
        Case(f"format-{_f}-{c}", c.format(x=_x, f=f"torch.{_f}"), a=In((2, 3, 4, 5)), v=In((2, 3, 2, 4, 5)), grad=False)
        for c in (
            "{x}.contiguous(memory_format={f})",
            "{x}.to(memory_format={f})",
            "{x}.clone(memory_format={f})",
            "torch.zeros_like({x}, memory_format={f})",
            "torch.empty_like({x}, memory_format={f}).stride()",
            "torch.empty({x}.shape, memory_format={f}).stride()",
            "[{x}.is_contiguous(memory_format={f}), "
            "{x}.contiguous(memory_format={f}).is_contiguous(memory_format={f})]",
            "{x}.contiguous(memory_format={f}).is_contiguous()",
            "{x}.contiguous(memory_format={f}) + 1",
            "{x}[0].contiguous(memory_format={f})",
            "{x}.double().to(torch.float32, memory_format={f})",
            "torch.nn.Identity().to(memory_format={f})({x})",
            "str({f})",
        )
    ]
CASES += [
    Case(
        "format-conv3d",
        "F.conv3d(v.to(memory_format=torch.channels_last_3d), w)",
        v=In((1, 2, 3, 4, 4)),
        w=In((3, 2, 2, 2, 2)),
        rtol=1e-4,
        atol=1e-5,
        strides=False,
    ),
    Case(
        "format-module-3d", "m = torch.nn.Conv3d(2, 3, 2).to(memory_format=torch.channels_last_3d); m.weight.stride()"
    ),
]

# --- out= that shares memory
CASES += [
    Case(f"overlap-{c}", f"x = a.clone(); {c}", a=In((3, 3)), grad=False)
    for c in (
        "torch.gather(x, 0, torch.zeros(3, 3, dtype=torch.int64), out=x)",
        "torch.take(x, torch.tensor([0, 1]), out=x[0, :2])",
        "torch.masked_select(x, x > 0, out=x)",
        "torch.index_select(x, 0, torch.tensor([0, 1, 2]), out=x)",
        "torch.cat([x[:1], x[1:]], out=x)",
        "torch.add(x, 1, out=torch.ones(1).expand(3, 3))",
        "torch.mm(x, x, out=torch.ones(1).expand(3, 3))",
        "torch.softmax(x, 0, out=x)",
        "torch.add(x[:2], 1, out=x[1:])",
        "torch.exp(x[:2], out=x[1:])",
        "torch.exp(x, out=x)",
        "torch.add(x, x, out=x)",
    )
]
CASES += [
    Case(f"error-{c}", c, a=In((4,)), grad=False)
    for c in (
        "F.multi_margin_loss(torch.ones(5, 0), torch.zeros(5, dtype=torch.int64))",
        "F.multi_margin_loss(torch.ones(0), torch.tensor(0))",
        "F.multilabel_margin_loss(torch.ones(5, 0), torch.zeros(5, 4, dtype=torch.int64))",
    )
]
