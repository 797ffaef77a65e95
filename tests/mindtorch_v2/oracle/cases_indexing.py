"""Cases of the ops that read from, or write to, positions given by index tensors or masks."""

from __future__ import annotations

from . import index_table_cases
from .harness import Case, In

M = In((4, 3))
T = In((2, 4, 3))
TT = In((2, 4, 3), layout="transposed")
INDICES = In(values=[2, 0, 2], dtype="int64")
J = In(values=[0, 1, -1], dtype="int64")
K = In(values=[[0, 1], [3, 1]], dtype="int64")
MASK = In((4, 3), "bool")
ROWS = In(values=[True, False, True, False], dtype="bool")
CASES: list[Case] = []


def add(id: str, code: str, **more: object) -> None:
    CASES.append(Case(id, code, **more))  # type: ignore[arg-type]


# --- advanced indexing
GET = {
    "rows": "a[i]",
    "two": "a[i, j]",
    "column": "a[:, j]",
    "matrix": "a[k]",
    "int32": "a[i.int()]",
    "mixed": "a[k, 1]",
    "range": "a[1:, j]",
    "none": "a[None, i]",
    "list": "a[[0, 2]]",
    "mask": "a[m]",
    "row_mask": "a[r]",
    "mask_column": "a[r, 1]",
    "mask_index": "a[r, j[:2]]",
    "column_mask": "a[:, m[0]]",
    "empty": "a[i[:0]]",
    "neg": "a[-i]",
    "far": "a[i + 9]",
    "low": "a[i - 9]",
    "float": "a[i.float()]",
    "many": "a[i, i, i]",
    "shapes": "a[i, j[:2]]",
    "mask_size": "a[r[:3]]",
    "mask_size2": "a[m[:, :2]]",
    "scalar": "a[torch.tensor(2)]",
    "broadcast": "a[i.reshape(3, 1), j]",
    "ellipsis": "a[..., j]",
    "uint8": "a[r.to(torch.uint8)]",
    "slice_index": "a[::2, j]",
}
for tag, code in GET.items():
    add(f"get_{tag}", code, a=M, i=INDICES, j=J, k=K, m=MASK, r=ROWS)
GET3 = {
    "mid": "a[:, i]",
    "last": "a[:, :, j]",
    "first_last": "a[b, :, j]",
    "mid_last": "a[:, i, j]",
    "mid_matrix": "a[:, k]",
    "all": "a[b, i, j]",
    "mask": "a[:, m]",
    "whole_mask": "a[a > 0]",
    "select": "a[0, :, j]",
    "far_mid": "a[:, i + 3]",
}
for tag, code in GET3.items():
    for form, spec in (("", T), ("_t", TT)):
        add(
            f"get3_{tag}{form}",
            code,
            strides=not form,
            a=spec,
            b=In(values=[1, 0, 1], dtype="int64"),
            i=INDICES,
            j=J,
            k=K,
            m=MASK,
        )
add("get_i", "a[i]", a=In((4, 2), "int64", -9, 9), i=INDICES)
add("get_b", "a[i]", a=In((4, 2), "bool"), i=INDICES)
add("get_f16", "a[i, j]", a=In((4, 3), "float16"), i=INDICES, j=J)
add("get_c", "a[i]", a=In((4, 3), "complex64"), i=INDICES)
add("get_1d", "a[i]", a=In((4,)), i=INDICES)
add("get_double", "g, = torch.autograd.grad((a[i] ** 3).sum(), a, create_graph=True)\n(g * g).sum()", a=M, i=INDICES)
add("get_wide", "a[i]", a=In((5, 40)), i=In((60,), "int64", 0, 4))
SET = {
    "rows": "(i,), v",
    "number": "(i,), torch.tensor(5.0)",
    "one": "(i,), torch.ones(1)",
    "two": "(i, j), v[:, 0]",
    "add": "(i,), v, True",
    "add_two": "(i, j), v[0], True",
    "add_row": "(i,), v[0], True",
    "mask": "(m,), torch.tensor(0.5)",
    "mask_one": "(m,), torch.ones(1)",
    "row_mask": "(r,), v[:2]",
    "row_mask_number": "(r,), torch.tensor(2.0)",
    "add_mask": "(m,), torch.tensor(0.5), True",
    "far": "(i + 9,), v",
    "types": "(i,), v.double()",
    "shape": "(i,), v[:, :2]",
    "mask_shape": "(m,), torch.ones(99)",
}
for tag, args in SET.items():
    if tag in ("two", "add_two"):  # repeated indices would make the result depend on the order
        add(f"put_{tag}", f"a.index_put({args})", a=M, i=INDICES, j=J, m=MASK, r=ROWS, v=In((3, 3)), grad=tag != "two")
    else:
        add(
            f"put_{tag}",
            f"a.index_put({args})",
            a=M,
            i=INDICES if "add" in tag else In(values=[2, 0, 3], dtype="int64"),
            m=MASK,
            r=ROWS,
            v=In((3, 3)),
        )
        add(
            f"put__{tag}",
            f"a.clone().index_put_({args})",
            a=M,
            i=INDICES if "add" in tag else In(values=[2, 0, 3], dtype="int64"),
            m=MASK,
            r=ROWS,
            v=In((3, 3)),
        )
add("set3_mid", "b = a.clone()\nb[:, i] = v\nb", a=T, i=In(values=[3, 1], dtype="int64"), v=In((2, 2, 3)))
add("set3_outer", "b = a.clone()\nb[k, :, j] = v\nb", a=T, k=In(values=[0, 1, 1], dtype="int64"), j=J, v=In((3, 4)))
add("put_i", "a.index_put((i,), v, True)", a=In((4, 2), "int64", -9, 9), i=INDICES, v=In((3, 2), "int64", -9, 9))
add(
    "put_double",
    "g, = torch.autograd.grad((a.index_put((i,), v, True) ** 3).sum(), [v], create_graph=True)\n(g * g).sum()",
    a=M,
    i=INDICES,
    v=In((3, 3)),
)
add("set_rows", "b = a.clone()\nb[i] = v\nb", a=M, i=In(values=[2, 0, 3], dtype="int64"), v=In((3, 3)))
add("set_mask", "b = a.clone()\nb[b > 0] = 0.0\nb", a=M)
add("set_mask_values", "b = a.clone()\nb[m] = v[:int(m.sum())]\nb", a=M, m=MASK, v=In((12,)))
add("set_column", "b = a.clone()\nb[:, i] = 7.0\nb", a=In((2, 4)), i=INDICES)

# --- one index for one dimension
for tag, code in {
    "0": "torch.index_select(a, 0, i)",
    "1": "a.index_select(1, j.abs())",
    "neg": "a.index_select(-1, j.abs())",
    "int32": "a.index_select(0, i.int())",
    "scalar": "a.index_select(0, i[0])",
    "empty": "a.index_select(0, i[:0])",
    "far": "a.index_select(0, i + 9)",
    "low": "a.index_select(0, -i)",
    "far1": "a.index_select(1, i + 9)",
    "2d": "a.index_select(0, i.reshape(1, 3))",
    "float": "a.index_select(0, i.float())",
    "dim": "a.index_select(2, i)",
}.items():
    add(f"index_select_{tag}", code, a=M, i=INDICES, j=J)
add("index_select_0d", "a.index_select(0, torch.tensor([0]))", a=In(()))
add("index_select_0d_two", "a.index_select(0, torch.tensor([0, 0]))", a=In(()))
add("index_select_t", "a.index_select(1, i)", a=TT, i=INDICES)
add("index_select_out", "o = torch.empty(0); torch.index_select(a, 0, i, out=o)", a=M, i=INDICES, grad=False)
add(
    "index_select_double",
    "g, = torch.autograd.grad((a.index_select(0, i) ** 3).sum(), a, create_graph=True)\n(g * g).sum()",
    a=M,
    i=INDICES,
)
for name in ("index_add", "index_copy"):
    index = INDICES if name == "index_add" else In(values=[2, 0, 3], dtype="int64")
    for tag, code in {
        "0": "torch.{n}(a, 0, i, s)",
        "1": "a.{n}(1, i[:2] % 3, s[:2].t().reshape(3, 2)[[0, 1, 2, 0]])",
        "far": "a.{n}(0, i + 9, s)",
        "low": "a.{n}(0, -i - 1, s)",
        "count": "a.{n}(0, i[:2], s)",
        "shape": "a.{n}(0, i, s[:, :2])",
        "float": "a.{n}(0, i.float(), s)",
        "types": "a.{n}(0, i, s.double())",
        "2d": "a.{n}(0, i.reshape(1, 3), s)",
        "inplace": "a.clone().{n}_(0, i, s)",
    }.items():
        if tag != "1" or name == "index_add":
            add(f"{name}_{tag}", code.format(n=name), a=M, i=index, s=In((3, 3)))
    add(f"{name}_0d", f"a.{name}(0, torch.tensor([0]), s)", a=In(()), s=In(()))
    add(f"{name}_t", f"a.{name}(1, i, s)", a=TT, i=index, s=In((2, 3, 3)))
    add(f"{name}_i", f"a.{name}(0, i, s)", a=In((4, 3), "int32", -5, 5), i=index, s=In((3, 3), "int32", -5, 5))
add("index_add_alpha", "a.index_add(0, i, s, alpha=-2)", a=M, i=INDICES, s=In((3, 3)))
add("index_add_f16", "a.index_add(0, i, s)", a=In((4, 3), "float16"), i=INDICES, s=In((3, 3), "float16"))
for tag, code in {
    "0": "a.index_fill(0, i, 5)",
    "1": "torch.index_fill(a, -1, j, 2.5)",
    "tensor": "a.index_fill(0, i, v)",
    "inplace": "a.clone().index_fill_(0, i, 1.5)",
    "inplace_tensor": "a.clone().index_fill_(0, i, v)",
    "far": "a.index_fill(0, i + 9, 1)",
    "neg": "a.index_fill(0, -i, 1)",
    "2d": "a.index_fill(0, i.reshape(1, 3), 1)",
    "float": "a.index_fill(0, i.float(), 1)",
    "vector": "a.index_fill(0, i, a[0])",
    "complex": "a.index_fill(0, i, 2j)",
}.items():
    add(f"index_fill_{tag}", code, a=M, i=INDICES, j=J, v=In(()))
add("index_fill_i", "a.index_fill(0, i, 2.5)", a=In((4, 2), "int64", -5, 5), i=INDICES)
add("index_fill_t", "a.index_fill(1, i, 1.0)", a=TT, i=INDICES)
for way in ("prod", "mean", "amax", "amin"):
    add(f"index_reduce_{way}", f"a.index_reduce(0, i, s, '{way}')", a=M, i=INDICES, s=In((3, 3)))
    add(
        f"index_reduce_{way}_alone",
        f"a.index_reduce(0, i, s, '{way}', include_self=False)",
        a=M,
        i=INDICES,
        s=In((3, 3)),
    )
add("index_reduce_bad", "a.index_reduce(0, i, s, 'x')", a=M, i=INDICES, s=In((3, 3)))

# --- one index per element
G0 = In(values=[[0, 3, 1], [2, 2, 0]], dtype="int64")
G1 = In(values=[[0, 2], [1, 1], [2, 0]], dtype="int64")
for tag, code in {
    "0": "torch.gather(a, 0, g)",
    "1": "a.gather(1, h)",
    "neg": "a.gather(-1, h)",
    "int32": "a.gather(0, g.int())",
    "long": "a.gather(0, g[[0, 1, 0, 1, 0]])",
    "far": "a.gather(0, g + 9)",
    "low": "a.gather(0, -g)",
    "dims": "a.gather(0, g[0])",
    "size": "a.gather(0, torch.zeros(1, 4, dtype=torch.int64))",
    "float": "a.gather(0, g.float())",
    "range": "a.gather(2, g)",
    "empty": "a.gather(0, g[:0])",
    "sparse": "a.gather(0, g, sparse_grad=False)",
}.items():
    add(f"gather_{tag}", code, a=M, g=G0, h=G1)
add(
    "gather_3d", "(a.gather(1, g), a.gather(2, h))", a=T, g=In((2, 5, 3), "int64", 0, 3), h=In((2, 4, 1), "int64", 0, 2)
)
add("gather_t", "a.gather(1, g)", a=TT, g=In((2, 5, 3), "int64", 0, 3))
add("gather_0d", "(a.gather(0, torch.tensor(0)), a.gather(0, torch.tensor([0, 0])))", a=In(()))
add("gather_1d_0d", "a.gather(0, torch.tensor(1))", a=In((3,)))
add("gather_out", "o = torch.empty(0); torch.gather(a, 0, g, out=o)", a=M, g=G0, grad=False)
add(
    "gather_double",
    "r, = torch.autograd.grad((a.gather(0, g) ** 3).sum(), a, create_graph=True)\n(r * r).sum()",
    a=M,
    g=G0,
)
S = In((2, 3))
ONCE = In(values=[[0, 3, 1], [2, 1, 0]], dtype="int64")
for tag, code in {
    "0": "torch.scatter(a, 0, g, s)",
    "value": "a.scatter(0, g, 2.5)",
    "kw": "a.scatter(0, g, value=1)",
    "inplace": "a.clone().scatter_(0, g, s)",
    "inplace_value": "a.clone().scatter_(0, g, -1.0)",
    "less": "a.scatter(0, g[:, :2], s)[0].detach()",
    "far": "a.scatter(0, g + 9, s)",
    "low": "a.scatter(0, -g, 1.0)",
    "dims": "a.scatter(0, g[0], 1.0)",
    "size": "a.scatter(0, torch.zeros(1, 4, dtype=torch.int64), 1.0)",
    "src": "a.scatter(0, g, s[:, :2])",
    "types": "a.scatter(0, g, s.double())",
    "float": "a.scatter(0, g.float(), s)",
    "empty": "a.scatter(0, g[:0], 1.0)",
    "int32": "a.scatter(0, g.int(), s)",
    "add": "a.detach().scatter(0, g, s.detach(), reduce='add')",
    "multiply": "a.detach().scatter(0, g, s.detach(), reduce='multiply')",
    "value_add": "a.detach().scatter(0, g, 2.0, reduce='add')",
    "bad_reduce": "a.scatter(0, g, s, reduce='x')",
    "reduce_grad": "a.scatter(0, g, s, reduce='add').sum().backward()",
}.items():
    add(f"scatter_{tag}", code, a=M, g=ONCE, s=S)
add("scatter_1", "a.scatter(1, h, s)", a=M, h=In(values=[[0, 2], [1, 0], [2, 1]], dtype="int64"), s=In((3, 2)))
add(
    "scatter_3d", "(a.scatter(1, g, 1.0), a.scatter_add(1, g, s))", a=T, g=In((2, 5, 3), "int64", 0, 3), s=In((2, 5, 3))
)
add("scatter_t", "a.scatter(1, g, 1.0)", a=TT, g=In((2, 5, 3), "int64", 0, 3))
add(
    "scatter__t",
    "b = a.detach().clone(); b.transpose(1, 2).scatter_(1, g, 1.0); b",
    a=T,
    g=In((2, 3, 4), "int64", 0, 2),
)
add(
    "scatter_i",
    "(a.scatter(0, g, s), a.scatter(0, g, 7))",
    a=In((4, 3), "int32", -5, 5),
    g=ONCE,
    s=In((2, 3), "int32", -5, 5),
)
for tag, code in {
    "0": "torch.scatter_add(a, 0, g, s)",
    "inplace": "a.clone().scatter_add_(0, g, s)",
    "far": "a.scatter_add(0, g + 9, s)",
    "types": "a.scatter_add(0, g, s.double())",
    "double": "r, = torch.autograd.grad((a.scatter_add(0, g, s) ** 3).sum(), s, create_graph=True)\n(r * r).sum()",
}.items():
    add(f"scatter_add_{tag}", code, a=M, g=G0, s=S)
add("scatter_add_i", "a.scatter_add(0, g, s)", a=In((4, 3), "int64", -5, 5), g=G0, s=In((2, 3), "int64", -5, 5))
add("scatter_add_b", "a.scatter_add(0, g, s)", a=In((4, 3), "bool"), g=G0, s=In((2, 3), "bool"))
add("scatter_add_f16", "a.scatter_add(0, g, s)", a=In((4, 3), "float16"), g=G0, s=In((2, 3), "float16"))
ZERO = In(values=[[0.0, 1.5, -2.0], [0.0, 0.0, 3.0]])
for way in ("sum", "prod", "mean", "amax", "amin"):
    add(f"scatter_reduce_{way}", f"a.scatter_reduce(0, g, s, '{way}')", a=M, g=G0, s=S)
    add(
        f"scatter_reduce_{way}_alone",
        f"torch.scatter_reduce(a, 0, g, s, reduce='{way}', include_self=False)",
        a=M,
        g=G0,
        s=S,
    )
    add(f"scatter_reduce_{way}_zero", f"a.scatter_reduce(0, g, s, '{way}')", a=In((4, 3)), g=G0, s=ZERO)
    add(
        f"scatter_reduce_{way}_i",
        f"a.scatter_reduce(0, g, s, '{way}')",
        a=In((4, 3), "int64", 0, 9),
        g=G0,
        s=In((2, 3), "int64", 0, 9),
    )
    add(f"scatter_reduce_{way}_", f"a.clone().scatter_reduce_(0, g, s, '{way}')", a=M, g=G0, s=S)
add("scatter_reduce_bad", "a.scatter_reduce(0, g, s, 'x')", a=M, g=G0, s=S)
ALONG = In((4, 3), "int64", 0, 3)
for tag, code in {
    "0": "torch.take_along_dim(a, i, 0)",
    "all": "a.take_along_dim(i)",
    "sorted": "a.take_along_dim(a.argsort(1), dim=1)",
    "broadcast": "a.take_along_dim(i[:1], 0)",
    "dims": "a.take_along_dim(i[0], 0)",
    "float": "a.take_along_dim(i.float(), 0)",
    "low": "a.take_along_dim(-i - 1)",
}.items():
    add(f"take_along_{tag}", code, a=M, i=ALONG)

CASES += index_table_cases.CASES
