"""Declarations of copies of views, and of what is written into part of a copy."""

from __future__ import annotations

from .table import op

COPIES = {  # op -> its arguments after self; `<op>_copy` is a fresh tensor with the values of the view
    "alias": "",
    "as_strided": "SymInt[] size, SymInt[] stride, SymInt? storage_offset=None",
    "detach": "",
    "expand": "SymInt[] size, *, bool implicit=False",
    "permute": "int[] dims",
    "t": "",
    "transpose.int": "int dim0, int dim1",
    "select.int": "int dim, SymInt index",
    "slice.Tensor": "int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1",
    "squeeze": "",
    "squeeze.dim": "int dim",
    "squeeze.dims": "int[] dim",
    "unsqueeze": "int dim",
    "unfold": "int dimension, int size, int step",
    "view": "SymInt[] size",
    "view.dtype": "ScalarType dtype",
    "view_as_real": "",
    "view_as_complex": "",
}
LISTS = {
    "split.Tensor": "SymInt split_size, int dim=0",
    "split_with_sizes": "SymInt[] split_sizes, int dim=0",
    "unbind.int": "int dim=0",
}

for _name, _arguments in COPIES.items():
    _base, _dot, _overload = _name.partition(".")
    op(
        f"{_base}_copy{_dot}{_overload}(Tensor self{', ' if _arguments else ''}{_arguments}) -> Tensor",
        method=False,
        out=True,
    )
for _name, _arguments in LISTS.items():
    _base, _dot, _overload = _name.partition(".")
    op(f"{_base}_copy{_dot}{_overload}(Tensor self, {_arguments}) -> Tensor[]", method=False, out=True)
op(
    "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> "
    "Tensor",
    out=True,
)
op("unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]")
op("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", method=False, out=True)
op("fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)", function=False)
