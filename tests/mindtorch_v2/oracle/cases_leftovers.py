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

_X = "x = torch.tensor([[1.0, 2.0], [3.0, 0.0]], requires_grad=True)"


def _out(id: str, call: str, kind: str = "float32", given: str = _X) -> Case:
    """What `call` writes into an empty tensor of a type, from an input that requires a gradient."""
    return Case(id, f"{given}\no = torch.empty(0, dtype=torch.{kind})\n{call}\no", grad=False)


# out= where a gradient is wanted of the input: allowed where the result has none; and out that wants one itself
CASES += [
    _out("out_of_eq", "torch.eq(x, x, out=o)", "bool"),
    _out("out_of_lt", "torch.lt(x, 2.0, out=o)", "bool"),
    _out("out_of_logical_not", "torch.logical_not(x, out=o)", "bool"),
    _out("out_of_signbit", "torch.signbit(x, out=o)", "bool"),
    _out("out_of_isin", "torch.isin(x, x, out=o)", "bool"),
    _out("out_of_any", "torch.any(x, out=o)", "bool"),
    _out("out_of_all", "torch.all(x, 1, out=o)", "bool"),
    _out("out_of_nonzero", "torch.nonzero(x, out=o)", "int64"),
    _out("out_of_multinomial", "torch.multinomial(x, 1, out=o)", "int64"),
    _out("out_of_argmax", "torch.argmax(x, out=o)", "int64"),
    _out("out_of_searchsorted", "torch.searchsorted(x[0], x[0], out=o)", "int64"),
    _out("out_of_bucketize", "torch.bucketize(x, x[0], out=o)", "int64"),
    _out("out_of_histc", "torch.histc(x, 3, out=o)"),
    _out("out_of_floor_divide", "torch.floor_divide(x, 2.0, out=o)"),
    _out("out_of_heaviside", "torch.heaviside(x, x, out=o)"),
    _out("out_of_sum", "torch.sum(x, 0, out=o)"),
    *(
        Case(f"out_wants_gradient_{name}", f"torch.{name}({args}, out=torch.empty(3, requires_grad=True))", grad=False)
        for name, args in (
            ("zeros", "3"),
            ("ones", "3"),
            ("full", "(3,), 2.0"),
            ("empty", "3"),
            ("eye", "3"),
            ("arange", "3"),
            ("linspace", "0, 1, 3"),
            ("logspace", "0, 1, 3"),
            ("rand", "3"),
            ("randn", "3"),
            ("randint", "5, (3,)"),
            ("randperm", "3"),
        )
    ),
    # out= of another type than the result's
    *(
        _out(f"out_{kind}_of_{name}", call, kind, "x = torch.tensor([[5.0, 6.0], [7.0, 8.0]])")
        for kind in ("float64", "float16", "complex64", "int64")
        for name, call in (
            ("mvlgamma", "torch.mvlgamma(x, 2, out=o)"),
            ("householder", "torch.linalg.householder_product(x / 8, x[0] / 8, out=o)"),
        )
    ),
    _out("out_float16_of_special_logsumexp", "torch.special.logsumexp(x.detach(), 1, out=o)", "float16"),
    _out("out_int64_of_special_logsumexp", "torch.special.logsumexp(x.detach(), 1, out=o)", "int64"),
    # numbers for tensors
    Case("div_trunc_numbers", "torch.div(-7.0, 2.0, rounding_mode='trunc')", grad=False),
    Case("div_numbers", "torch.div(-7, 2, rounding_mode=None)", grad=False),
    Case("div_floor_numbers", "torch.div(-7, 2.0, rounding_mode='floor')", grad=False),
    Case("floor_divide_floats", "torch.floor_divide(-7.0, 2)", grad=False),
    Case("floor_divide_numbers", "torch.floor_divide(-7, 2)", grad=False),
    # decompositions lie column by column
    Case("geqrf_layout", "torch.geqrf(x)", x=In((2, 4, 3)), grad=False),
    Case("ldl_layout", "torch.linalg.ldl_factor(x @ x.mT)", x=In((2, 3, 3)), grad=False),
    Case(
        "ldl_solve_layout",
        "torch.linalg.ldl_solve(*torch.linalg.ldl_factor(x @ x.mT + torch.eye(3)), y)",
        x=In((2, 3, 3)),
        y=In((3, 2)),
        grad=False,
    ),
    Case(
        "ldl_solve_zero_pivot",
        "torch.linalg.ldl_solve(torch.diag(torch.tensor([2.0, 0.0])), torch.tensor([1, 2], dtype=torch.int32), x)",
        x=In((2, 1), values=[[1.0], [1.0]]),
        grad=False,
    ),
    # forward derivatives of what takes logarithms of gradients, and of norms at zero
    *(
        Case(
            f"jvp_{name}",
            f"torch.func.jvp(lambda t: {call}, (x,), (d,))[1]",
            x=In((3,), values=values),
            d=In((3,), values=[0.5, 1.0, -1.0]),
            grad=False,
        )
        for name, call, values in (
            ("logcumsumexp", "torch.logcumsumexp(t, 0)", [1.0, 2.0, 3.0]),
            ("norm_at_zero_3.5", "torch.linalg.vector_norm(t, 3.5)", [0.0, 0.0, 0.0]),
            ("norm_at_zero_2.5", "torch.linalg.vector_norm(t, 2.5)", [0.0, 0.0, 0.0]),
            ("norm_3.5", "torch.linalg.vector_norm(t, 3.5)", [0.0, 1.0, -2.0]),
        )
    ),
    # sizes that do not fit a recurrent cell, and parameters of losses
    *(
        Case(f"{cell}_{what}", f"torch.nn.{cell}(3, 2)({call})", grad=False)
        for cell in ("RNNCell", "GRUCell")
        for what, call in (
            ("input_size", "torch.ones(4, 5)"),
            ("batch", "torch.ones(4, 3), torch.ones(5, 2)"),
            ("hidden_size", "torch.ones(4, 3), torch.ones(4, 3)"),
            ("input_size_unbatched", "torch.ones(5)"),
        )
    ),
    Case("LSTMCell_input_size", "torch.nn.LSTMCell(3, 2)(torch.ones(4, 5))", grad=False),
    Case("LSTMCell_batch", "torch.nn.LSTMCell(3, 2)(torch.ones(4, 3), (torch.ones(5, 2),) * 2)", grad=False),
    Case(
        "LSTMCell_state", "torch.nn.LSTMCell(3, 2)(torch.ones(4, 3), (torch.ones(4, 2), torch.ones(4, 3)))", grad=False
    ),
    Case("huber_complex_delta", "torch.nn.HuberLoss(delta=1j)", grad=False),
]
