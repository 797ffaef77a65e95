"""Cases of the ops that order values and search in ordered ones."""

from __future__ import annotations

from .harness import Case, In

NAN, INF = float("nan"), float("inf")
M = In((3, 5))
HOLES = In(values=[[1.0, NAN, 3.0, -INF], [NAN, NAN, 0.0, INF]])
TIES = In(values=[[2.0, 1.0, 2.0, 1.0], [0.0, 0.0, 0.0, -1.0]])
INTS = In((3, 4), "int64", -5, 5)
CASES: list[Case] = []


def add(id: str, code: str, **more: object) -> None:
    CASES.append(Case(id, code, **more))  # type: ignore[arg-type]


for tag, args in {
    "": "",
    "0": "0",
    "desc": "descending=True",
    "0desc": "0, True",
    "neg": "dim=-2",
    "stable": "stable=True",
    "stable_desc": "stable=True, dim=0, descending=True",
    "unstable": "stable=False",
}.items():
    add(f"sort_{tag}", f"a.sort({args})", a=M)
    add(f"sort_ties_{tag}", f"a.sort({args})", a=TIES)
    add(f"argsort_{tag}", f"a.argsort({args})", a=TIES)
add("sort_nan", "(a.sort(), a.sort(descending=True), a.sort(0))", a=HOLES, grad=False)
add("sort_fields", "r = torch.sort(a); (r.values, r.indices, type(r).__name__)", a=M)
add("sort_i", "(a.sort(), a.sort(0, True))", a=INTS)
add("sort_b", "(a.sort(), a.sort(descending=True))", a=In((2, 5), "bool"))
add("sort_u8", "a.sort()", a=In((2, 5), "uint8", 0, 255))
add("sort_f16", "a.sort()", a=In((2, 5), "float16"))
add("sort_f64", "a.sort()", a=In((2, 5), "float64"))
add("sort_t", "(a.sort(), a.sort(0), a.sort(1, True))", a=In((2, 3, 4), layout="transposed"))
add("sort_s", "a.sort()", a=In((2, 3), layout="strided"))
add("sort_scalar", "a.sort()", a=In(()))
add("sort_empty", "(a.sort(), a.sort(0))", a=In((0, 3)), strides=False)
add("sort_range", "a.sort(2)", a=M)
add("sort_c", "a.sort()", a=In((2,), "complex64"))
add(
    "sort_out",
    "v, i = torch.empty(0), torch.empty(0, dtype=torch.int64); (torch.sort(a, out=(v, i)), v, i)",
    a=M,
    grad=False,
)
add("msort", "torch.msort(a)", a=M)
add("argsort_scalar", "a.argsort()", a=In(()))

for tag, args in {
    "1": "1",
    "2": "2",
    "all": "5",
    "zero": "0",
    "dim": "2, 0",
    "small": "2, largest=False",
    "kw": "k=2, dim=-1, largest=True, sorted=True",
}.items():
    add(f"topk_{tag}", f"a.topk({args})", a=M)
add("topk_long", "(a.topk(5), a.topk(3, largest=False))", a=In((2, 100)))
add(
    "topk_nan",
    "(a.topk(2), a.topk(3, largest=False))",
    a=In(values=[[1.0, NAN, 3.0, -INF], [2.0, NAN, 0.0, INF]]),
    grad=False,
)
add("topk_i", "torch.topk(a, 2, dim=0)", a=In(values=[[1, 5], [7, -2], [3, 3]], dtype="int64"))
add("topk_f16", "a.topk(2)", a=In((2, 5), "float16"))
add("topk_t", "a.topk(2, 1)", a=In((2, 3, 4), layout="transposed"))
add("topk_scalar", "(a.topk(1), a.topk(0))", a=In(()))
add("topk_bad", "a.topk(6)", a=M)
add("topk_neg", "a.topk(-1)", a=M)
add("topk_c", "a.topk(1)", a=In((2,), "complex64"))
add("topk_b", "a.topk(1)", a=In((2,), "bool"))
add("topk_range", "a.topk(1, 2)", a=M)
add("topk_fields", "r = torch.topk(a, 1); (r.values, r.indices)", a=M)

for tag, args in {"1": "1", "3": "3", "dim": "2, 0", "keep": "2, keepdim=True", "kw": "k=5, dim=1"}.items():
    add(f"kthvalue_{tag}", f"a.kthvalue({args})", a=M)
add("kthvalue_long", "a.kthvalue(33)", a=In((2, 100)))
add("kthvalue_nan", "torch.kthvalue(a, 1).values", a=HOLES, grad=False)
add("kthvalue_i", "a.kthvalue(2).values", a=INTS)
add("kthvalue_scalar", "a.kthvalue(1)", a=In(()))
add("kthvalue_bad", "a.kthvalue(6)", a=M)
add("kthvalue_zero", "a.kthvalue(0)", a=M)
add("kthvalue_empty", "a.kthvalue(1)", a=In((0,)))
add("kthvalue_b", "a.kthvalue(1)", a=In((2,), "bool"))

EDGES = In(values=[-1.0, 0.0, 0.0, 1.0], dtype="float32")
VALUES = In(values=[[-2.0, -1.0, 0.0], [0.5, 1.0, 3.0]], dtype="float32")
for tag, args in {
    "": "",
    "right": ", right=True",
    "side": ", side='right'",
    "left": ", side='left'",
    "int32": ", out_int32=True",
}.items():
    add(f"searchsorted_{tag}", f"torch.searchsorted(e, v{args})", e=EDGES, v=VALUES, grad=False)
add(
    "searchsorted_number",
    "(torch.searchsorted(e, 0.0), torch.searchsorted(e, 0, right=True), torch.searchsorted(e, v[0, 0]))",
    e=EDGES,
    v=VALUES,
    grad=False,
)
add(
    "searchsorted_rows",
    "torch.searchsorted(e, v)",
    e=In(values=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    v=In(values=[[0.0, 2.5], [5.0, 7.0]]),
    grad=False,
)
add("searchsorted_i", "torch.searchsorted(e, v)", e=In(values=[1, 3, 5], dtype="int64"), v=In((2, 3), "int64", 0, 6))
add("searchsorted_mixed", "torch.searchsorted(e, v)", e=EDGES, v=In((3,), "int64", -2, 2), grad=False)
add(
    "searchsorted_sorter",
    "torch.searchsorted(e, v, sorter=torch.argsort(e))",
    e=In(values=[3.0, 1.0, 2.0]),
    v=VALUES,
    grad=False,
)
add("searchsorted_nan", "torch.searchsorted(e, v)", e=EDGES, v=In(values=[NAN, INF, -INF]), grad=False)
add("searchsorted_t", "torch.searchsorted(e, v)", e=EDGES, v=In((2, 3), layout="transposed"), grad=False)
add(
    "searchsorted_empty",
    "(torch.searchsorted(torch.empty(0), e), torch.searchsorted(e, torch.empty(0)))",
    e=EDGES,
    grad=False,
)
for tag, code in {
    "side": "torch.searchsorted(e, 1, side='x')",
    "opposite": "torch.searchsorted(e, 1, right=True, side='left')",
    "rows": "torch.searchsorted(torch.ones(2, 3), torch.ones(3, 3))",
    "scalar": "torch.searchsorted(torch.tensor(3.0), e)",
    "number": "torch.searchsorted(torch.ones(2, 3), 3)",
    "sorter": "torch.searchsorted(e, e, sorter=torch.arange(2))",
    "sorter_type": "torch.searchsorted(e, e, sorter=e)",
}.items():
    add(f"searchsorted_bad_{tag}", code, e=EDGES, grad=False)
for tag, args in {"": "", "right": ", right=True", "int32": ", out_int32=True"}.items():
    add(f"bucketize_{tag}", f"torch.bucketize(v, e{args})", e=EDGES, v=VALUES, grad=False)
add("bucketize_number", "(torch.bucketize(0.5, e), torch.bucketize(0, e, right=True))", e=EDGES, grad=False)
add("bucketize_bad", "torch.bucketize(v, v)", v=VALUES, grad=False)
add("sort_double", "g, = torch.autograd.grad((a.sort()[0] ** 3).sum(), a, create_graph=True)\n(g * g).sum()", a=M)
