"""Oracle cases: sparse tensors. Gradients are those of the values and of dense operands."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []
F64 = "float64"
INDICES = "i = torch.tensor([[0, 2, 0, 1], [1, 0, 1, 3]])"
COO = f"{INDICES}; s = torch.sparse_coo_tensor(i, v, (3, 4))"
CSR = "s = torch.sparse_csr_tensor(torch.tensor([0, 2, 2, 4]), torch.tensor([0, 3, 1, 2]), v, (3, 4))"

# PyTorch has no backward of these.
NO_GRADIENT = (("coo", "tanh"), ("csr", "tanh"), ("csr", "elementwise"))


def case(id: str, code: str, *, grad: bool = True, **inputs: In) -> None:
    CASES.append(Case(id, code, grad=grad, strides=False, v=In((4,), F64), **inputs))


for _kind, _make in (("coo", COO), ("csr", CSR)):
    for _id, _code in (
        ("dense", "s.to_dense() * 1"),
        ("mm", "torch.mm(s, d) * 1"),
        ("matmul", "(s @ d) * 1"),
        ("sparse_mm", "torch.sparse.mm(s, d) * 1"),
        ("from_left", "(e @ s) * 1"),
        ("mv", "torch.mv(s, d[:, 0]) * 1"),
        ("number", "(s * 2.5).to_dense() * 1"),
        ("divided", "(s / 2).to_dense() * 1"),
        ("negative", "(-s).to_dense() * 1"),
        ("sum", "s.sum() * 1"),
        ("add", "(s + s).to_dense() * 1"),
        ("sub", "(s - s * 3).to_dense() * 1"),
        ("dense_add", "(m + s) * 1"),
        ("elementwise", "(s * m).to_dense() * 1"),
        ("transposed", "s.t().to_dense() * 1"),
        ("addmm", "torch.sparse.addmm(o, s, d, beta=2., alpha=3.) * 1"),
        ("tanh", "s.tanh().to_dense() * 1"),
        ("abs", "s.abs().to_dense() * 1"),
        ("clone", "s.clone().to_dense() * 1"),
        ("single", "s.to(torch.float32).to_dense() * 1"),
    ):
        _all = {"d": In((4, 2), F64), "e": In((2, 3), F64), "m": In((3, 4), F64), "o": In((3, 2), F64)}
        _used = {
            k: i
            for k, i in _all.items()
            if f"({k} " in _code or f", {k}" in _code or f"@ {k}" in _code or f"* {k})" in _code or f"({k}," in _code
        }
        if (_kind, _id) not in (("csr", "divided"), ("csr", "sub")):  # which PyTorch refuses
            case(f"{_kind}_{_id}", f"{_make}; {_code}", grad=(_kind, _id) not in NO_GRADIENT, **_used)
case(
    "coalesce",
    f"{COO}; c = s.coalesce(); [c.indices(), c.values() * 1, c._nnz(), s._nnz(), c.is_coalesced(), s.is_coalesced()]",
)
case(
    "facts",
    f"{COO}; [tuple(s.shape), s.dim(), s.sparse_dim(), s.dense_dim(), s.is_sparse, str(s.layout), str(s.dtype), "
    "s.numel(), s.requires_grad]",
)
case(
    "csr_parts",
    f"{CSR}; [s.crow_indices(), s.col_indices(), s.values() * 1, str(s.layout), s.is_sparse, s.is_sparse_csr]",
)
case("shown", f"{COO}; repr(s)", grad=False)
case("to_csr", f"{COO}; c = s.to_sparse_csr(); [c.crow_indices(), c.col_indices(), c.values() * 1]")
case("to_csc", f"{COO}; c = s.to_sparse_csc(); [c.ccol_indices(), c.row_indices(), c.values() * 1]")
case("to_coo", f"{CSR}; c = s.to_sparse_coo(); [c.indices(), c.values() * 1]")
case(
    "from_dense",
    "s = m.to_sparse(); [s.indices(), s.values() * 1]",
    m=In((2, 3), F64, values=[[0, 1.5, 0], [2, 0, -3]]),
)
case(
    "from_dense_csr",
    "s = m.to_sparse_csr(); [s.crow_indices(), s.col_indices(), s.values() * 1]",
    m=In((2, 3), F64, values=[[0, 1.5, 0], [2, 0, -3]]),
)
case(
    "hybrid",
    "s = torch.sparse_coo_tensor(torch.tensor([[0, 2, 0]]), w, (3, 2)); [s.to_dense() * 1, s.sparse_dim(), "
    "s.dense_dim()]",
    w=In((3, 2), F64),
)
case("size_found", f"{INDICES}; tuple(torch.sparse_coo_tensor(i, v).shape)")
case("size_only", "s = torch.sparse_coo_tensor((2, 3)); [s.to_dense(), s._nnz()]")
case("sparse_product", f"{COO}; torch.sparse.mm(s, s.t()).to_dense() * 1")
case("sum_rows", f"{COO}; torch.sparse.sum(s, 0).to_dense() * 1")
case("sum_columns", f"{COO}; torch.sparse.sum(s, [1]).to_dense() * 1")
case("sum_all", f"{COO}; torch.sparse.sum(s) * 1")
case("softmax", f"{COO}; torch.sparse.softmax(s.coalesce(), 1).to_dense() * 1")
case("log_softmax", f"{COO}; torch.sparse.log_softmax(s.coalesce(), 0).to_dense() * 1")
case("mask", f"{COO}; m.sparse_mask(s.coalesce()).to_dense() * 1", m=In((3, 4), F64))
case("cat", grad=False, code=f"{COO}; torch.cat([s, s], 1).to_dense() * 1")
case("index_select", grad=False, code=f"{COO}; s.index_select(0, torch.tensor([2, 0, 0])).to_dense() * 1")
case("select", grad=False, code=f"{COO}; s[0].to_dense() * 1")
case("spdiags", "torch.sparse.spdiags(w, torch.tensor([0, -1, 2]), (4, 5)).to_dense()", grad=False, w=In((3, 5), F64))
case(
    "sampled",
    f"{CSR}; torch.sparse.sampled_addmm(s, a, b, beta=0.5, alpha=2.).to_dense() * 1",
    grad=False,
    a=In((3, 2), F64),
    b=In((2, 4), F64),
)
case(
    "leaf",
    f"{INDICES}; s = torch.sparse_coo_tensor(i, v.detach(), (3, 4), requires_grad=True); torch.sparse.mm(s, "
    "d).sum().backward(); s.grad.to_dense()",
    grad=False,
    d=In((4, 2), F64),
)
case(
    "embedding",
    "e = torch.nn.Embedding(5, 2, sparse=True, dtype=torch.float64); e(torch.tensor([[1, 3], [1, "
    "4]])).pow(2).sum().backward()\n"
    "[e.weight.grad.is_sparse, e.weight.grad._nnz(), (e.weight.grad.to_dense() - 2 * e.weight * torch.tensor([[0.], "
    "[2.], [0.], [1.], [1.]])).abs().max().item() < 1e-12]",
    grad=False,
)
case(
    "embedding_padding",
    "torch.nn.functional.embedding(torch.tensor([1, 0, 1]), w, padding_idx=0, sparse=True).sum().backward(); "
    "w.grad.to_dense()",
    w=In((3, 2), F64),
)
case(
    "embedding_twice",
    "for k in range(2):\n    torch.nn.functional.embedding(torch.tensor([1, 0]), w, "
    "sparse=True).sum().backward()\nw.grad.to_dense()",
    w=In((3, 2), F64),
)
for _name, _options in (
    ("SGD", "lr=0.1"),
    ("SGD", "lr=0.1, momentum=0.9"),
    ("SparseAdam", "lr=0.1"),
    ("SparseAdam", "lr=0.1, betas=(0.5, 0.9), maximize=True"),
):
    case(
        f"{_name}_{_options}",
        f"p = torch.nn.Parameter(w.detach().clone()); o = torch.optim.{_name}([p], {_options})\n"
        "for k in range(3):\n    o.zero_grad(); torch.nn.functional.embedding(torch.tensor([1, 3, 1]), p, "
        "sparse=True).pow(2).sum().backward(); o.step()\n"
        "p.detach()",
        grad=False,
        w=In((5, 2), F64),
    )
for _id, _code in (
    ("nnz", "torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.ones(3), (2,))"),
    ("dims", "torch.sparse_coo_tensor(torch.tensor([0, 1]), torch.ones(2))"),
    ("values", f"{COO}; s.values()"),
    ("indices", f"{COO}; s.indices()"),
    ("bounds", "torch.sparse_coo_tensor(torch.tensor([[0, 5]]), torch.ones(2), (2,), check_invariants=True)"),
    (
        "dense_gradient",
        "p = torch.nn.Parameter(torch.ones(2)); o = torch.optim.SparseAdam([p]); p.grad = torch.ones(2); o.step()",
    ),
):
    case(f"error_{_id}", _code, grad=False)
CASES.append(Case("scalar_to_sparse_and_back", "torch.tensor(3.0).to_sparse().to_dense()"))

for _how in ("sum", "mean", "amax", "amin", "max"):
    case(f"mm_reduce_{_how}", f"{CSR}; torch.sparse.mm(s, d, {_how!r}) * 1", d=In((4, 2), F64))
case("mm_reduce_prod", f"{CSR}; torch.sparse.mm(s, torch.ones(4, 2, dtype=torch.float64), 'prod')", grad=False)
case("dsmm", f"{COO}; torch.dsmm(s, d) * 1", d=In((4, 2), F64))
case("smm", f"{COO}; t = torch.smm(s, d); [t.is_sparse, t.to_dense() * 1]", grad=False, d=In((4, 2), F64))
case("hspmm", f"{COO}; t = torch.hspmm(s, d); [t.sparse_dim(), t.to_dense() * 1]", grad=False, d=In((4, 2), F64))
case("linear", f"{COO}; F.linear(s, d) * 1", d=In((2, 4), F64))
case("mark_coalesced", f"{COO}; s._coalesced_(True); [s.is_coalesced(), s.values() * 1]", grad=False)
case(
    "hybrid_csr",
    f"{COO}; t = torch.stack([v, v * 2], 1); "
    "c = torch.sparse_coo_tensor(i, t, (3, 4, 2)).to_sparse_csr(); [c.crow_indices(), c.col_indices(), c.values() * 1]",
    grad=False,
)
case(
    "compressed_indices",
    "r = torch.tensor([0, 0, 2]); "
    "[torch._convert_indices_from_coo_to_csr(r, 4), torch._convert_indices_from_coo_to_csr(r, 4, out_int32=True), "
    "torch._convert_indices_from_csr_to_coo(torch.tensor([0, 2, 2, 3]), torch.tensor([1, 2, 0]))]",
    grad=False,
)
case(
    "old_constructor",
    f"{INDICES}; s = torch.sparse.DoubleTensor(i, v.detach(), torch.Size([3, 4])); "
    "[isinstance(s, torch.sparse.DoubleTensor), isinstance(s, torch.sparse.FloatTensor), s.to_dense()]",
    grad=False,
)
case(
    "SparseAdam_of_a_number",
    "p = torch.nn.Parameter(w.detach().clone()); o = torch.optim.SparseAdam([p], lr=0.1)\n"
    "for k in range(3):\n    p.grad = (p.detach() * 2).to_sparse(); o.step()\n"
    "[p.detach(), o.state[p]['exp_avg'], o.state[p]['exp_avg_sq']]",
    grad=False,
    w=In((), F64),
)
