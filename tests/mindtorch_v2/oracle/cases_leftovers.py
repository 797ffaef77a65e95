"""Cases of rarely used operators, and of numbers that a detour through another type would change."""

from __future__ import annotations

from .harness import Case, In

CASES = [
    Case(
        "where_largest_int32",
        "torch.where(m, x, 2147483647)",
        x=In((3,), "int32"),
        m=In((3,), values=[True, False, False], dtype="bool"),
    ),
    Case(
        "where_large_int64",
        "torch.where(m, x, 2**53 + 1)",
        x=In((3,), "int64"),
        m=In((3,), values=[True, False, False], dtype="bool"),
    ),
    Case(
        "chalf_memory_format",
        "x.chalf(memory_format=torch.contiguous_format).to(torch.complex64)",
        x=In((3,), "complex64"),
        grad=False,
    ),
    Case(
        "copy_to_chalf",
        "torch.zeros(3, dtype=torch.complex32).copy_(x).to(torch.complex64)",
        x=In((3,), "complex64"),
        grad=False,
    ),
    Case("index_add_bytes", "x.index_add(0, torch.tensor([0, 2]), x[:2], alpha=-1)", x=In((3,), "uint8", 0, 9)),
    Case("unravel_index_bytes", "torch.unravel_index(x, (2, 3))", x=In((3,), "uint8", 0, 5)),
    Case("rdiv", "x.__rdiv__(3)", x=In((3,), low=1.0)),
    Case("polygamma_method", "x.polygamma(1)", x=In((3,), low=1.0)),
    Case("polygamma_inplace", "(x * 1).polygamma_(2) * 1", x=In((3,), low=1.0)),
    Case(
        "batch_norm_legit",
        "torch._native_batch_norm_legit(x, None, None, m, v, True, 0.1, 1e-5)[0] * 1, m, v",
        x=In((4, 3)),
        m=In((3,), grad=False),
        v=In((3,), low=0.5, grad=False),
    ),
    Case(
        "batch_norm_without",
        "torch._native_batch_norm_legit(x, w, None, True, 0.1, 1e-5)[0] * 1",
        x=In((4, 3)),
        w=In((3,)),
    ),
    Case(
        "batch_norm_with_update",
        "torch.ops.aten._batch_norm_with_update(x, v, m, m * 1, v * 1, 0.1, 1e-5)[0] * 1, m, v",
        x=In((4, 3)),
        m=In((3,), grad=False),
        v=In((3,), low=0.5, grad=False),
    ),
    Case(
        "masked_index",
        "torch._unsafe_masked_index(x, torch.tensor([True, False]), [torch.tensor([1, 9])], 7.0) * 1",
        x=In((4,)),
    ),
    Case(
        "masked_index_put",
        "torch._unsafe_masked_index_put_accumulate(x, torch.tensor([True, False]), [torch.tensor([1, 9])], y) * 1",
        x=In((4,)),
        y=In((2,)),
    ),
]

_ERRORS = {
    "fft_no_dimensions": "torch.fft.fftn(torch.tensor(1.0), dim=(0,))",
    "ormqr_rank": "torch.ormqr(x[0], x[0], x)",
    "empty_permuted_range": "torch.empty_permuted((2,), (3,))",
    "empty_permuted_twice": "torch.empty_permuted((2, 3), (0, 0))",
    "chunk_cat_none": "torch._chunk_cat([x, x], 0, 0)",
    "chunk_cat_sizes": "torch._chunk_cat([x, x[1:]], 1, 2)",
    "histogramdd_bins": "torch.histogramdd(x, [1])",
    "adaptive_max_negative": "F.adaptive_max_pool2d(x[None], (-1, 0))",
    "max_pool3d_empty": "F.max_pool3d(torch.zeros(2, 1, 0, 1, 2), 1)",
}
CASES += [Case(f"error_{word}", code, x=In((3, 3)), grad=False) for word, code in _ERRORS.items()]
CASES += [
    Case(
        "split_copy_out",
        "o = [torch.zeros(2), torch.zeros(1)]; torch.split_with_sizes_copy(x, [2, 1], out=o); o",
        x=In((3,), grad=False),
    ),
    Case(
        "unbind_copy_out",
        "o = [torch.zeros(3), torch.zeros(3)]; torch.unbind_copy(x, out=o); o",
        x=In((2, 3), grad=False),
    ),
    Case("chunk_cat_out", "o = torch.zeros(0); torch._chunk_cat([x, x], 0, 2, out=o); o", x=In((4, 3), grad=False)),
]
