"""Cases of the reductions: sums, extremes, statistics, norms, scans, counts."""

from __future__ import annotations

from .harness import Case, In

NAN, INF = float("nan"), float("inf")
M = In((3, 4))
T = In((2, 3, 4))
TIES = In(values=[[1.0, 3.0, 3.0], [2.0, 2.0, -1.0], [0.0, 0.0, 0.0]])
HOLES = In(values=[[1.0, NAN, 3.0], [NAN, NAN, NAN], [-1.0, 2.0, INF]])
ZEROS = In(values=[[0.0, 2.0, 3.0], [0.0, 0.0, 4.0], [1.5, -2.0, 0.5]])
INTS = In((3, 4), "int64", -5, 5)
BOOLS = In((3, 4), "bool")
CASES: list[Case] = []


def add(id: str, code: str, **more: object) -> None:
    CASES.append(Case(id, code, **more))  # type: ignore[arg-type]


# --- reductions over everything, one dimension, several
FORMS = {
    "all": "torch.{n}(a)",
    "dim": "torch.{n}(a, 1)",
    "neg": "a.{n}(-2, keepdim=True)",
    "kw": "torch.{n}(a, dim=0, keepdim=False)",
}
for name in ("sum", "nansum", "mean", "prod", "amax", "amin", "argmax", "argmin", "all", "any", "std", "var"):
    for form, code in FORMS.items():
        add(f"{name}_{form}", code.format(n=name), a=M)
    add(f"{name}_t", f"a.{name}(1)", a=In((2, 3, 4), layout="transposed"))
    add(f"{name}_s", f"a.{name}(-1, keepdim=True)", a=In((2, 3), layout="strided"))
    add(f"{name}_scalar", f"(a.{name}(), a.{name}(0), a.{name}(-1, keepdim=True))", a=In(()))
    add(f"{name}_f64", f"a.{name}(0)", a=In((3, 2), "float64"))
    add(f"{name}_f16", f"(a.{name}(), a.{name}(0))", a=In((3, 2), "float16"))
    add(f"{name}_i64", f"a.{name}(1)", a=INTS)
    add(f"{name}_u8", f"a.{name}(1)", a=In((3, 4), "uint8", 0, 9))
    add(f"{name}_i32", f"a.{name}()", a=In((3, 4), "int32", -9, 9))
    add(f"{name}_bool", f"(a.{name}(), a.{name}(1))", a=BOOLS)
    add(f"{name}_c64", f"a.{name}(1)", a=In((2, 3), "complex64"))
    add(f"{name}_range", f"a.{name}(2)", a=M)
    add(f"{name}_nan", f"(a.{name}(), a.{name}(1))", a=HOLES)
    add(f"{name}_out", f"o = torch.empty(0, dtype=a.{name}(1).dtype); (torch.{name}(a, 1, out=o), o)", a=M, grad=False)
for name in ("sum", "nansum", "mean", "prod", "amax", "amin", "argmax", "argmin", "all", "any", "std", "var"):
    for tag, shape, dim in (("0", (0,), None), ("03", (0, 3), 0), ("30", (0, 3), 1)):
        add(f"{name}_empty{tag}", f"a.{name}({'' if dim is None else dim})", a=In(shape))
for name in ("sum", "nansum", "mean", "amax", "amin", "all", "any", "std", "var", "nanmean", "count_nonzero"):
    add(f"{name}_dims", f"a.{name}((0, 2))", a=T)
    add(f"{name}_empty_dims", f"a.{name}(())", a=M, grad=name not in ("std", "var"))  # where PyTorch counts wrongly
    add(f"{name}_twice", f"a.{name}((0, 0))", a=M)
    if name != "count_nonzero":
        add(f"{name}_dims_keep", f"a.{name}((-1, 0), keepdim=True)", a=T)
        add(f"{name}_dims_t", f"a.{name}((0, 1))", a=In((2, 3, 4), layout="transposed"))
for name in ("sum", "mean", "prod", "nansum", "cumsum", "cumprod"):
    for kind in ("float64", "float16", "int64", "float32"):
        add(
            f"{name}_as_{kind}",
            f"a.{name}(0, dtype=torch.{kind})",
            a=M,
            grad=kind != "int64",
            rtol=2e-3 if kind == "float16" else 2e-5,
        )
        add(f"{name}_i_as_{kind}", f"a.{name}(0, dtype=torch.{kind})", a=INTS)
    add(f"{name}_b_as_int32", f"a.{name}(0, dtype=torch.int32)", a=BOOLS)
add("sum_long", "(a.sum(), a.sum(0), a.sum(1))", a=In((600, 5), low=0))
add("sum_long_f", "(a.sum(), a.sum(0), a.sum(1), a.mean(), a.var(0))", a=In((5, 700), low=0), grad=False)
add("sum_large_half", "(a.sum(), a.mean())", a=In((40, 40), "float16", 100, 200), grad=False)
add("sum_axis", "a.sum(axis=1, keepdims=True)", a=M)
add("sum_size", "a.sum_to_size(3, 1)", a=T)
add("sum_size_same", "a.sum_to_size(2, 3, 4)", a=T)
add("sum_size_bad", "a.sum_to_size(5)", a=M)
add("sum_inf", "(a.sum(), a.mean(0))", a=In(values=[[INF, 1.0], [-INF, INF]]))
add("nansum_c", "a.nansum()", a=In((2,), "complex64"))
add("nanmean", "(torch.nanmean(a), torch.nanmean(a, 1), a.nanmean(0, keepdim=True))", a=HOLES)
add("nanmean_i", "a.nanmean()", a=INTS)
add("mean_c", "(a.mean(), a.mean(0))", a=In((2, 3), "complex64"))
add("prod_zeros", "(a.prod(), a.prod(0), a.prod(1, keepdim=True))", a=ZEROS)
add("prod_one_zero", "a.prod()", a=In(values=[2.0, 0.0, -3.0]))
add("prod_one", "a.prod(0)", a=In((1, 3)))
add("trace", "torch.trace(a)", a=In((3, 4)))
add("trace_tall", "a.trace()", a=In((4, 2)))
add("trace_i", "a.trace()", a=In((3, 3), "int32", -5, 5))
add("trace_f16", "a.trace()", a=In((3, 3), "float16"))
add("trace_bad", "a.trace()", a=In((3,)))
add("trace_bool", "a.trace()", a=BOOLS)
add("double_sum_mean", "g, = torch.autograd.grad((a.mean(0) ** 2).sum(), a, create_graph=True)\n(g * g).sum()", a=M)

# --- extremes
for name in ("max", "min"):
    add(f"{name}_all", f"torch.{name}(a)", a=M)
    add(f"{name}_all_ties", f"a.{name}()", a=TIES)
    add(f"{name}_all_nan", f"a.{name}()", a=HOLES)
    add(f"{name}_dim", f"torch.{name}(a, 1)", a=M)
    add(f"{name}_dim_keep", f"a.{name}(dim=-2, keepdim=True)", a=M)
    add(f"{name}_dim_ties", f"(a.{name}(0), a.{name}(1))", a=TIES)
    add(f"{name}_dim_nan", f"(a.{name}(0), a.{name}(1))", a=HOLES)
    add(f"{name}_dim_t", f"a.{name}(1)", a=In((2, 3, 4), layout="transposed"))
    add(f"{name}_fields", f"r = a.{name}(0); (r.values, r.indices, type(r).__name__)", a=M)
    add(f"{name}_other", f"(torch.{name}(a, b), a.{name}(b))", a=M, b=In((4,)))
    add(f"{name}_other_types", f"torch.{name}(a, b)", a=M, b=In((4,), "float64"))
    add(f"{name}_i", f"(a.{name}(), a.{name}(1))", a=INTS)
    add(f"{name}_b", f"(a.{name}(), a.{name}(1))", a=BOOLS)
    add(f"{name}_f16", f"(a.{name}(), a.{name}(1))", a=In((3, 4), "float16"))
    add(f"{name}_c", f"a.{name}()", a=In((2,), "complex64"))
    add(f"{name}_c_dim", f"a.{name}(0)", a=In((2,), "complex64"))
    add(f"{name}_scalar", f"(a.{name}(), a.{name}(0), a.{name}(0, keepdim=True))", a=In(()))
    add(f"{name}_empty", f"a.{name}()", a=In((0,)))
    add(f"{name}_empty_dim", f"a.{name}(0)", a=In((0, 2)))
    add(f"{name}_empty_other", f"a.{name}(1)", a=In((0, 2)))
    add(f"{name}_range", f"a.{name}(2)", a=M)
    add(
        f"{name}_dim_out",
        f"v, i = torch.empty(0), torch.empty(0, dtype=torch.int64); (torch.{name}(a, 0, out=(v, i)), v, i)",
        a=M,
        grad=False,
    )
    add(f"a{name}_ties", f"(a.a{name}(0), a.a{name}((0, 1)), a.a{name}(-1, keepdim=True))", a=TIES)
    add(f"arg{name}_keep", f"(a.arg{name}(keepdim=True), a.arg{name}(1, keepdim=True), a.arg{name}(0))", a=TIES)
    add(f"cum{name}", f"(a.cum{name}(0), torch.cum{name}(a, 1))", a=TIES)
    add(f"cum{name}_nan", f"(a.cum{name}(0), a.cum{name}(1))", a=HOLES)
    add(f"cum{name}_i", f"a.cum{name}(-1)", a=INTS)
    add(f"cum{name}_b", f"a.cum{name}(-1)", a=BOOLS)
    add(f"cum{name}_t", f"a.cum{name}(1)", a=In((2, 3, 4), layout="transposed"))
    add(f"cum{name}_scalar", f"a.cum{name}(0)", a=In(()))
    add(f"cum{name}_c", f"a.cum{name}(0)", a=In((2,), "complex64"))
add("aminmax", "(torch.aminmax(a), a.aminmax(dim=0), a.aminmax(dim=1, keepdim=True))", a=TIES)
add("aminmax_min", "a.aminmax(dim=1).min", a=M)
add("aminmax_i", "a.aminmax()", a=INTS)
add("aminmax_empty", "a.aminmax()", a=In((0,)))
add("aminmax_empty_dim", "a.aminmax(dim=0)", a=In((0, 2)))
add("aminmax_scalar", "a.aminmax()", a=In(()))
add("aminmax_c", "a.aminmax()", a=In((2,), "complex64"))

# --- counts
add("count_nonzero", "(a.count_nonzero(), torch.count_nonzero(a, 1), a.count_nonzero((0, 1)))", a=ZEROS)
add("count_nonzero_b", "(a.count_nonzero(), torch.count_nonzero(a, dim=0))", a=BOOLS)
add("count_nonzero_scalar", "a.count_nonzero()", a=In(()))
IDS = In((9,), "int64", 0, 5)
add("bincount", "(torch.bincount(a), a.bincount(minlength=9))", a=IDS)
add("bincount_w", "(a.bincount(w), a.bincount(w.double()), a.bincount(w.long(), 8))", a=IDS, w=In((9,)), grad=False)
add("bincount_i32", "a.bincount()", a=In((9,), "int32", 0, 5))
add("bincount_empty", "(a.bincount(), a.bincount(minlength=3))", a=In((0,), "int64"))
for tag, code in {
    "neg": "a.bincount()",
    "minlength": "a.abs().bincount(minlength=-1)",
    "float": "a.float().bincount()",
    "2d": "a.reshape(1, -1).bincount()",
    "w": "a.abs().bincount(torch.ones(3))",
}.items():
    add(f"bincount_bad_{tag}", code, a=In((5,), "int64", -9, -1))
add("histc", "(a.histc(4), torch.histc(a, bins=5, min=-1, max=1), a.histc(3, 0, 0))", a=In((20,)))
add("histc_f64", "a.histc(7, -3, 3)", a=In((4, 5), "float64"))
add("histc_flat", "torch.ones(4).histc(4)")
add("histc_empty", "torch.empty(0).histc(4)")
add("histc_bad_bins", "a.histc(0)", a=M)
add("histc_bad_range", "a.histc(3, 2, 1)", a=M)
add("histc_inf", "a.histc(3)", a=In(values=[1.0, INF]))
add("histc_i", "a.histc(3)", a=INTS)
DUPS = In((4, 5), "int64", 0, 3)
add(
    "unique",
    "(torch.unique(a), a.unique(return_inverse=True), a.unique(return_counts=True), a.unique(True, True, True))",
    a=DUPS,
)
add("unique_f", "torch.unique(a, return_inverse=True, return_counts=True)", a=TIES, grad=False)
add("unique_b", "torch.unique(a, return_counts=True)", a=BOOLS)
add("unique_nan", "torch.unique(a)", a=HOLES, grad=False)
add("unique_empty", "torch.unique(a, return_inverse=True, return_counts=True)", a=In((0,), "int64"))
add("unique_scalar", "torch.unique(a, return_inverse=True, return_counts=True)", a=In((), "int64"))
ROWS = In(values=[[1, 2], [0, 5], [1, 2], [0, 4], [0, 5]], dtype="int64")
add("unique_rows", "torch.unique(a, dim=0, return_inverse=True, return_counts=True)", a=ROWS)
add("unique_columns", "torch.unique(a, dim=1, return_inverse=True, return_counts=True)", a=In((2, 6), "int64", 0, 1))
add("unique_rows_3d", "torch.unique(a, dim=0, return_counts=True)", a=In((5, 2, 1), "int64", 0, 1))
add("unique_grad", "torch.unique(a).sum().backward()", a=M)
RUNS = In(values=[1, 1, 2, 2, 2, 1, 3, 3], dtype="int64")
add(
    "runs",
    "(torch.unique_consecutive(a), a.unique_consecutive(return_inverse=True), a.unique_consecutive(True, True))",
    a=RUNS,
)
add(
    "runs_rows",
    "torch.unique_consecutive(a, dim=0, return_inverse=True, return_counts=True)",
    a=In(values=[[1, 2], [1, 2], [0, 4], [1, 2]], dtype="int64"),
)

# --- spread and norms
for name in ("std", "var"):
    for tag, args in {
        "biased": "False",
        "dim_biased": "1, False",
        "both": "(0, 1), True, True",
        "c0": "0, correction=0",
        "c2": "0, correction=2",
        "c_keep": "dim=1, correction=0.5, keepdim=True",
        "c_all": "correction=0",
        "none": "dim=None",
        "named": "unbiased=False",
    }.items():
        add(f"{name}_{tag}", f"torch.{name}(a, {args})", a=M)
        add(f"{name}_mean_{tag}", f"torch.{name}_mean(a, {args})", a=M)
    add(f"{name}_few", f"(a.{name}(0), a.{name}(0, correction=3))", a=In((2, 3)))
    add(f"{name}_one", f"a.{name}(0)", a=In((1, 3)))
    add(f"{name}_offset", f"(a + 10000).{name}(1)", a=In((2, 50), "float64"))
    add(f"{name}_mean_first", f"torch.{name}_mean(a, 1)[0]", a=M)
    add(f"{name}_mean_second", f"torch.{name}_mean(a, 1, keepdim=True)[1]", a=M)
    add(f"{name}_mean_c", f"torch.{name}_mean(a)", a=In((3,), "complex64"), grad=False)
    add(f"{name}_constant", f"a.{name}(1)", a=In(values=[[2.0, 2.0, 2.0], [1.0, 2.0, 3.0]]))
PS = {
    "0": "0",
    "1": "1",
    "2": "2",
    "3": "3",
    "half": "0.5",
    "1half": "1.5",
    "inf": "float('inf')",
    "ninf": "-float('inf')",
    "neg": "-1",
}
for tag, p in PS.items():
    add(f"norm_{tag}", f"torch.norm(a, {p})", a=M)
    add(f"norm_{tag}_dim", f"a.norm({p}, 1)", a=M)
    add(f"norm_{tag}_dims", f"torch.linalg.vector_norm(a, {p}, dim=(0, 2), keepdim=True)", a=T)
    add(f"norm_{tag}_zero", f"a.norm({p}, dim=1)", a=ZEROS)
    # PyTorch fails to differentiate p = 0
    add(f"dist_{tag}", f"torch.dist(a, b, {p})", a=M, b=In((4,)), grad=tag != "0")
add("norm", "(a.norm(), torch.norm(a), a.norm(dim=1), torch.norm(a, dim=(0, 1), keepdim=True))", a=M)
add("norm_fro", "(a.norm('fro'), a.norm('fro', dim=(0, 1)), torch.norm(a, p='fro', dim=0))", a=M)
add("norm_dtype", "(a.norm(dtype=torch.float64), a.norm(2, 0, dtype=torch.float64))", a=M)
add("norm_c", "(a.norm(), a.norm(1, dim=0))", a=In((2, 3), "complex64"))
add("norm_f16", "(a.norm(), a.norm(1, 1))", a=In((3, 4), "float16"))
add("norm_scalar", "(a.norm(), a.norm(1))", a=In(()))
add("norm_empty", "(a.norm(), a.norm(1))", a=In((0,)))
add("norm_empty_inf", "a.norm(float('inf'))", a=In((0,)))
add("norm_empty_inf_dim", "a.norm(float('inf'), dim=0)", a=In((0, 3)))
add("norm_empty_neg", "a.norm(-1)", a=In((0,)))
add("norm_i", "a.norm()", a=INTS)
add("norm_bad_dtype", "a.norm(dtype=torch.int64)", a=M)
add("norm_narrow", "a.norm(dtype=torch.float32)", a=In((3,), "float64"))
add("norm_big", "(a.norm(), a.norm(dim=1))", a=In(values=[[1e30, 1e30], [1e-30, 1e-30]]), grad=False)
add("norm_long", "(a.norm(), a.norm(dim=0), a.norm(dim=1), a.norm(1), a.norm(3))", a=In((70, 80)), grad=False)
add("norm_zero", "a.norm()", a=In(values=[0.0, 0.0]))
add("norm_nan", "(a.norm(), a.norm(float('inf')), a.norm(1, 1))", a=HOLES, grad=False)
add("norm_t", "a.norm(dim=1)", a=In((2, 3, 4), layout="transposed"))
add("norm_out", "o = torch.empty(0); torch.linalg.vector_norm(a, 2, 1, out=o)", a=M, grad=False)
add("norm_double", "g, = torch.autograd.grad(a.norm(), a, create_graph=True)\n(g * g[0]).sum()", a=M)
add("dist_i", "torch.dist(a, a)", a=INTS)
add("renorm", "(torch.renorm(a, 2, 0, 1.5), a.renorm(1, 1, 2.0), a.renorm(3, -1, 100.0))", a=M)
add("renorm_3d", "a.renorm(2, 1, 1.0)", a=T)
add("renorm_", "a.renorm_(2, 0, 1.0)", a=M, grad=False)
add("renorm_flat", "a.renorm(2, 0, 1.0)", a=In((3,)))
add("renorm_neg", "a.renorm(2, 0, -1.0)", a=M)
for tag, args in {
    "0": "0",
    "neg": "-1",
    "keep": "1, keepdim=True",
    "dims": "(0, 1)",
    "dims_keep": "(0, 1), True",
}.items():
    add(f"logsumexp_{tag}", f"torch.logsumexp(a, {args})", a=M)
add(
    "logsumexp_inf",
    "(a.logsumexp(0), a.logsumexp(1))",
    a=In(values=[[-INF, -INF, 1.0], [INF, 0.0, -INF], [-INF, -INF, -INF]]),
    grad=False,
)
add("logsumexp_big", "a.logsumexp(1)", a=In((2, 3), low=500, high=600))
add("logsumexp_i", "a.logsumexp(0)", a=INTS)
add("logsumexp_scalar", "a.logsumexp(0)", a=In(()))
add("logsumexp_empty", "(a.logsumexp(0), a.logsumexp(1))", a=In((0, 2)))
add("logsumexp_f64", "a.logsumexp(0)", a=In((3, 2), "float64"))
add("logsumexp_3d", "a.logsumexp((0, 2))", a=T)
add("logsumexp_double", "g, = torch.autograd.grad(a.logsumexp(1).sum(), a, create_graph=True)\n(g * g).sum()", a=M)
add("cov", "(torch.cov(a), a.cov(correction=0))", a=M)
add("cov_1d", "a.cov()", a=In((5,)))
add("cov_w", "a.cov(fweights=f, aweights=w)", a=M, f=In((4,), "int64", 1, 3), w=In((4,), low=0.5), grad=False)
add("cov_f", "a.cov(fweights=f)", a=M, f=In((4,), "int64", 1, 3))
add("cov_i", "a.cov()", a=INTS)
add("cov_3d", "a.cov()", a=T)
add("cov_few", "a.cov()", a=In((2, 1)))
add("corrcoef", "torch.corrcoef(a)", a=M)
add("corrcoef_1d", "a.corrcoef()", a=In((5,)))

# --- scans
for name in ("cumsum", "cumprod", "logcumsumexp"):
    add(f"{name}_0", f"torch.{name}(a, 0)", a=M)
    add(f"{name}_neg", f"a.{name}(-1)", a=M)
    add(f"{name}_mid", f"a.{name}(dim=1)", a=T)
    add(f"{name}_t", f"a.{name}(1)", a=In((2, 3, 4), layout="transposed"))
    add(f"{name}_scalar", f"a.{name}(0)", a=In(()))
    add(f"{name}_empty", f"a.{name}(0)", a=In((0, 3)))
    add(f"{name}_f16", f"a.{name}(0)", a=In((3, 2), "float16"))
    add(f"{name}_f64", f"a.{name}(0)", a=In((3, 2), "float64"))
    add(f"{name}_i", f"a.{name}(1)", a=INTS)
    add(f"{name}_u8", f"a.{name}(1)", a=In((2, 3), "uint8", 0, 5))
    add(f"{name}_range", f"a.{name}(2)", a=M)
    add(f"{name}_nan", f"a.{name}(1)", a=HOLES, grad=False)
    add(f"{name}_out", f"o = torch.empty(0); (torch.{name}(a, 0, out=o), o)", a=M, grad=False)
for name in ("cumsum", "cumprod"):
    add(f"{name}_", f"a.{name}_(1)", a=M, grad=False)
    add(f"{name}__i32", f"a.{name}_(1)", a=In((2, 3), "int32", -3, 3))
    add(f"{name}_b", f"a.{name}(0)", a=BOOLS)
    add(f"{name}_c", f"a.{name}(0)", a=In((2, 3), "complex64"))
add("cumsum_long", "a.cumsum(0)[-1]", a=In((2000,), low=0), grad=False)
add("cumprod_zeros", "(a.cumprod(0), a.cumprod(1))", a=ZEROS)
add(
    "cumprod_double",
    "g, = torch.autograd.grad(a.cumprod(0).sum(), a, create_graph=True)\n(g * g).sum()",
    a=In((3,), low=0.5),
)
add("logcumsumexp_inf", "a.logcumsumexp(1)", a=In(values=[[-INF, -INF, 1.0], [0.0, INF, 2.0]]), grad=False)
for tag, code in {
    "1": "torch.diff(a)",
    "dim": "a.diff(dim=0)",
    "n": "a.diff(n=2)",
    "more": "a.diff(n=9)",
    "0": "a.diff(n=0)",
    "pre": "torch.diff(a, prepend=b, append=b)",
}.items():
    add(f"diff_{tag}", code, a=M, b=In((3, 1)))
add("diff_b", "a.diff()", a=BOOLS)
add("diff_scalar", "a.diff()", a=In(()))
add("diff_neg", "a.diff(n=-1)", a=M)
add(
    "trapezoid",
    "(torch.trapezoid(a) + 0, torch.trapezoid(a, dx=0.5, dim=0) + 0, torch.trapezoid(a, b) + 0, torch.trapezoid(a, "
    "a) + 0)",
    a=M,
    b=In((4,)),
)
add(
    "cumulative_trapezoid",
    "(torch.cumulative_trapezoid(a), torch.cumulative_trapezoid(a, b) + 0, torch.cumulative_trapezoid(a, dx=2))",
    a=M,
    b=In((4,)),
)

# --- order statistics
for name in ("median", "nanmedian"):
    add(f"{name}_all", f"torch.{name}(a)", a=M)
    add(f"{name}_odd", f"a.{name}()", a=In((5,)))
    add(f"{name}_dim", f"(a.{name}(0), a.{name}(1, keepdim=True))", a=M)
    add(f"{name}_nan", f"(a.{name}(), a.{name}(0), a.{name}(1))", a=HOLES, grad=False)
    add(f"{name}_i", f"(a.{name}(), a.{name}(1).values)", a=INTS)
    add(f"{name}_f16", f"a.{name}()", a=In((5,), "float16"))
    add(f"{name}_scalar", f"(a.{name}(), a.{name}(0))", a=In(()))
    add(f"{name}_empty", f"a.{name}()", a=In((0,)))
    add(f"{name}_empty_dim", f"a.{name}(0)", a=In((0,)))
    add(f"{name}_b", f"a.{name}()", a=BOOLS)
    add(f"{name}_t", f"a.{name}(1)", a=In((2, 3, 4), layout="transposed"))
add(
    "median_out",
    "v, i = torch.empty(0), torch.empty(0, dtype=torch.int64); torch.median(a, 0, out=(v, i))",
    a=M,
    grad=False,
)
add("mode", "(torch.mode(a), a.mode(0), a.mode(1, keepdim=True))", a=TIES)
add("mode_i", "(a.mode(), a.mode(0))", a=In((4, 7), "int64", 0, 3))
add("mode_b", "a.mode()", a=BOOLS)
add("mode_scalar", "a.mode()", a=In(()))
add("mode_empty", "a.mode()", a=In((0,)))
for name in ("quantile", "nanquantile"):
    add(f"{name}_all", f"torch.{name}(a, 0.3)", a=M)
    add(f"{name}_dim", f"(a.{name}(0.3, 0), a.{name}(0.75, dim=1, keepdim=True))", a=M)
    add(f"{name}_many", f"a.{name}(q)", a=M, q=In(values=[0.0, 0.25, 1.0], dtype="float32", grad=False))
    add(f"{name}_many_dim", f"a.{name}(q, dim=1)", a=T, q=In(values=[0.1, 0.9], dtype="float32", grad=False))
    add(
        f"{name}_many_keep",
        f"a.{name}(q, dim=0, keepdim=True)",
        a=M,
        q=In(values=[0.1, 0.9], dtype="float32", grad=False),
    )
    add(f"{name}_nan", f"(a.{name}(0.5), a.{name}(0.5, dim=1))", a=HOLES, grad=False)
    for way in ("lower", "higher", "midpoint", "nearest", "other"):
        add(f"{name}_{way}", f"a.{name}(0.4, dim=1, interpolation='{way}')", a=M)
    add(f"{name}_bad_q", f"a.{name}(2.0)", a=M)
    add(f"{name}_bad_qs", f"a.{name}(torch.tensor([0.5, 1.5]))", a=M)
    add(f"{name}_empty", f"a.{name}(0.5)", a=In((0,)))
    add(f"{name}_types", f"a.{name}(torch.tensor([0.5], dtype=torch.float64))", a=M)
    add(f"{name}_i", f"a.{name}(0.5)", a=INTS)
    add(f"{name}_q2d", f"a.{name}(torch.ones(1, 1))", a=M)
