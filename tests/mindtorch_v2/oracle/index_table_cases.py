"""Cases of ops with flat positions, masks, membership, index tables and embeddings."""

from __future__ import annotations

from .harness import Case, In

M = In((4, 3))
INDICES = In(values=[2, 0, 2], dtype="int64")
K = In(values=[[0, 1], [3, 1]], dtype="int64")
MASK = In((4, 3), "bool")
CASES: list[Case] = []


def add(id: str, code: str, **more: object) -> None:
    CASES.append(Case(id, code, **more))  # type: ignore[arg-type]


# --- flat positions and masks
for tag, code in {
    "0": "torch.take(a, i)",
    "2d": "a.take(k)",
    "neg": "a.take(-k)",
    "far": "a.take(k + 99)",
    "float": "a.take(k.float())",
    "t": "a.t().take(k.t())",
}.items():
    add(f"take_{tag}", code, a=M, i=INDICES, k=K)
add("take_empty", "a.take(torch.tensor([0]))", a=In((0,)))
for tag, code in {
    "0": "torch.Tensor.put(a, i, s)",
    "add": "a.put(i, s, accumulate=True)",
    "inplace": "a.clone().put_(i, s)",
    "neg": "a.put(-i, s)",
    "far": "a.put(i + 99, s)",
    "count": "a.put(i, s[:2])",
    "types": "a.put(i, s.double())",
    "t": "a.t().put(i, s)",
}.items():
    add(f"put_flat_{tag}", code, a=M, i=In(values=[7, 0, 3], dtype="int64"), s=In((3,)))
for tag, code in {
    "0": "torch.masked_select(a, m)",
    "row": "a.masked_select(m[0])",
    "wide": "a[0].masked_select(m)",
    "float": "a.masked_select(a)",
    "size": "a.masked_select(m[0, :2])",
    "t": "a.t().masked_select(m.t())",
}.items():
    add(f"masked_select_{tag}", code, a=M, m=MASK)
for tag, code in {
    "0": "torch.masked_scatter(a, m, s)",
    "row": "a.masked_scatter(m[0], s)",
    "wide": "a[0].masked_scatter(m, s)",
    "inplace": "a.clone().masked_scatter_(m, s)",
    "few": "a.masked_scatter(m, s[:1])",
    "types": "a.masked_scatter(m, s.double())",
    "float": "a.masked_scatter(a, s)",
    "inplace_wide": "a[0].clone().masked_scatter_(m, s)",
}.items():
    add(f"masked_scatter_{tag}", code, a=M, m=MASK, s=In((12,)))
for tag, code in {
    "2d": "torch.nonzero(a)",
    "tuple": "a.nonzero(as_tuple=True)",
    "argwhere": "torch.argwhere(a)",
    "1d": "a[0].nonzero()",
    "0d": "(torch.tensor(3.0).nonzero(), torch.tensor(0).nonzero())",
    "0d_tuple": "torch.tensor(3.0).nonzero(as_tuple=True)",
    "none": "torch.zeros(2, 3).nonzero()",
    "empty": "torch.zeros(0, 3).nonzero()",
    "3d": "torch.ones(2, 2, 2).nonzero()",
    "where": "torch.where(a)",
}.items():
    add(f"nonzero_{tag}", code, strides=tag in ("2d", "3d", "tuple"), a=MASK)
add("nonzero_f", "a.nonzero()", a=In(values=[[0.0, 1.0], [float("nan"), -0.0]]))

# --- membership and index tables
for tag, code in {
    "0": "torch.isin(a, b)",
    "invert": "torch.isin(a, b, invert=True)",
    "number": "torch.isin(a, 1)",
    "number_invert": "torch.isin(a, 1, invert=True)",
    "scalar": "torch.isin(2, b)",
    "float": "torch.isin(a.float(), b)",
    "bool": "torch.isin(a > 0, b > 0)",
    "empty": "torch.isin(a, b[:0])",
    "t": "torch.isin(a.t(), b)",
}.items():
    add(f"isin_{tag}", code, a=In((3, 4), "int64", 0, 5), b=In(values=[1, 4, 1], dtype="int64"))
for tag, code in {
    "0": "F.one_hot(a)",
    "7": "F.one_hot(a, 7)",
    "2d": "F.one_hot(a.reshape(2, 2), num_classes=4)",
    "few": "F.one_hot(a, 2)",
    "neg": "F.one_hot(-a)",
    "float": "F.one_hot(a.float())",
    "empty": "F.one_hot(a[:0])",
    "empty3": "F.one_hot(a[:0], 3)",
    "scalar": "F.one_hot(a[0])",
}.items():
    add(f"one_hot_{tag}", code, a=In(values=[2, 0, 1, 2], dtype="int64"))
for tag, args in {
    "": "3, 3",
    "wide": "2, 4",
    "tall": "4, 2",
    "up": "3, 4, 1",
    "down": "3, 4, -1",
    "far": "3, 3, 5",
    "none": "0, 3",
    "type": "3, 3, dtype=torch.int32",
    "bad": "-1, 3",
}.items():
    add(f"tril_indices_{tag}", f"torch.tril_indices({args})")
    add(f"triu_indices_{tag}", f"torch.triu_indices({args})")

# --- embeddings
W = In((5, 3))
IDS = In(values=[[0, 2, 4], [2, 2, 1]], dtype="int64")
for tag, code in {
    "2d": "torch.embedding(w, i)",
    "1d": "torch.embedding(w, i[0])",
    "0d": "torch.embedding(w, i[0, 1])",
    "int32": "torch.embedding(w, i.int())",
    "pad": "torch.embedding(w, i, 2)",
    "freq": "torch.embedding(w, i, -1, True)",
    "far": "torch.embedding(w, i + 9)",
    "low": "torch.embedding(w, -i)",
    "float": "torch.embedding(w, i.float())",
    "1d_w": "torch.embedding(w[0], i)",
    "empty": "torch.embedding(w, i[:0])",
    "F": "F.embedding(i, w)",
    "F_pad": "F.embedding(i, w, padding_idx=2)",
    "F_neg_pad": "F.embedding(i, w, padding_idx=-1)",
    "F_norm": "F.embedding(i, w.detach().clone(), max_norm=1.0)",
    "F_norm1": "F.embedding(i, w.detach().clone(), max_norm=1.0, norm_type=1.0)",
}.items():
    add(f"embedding_{tag}", code, w=W, i=IDS)
add("embedding_f16", "torch.embedding(w, i)", w=In((5, 3), "float16"), i=IDS)
add("embedding_many", "torch.embedding(w, i)", w=In((3, 2)), i=In((50,), "int64", 0, 2), rtol=1e-4)
add("embedding_renorm", "w = w.detach().clone(); torch.embedding_renorm_(w, i, 1.0, 2.0); w", w=W, i=IDS)
add(
    "embedding_double",
    "g, = torch.autograd.grad((torch.embedding(w, i, 1) ** 3).sum(), w, create_graph=True)\n(g * g).sum()",
    w=W,
    i=IDS,
)
FLAT = In(values=[0, 2, 4, 2, 1, 3], dtype="int64")
OFFSETS = In(values=[0, 2, 2], dtype="int64")
for tag, args in {
    "sum": "False, 0",
    "mean": "False, 1",
    "max": "False, 2",
    "weights": "False, 0, False, s",
    "pad": "False, 1, False, None, False, 2",
    "max_pad": "False, 2, False, None, False, 4",
    "sum_pad": "False, 0, False, s, False, -3",
    "bad_weights": "False, 1, False, s",
}.items():
    add(f"embedding_bag_{tag}", f"torch.embedding_bag(w, i, o, {args})[0]", w=W, i=FLAT, o=OFFSETS, s=In((6,)))
add(
    "embedding_bag_last",
    "torch.embedding_bag(w, i, o, False, 1, False, None, True)[0]",
    w=W,
    i=FLAT,
    o=In(values=[0, 2, 2, 6], dtype="int64"),
)
add("embedding_bag_default", "torch.embedding_bag(w, i, o)[0]", w=W, i=FLAT, o=OFFSETS)
add("embedding_bag_first", "torch.embedding_bag(w, i, o + 1)[0]", w=W, i=FLAT, o=OFFSETS)
add("embedding_bag_past", "torch.embedding_bag(w, i[:1], o)[0]", w=W, i=FLAT, o=OFFSETS)
for mode in ("sum", "mean", "max"):
    add(f"embedding_bag_F_{mode}", f"F.embedding_bag(i, w, mode='{mode}')", w=W, i=IDS)
add(
    "embedding_bag_F_flat",
    "F.embedding_bag(i, w, o, mode='sum', per_sample_weights=s)",
    w=W,
    i=FLAT,
    o=OFFSETS,
    s=In((6,)),
)
