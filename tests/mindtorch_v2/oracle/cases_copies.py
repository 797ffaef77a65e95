"""Oracle cases: copies of views, and what is written into part of a copy."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []


def case(id: str, code: str, **kwargs: object) -> None:
    """`* 1`, because PyTorch has a node for every copy where here the view and the clone have theirs."""
    CASES.append(Case(id, code, strides=False, **kwargs))  # type: ignore[arg-type]


for _id, _call in (
    ("alias", "alias_copy(a)"),
    ("as_strided", "as_strided_copy(a, (2, 2), (1, 2), 1)"),
    ("expand", "expand_copy(a[:1], (2, 3))"),
    ("permute", "permute_copy(a, (1, 0))"),
    ("t", "t_copy(a)"),
    ("transpose", "transpose_copy(a, 0, 1)"),
    ("select", "select_copy(a, 1, 2)"),
    ("slice", "slice_copy(a, 1, 0, 3, 2)"),
    ("squeeze", "squeeze_copy(a[:1])"),
    ("squeeze_dim", "squeeze_copy(a[:1], 0)"),
    ("squeeze_dims", "squeeze_copy(a[:1], (0, 1))"),
    ("unsqueeze", "unsqueeze_copy(a, 1)"),
    ("unfold", "unfold_copy(a, 1, 2, 1)"),
    ("view", "view_copy(a, (3, 2))"),
    ("detach", "detach_copy(a)"),
    ("scatter", "as_strided_scatter(a, b, (2, 2), (1, 2), 1)"),
):
    _more = {"b": In((2, 2), "float64")} if "b" in _call.split("(")[1] else {}
    case(_id, f"torch.{_call} * 1", grad=_id not in ("scatter", "detach"), a=In((2, 3), "float64"), **_more)
case("view_as_real", "torch.view_as_real_copy(a) * 1", a=In((2, 3), "complex128"))
case("view_as_complex", "torch.view_as_complex_copy(a) * 1", grad=False, a=In((3, 2), "float64"))
for _id, _call in (
    ("split", "split_copy(a, 2)"),
    ("split_sizes", "split_with_sizes_copy(a, [1, 3])"),
    ("unbind", "unbind_copy(a, 1)"),
    ("unsafe", "unsafe_split_with_sizes(a, [1, 3])"),
):
    case(_id, f"[t * 1 for t in torch.{_call}]", a=In((4, 3), "float64"))
case("copy_is_fresh", "b = torch.view_copy(a, (6,)); b.zero_(); a.clone()", grad=False, a=In((2, 3)))
case("copy_out", "o = torch.empty(0); torch.t_copy(a, out=o); o", grad=False, a=In((2, 3)))
case("chunk_cat", "torch._chunk_cat([a, b], 0, 2)", grad=False, a=In((3, 4)), b=In((2, 2)))
for _id, _shape, _options in (
    ("square", (3, 3), ""),
    ("tall", (7, 3), ""),
    ("wrap", (7, 3), ", wrap=True"),
    ("cube", (3, 3, 3), ""),
):
    case(f"fill_diagonal_{_id}", f"b = a.clone(); b.fill_diagonal_(5{_options}); b", grad=False, a=In(_shape))
case("error_fill_diagonal", "a.fill_diagonal_(1)", grad=False, a=In((3,)))
case("error_scatter", "torch.as_strided_scatter(a, b, (2, 2), (1, 2))", grad=False, a=In((2, 3)), b=In((3,)))
