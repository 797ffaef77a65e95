"""Which element types `out=` may have, op by op, and PyTorch's words for the others.

An op's declaration decides. Elementwise ops that compute in a common type write into whatever that type casts to;
elementwise ops that keep self's type want that type; all others want the exact type of their result. `out="cast"`
and `out="same"` in a declaration mean an op without such a rule that behaves so. What is worded differently, or has
a rule of its own, stands in OTHERS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _dtype as dt
from .._ops.table import Op
from .checks import check_result_type, type_word

Check = Callable[[dt.dtype, dt.dtype], Exception | None]  # (type of the result, type of out) -> what is wrong


def _cast(made: dt.dtype, out: dt.dtype) -> None:
    check_result_type(made, out)


def _exact(made: dt.dtype, out: dt.dtype) -> Exception | None:
    return (
        None
        if made is out
        else RuntimeError(f"Expected out tensor to have dtype {made.cpp_name}, but got {out.cpp_name} instead")
    )


def _same(made: dt.dtype, out: dt.dtype) -> Exception | None:
    return None if made is out else RuntimeError(f"Found dtype {type_word(out)} but expected {type_word(made)}")


def _is(made: dt.dtype, out: dt.dtype) -> bool:
    return made is out


def _make_check(
    text: str, fits: Callable[[dt.dtype, dt.dtype], bool] = _is, error: type[Exception] = RuntimeError
) -> Check:
    """A check that fails with this text, in which {made} and {out} are types as in "Float", {made_cpp} and {out_cpp}
    as in C++.
    """

    def check(made: dt.dtype, out: dt.dtype) -> Exception | None:
        if fits(made, out):
            return None
        return error(
            text.format(made=type_word(made), out=type_word(out), made_cpp=made.cpp_name, out_cpp=out.cpp_name)
        )

    return check


def _linalg(name: str, what: str = "result") -> Check:
    return _make_check(
        f"{name}: Expected {what} to be safely castable from {{made}} dtype, but got {what} with dtype {{out}}",
        dt.can_cast,
    )


def _first(*checks: Check) -> Check:
    """Several checks; the first that finds something speaks."""

    def check(made: dt.dtype, out: dt.dtype) -> Exception | None:
        return next((error for c in checks if (error := c(made, out)) is not None), None)

    return check


def _lacks(kernel: str, has: Callable[[dt.dtype], bool]) -> Check:
    """For ops that compute in the type of `out`, whose kernel exists for some types only."""
    return _make_check(f"\"{kernel}\" not implemented for '{{out}}'", lambda made, out: has(out), NotImplementedError)


def _not_bool(out: dt.dtype) -> bool:
    return out is not dt.bool_


def _not_complex(out: dt.dtype) -> bool:
    return not out.is_complex


def _is_floating(out: dt.dtype) -> bool:
    return out.is_floating_point


def _truth(name: str) -> Check:
    return _make_check(
        f"{name} only supports bool tensor for result, got: {{out}}", lambda made, out: out in (dt.bool_, dt.uint8)
    )


def _positions(made: dt.dtype, out: dt.dtype) -> Exception | None:
    return _make_check(
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
        "whether out_int32 flag is True, but we got output tensor's dtype {out} and out_int32 flag is "
        f"{made is dt.int32}"
    )(made, out)


_TENSORDOT = _make_check(
    "tensordot: Expected the output tensor to have dtype {made}, but got an output tensor with dtype {out}"
)
_DOT = _make_check("result dtype {out} does not match input dtype {made}")
_SCALAR_TYPE = _make_check("expected scalar_type {made} but found {out}")
_SCALAR_TYPE_2 = _make_check("expected scalar type {made} but found {out}")
_ARGUMENT = _make_check("Expected object of scalar type {made} but got scalar type {out} for argument 'out'")
_REDUCED = _make_check(
    "Expected the dtype for input and out to match, but got {made} for input's dtype and {out} for out's dtype."
)
_QUANTILE = _make_check("quantile() out tensor must be same dtype as the input tensor")
_JOINED = _make_check("torch.cat(): input types can't be cast to the desired output type {out}", dt.can_cast, TypeError)
_POWER = _first(_linalg("matrix_power"), _exact)
_SPREAD = _first(_lacks("std_cpu", _not_complex), _cast)
_IMPROVE = "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
_EXTREME = _make_check(
    "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be true, but got "
    f"false.  {_IMPROVE}",
    dt.can_cast,
)

OTHERS: dict[str, Check | tuple[Check, ...]] = {  # by full name or base name; a tuple has one check for each output
    # elementwise
    "signbit": _make_check("signbit does not support non-boolean outputs."),
    "isposinf": _make_check("isposinf does not support non-boolean outputs."),
    "isneginf": _make_check("isneginf does not support non-boolean outputs."),
    "nan_to_num": _make_check("nan_to_num: dtype of out: {out} should be same as input: {made}"),
    "heaviside": _make_check("heaviside is not yet implemented for tensors with different dtypes."),
    "float_power": _make_check(
        "the output given to float_power has dtype {out} but the operation's result requires dtype {made}"
    ),
    "mvlgamma": _make_check(
        "mvlgamma: result type {made} can't be cast to the desired output type {made}", dt.can_cast
    ),
    "ldexp": _make_check("ldexp can't be cast to the desired output type {out}", dt.can_cast),
    "complex": _ARGUMENT,
    "polar": _ARGUMENT,
    "where": _make_check("Expected out type to be {made} but got {out}"),
    "log_sigmoid": _SCALAR_TYPE_2,
    # with numbers as bounds they keep the type, with tensors they compute in a common one
    **dict.fromkeys(("clamp", "clamp_min", "clamp_max", "clip"), _same),
    **dict.fromkeys(("clamp.Tensor", "clamp_min.Tensor", "clamp_max.Tensor", "clip.Tensor"), _cast),
    # products
    "dot": _DOT,
    "vdot": _DOT,
    "inner": _TENSORDOT,
    "tensordot": _TENSORDOT,
    "mv": _make_check("addmv input tensors must have the same dtype, but got {out}, {made}, and {made}"),
    "addbmm": _make_check("self and mat2 must have the same dtype, but got {out} and {made}"),
    "linalg_multi_dot": _make_check("multi_dot(): expected out tensor to have dtype {made_cpp} but got {out_cpp}"),
    "linalg_vecdot": _make_check("linalg.vecdot: Expected out of dtype{made} but found {out}"),
    # matrices
    "linalg_norm": _make_check("linalg.norm expected out tensor dtype {made} but got: {out}"),
    "linalg_matrix_norm": _make_check("linalg.matrix_norm expected out tensor dtype {made} but got: {out}"),
    "nuclear_norm": _make_check("linalg.matrix_norm expected out tensor dtype {made} but got: {out}"),
    "linalg_solve_triangular": _SCALAR_TYPE_2,
    "linalg_householder_product": _linalg("torch.linalg.householder_product"),
    "orgqr": _linalg("torch.linalg.householder_product"),
    "geqrf": (_linalg("torch.geqrf", "a"), _linalg("torch.geqrf", "tau")),
    "linalg_eigvals": _linalg("torch.linalg.eigvals", "eigenvalues"),
    "linalg_eig": (_linalg("torch.linalg.eig", "eigenvalues"), _linalg("torch.linalg.eig", "eigenvectors")),
    "linalg_lstsq": tuple(
        _linalg("torch.linalg.lstsq", what) for what in ("solution", "residuals", "rank", "singular_values")
    ),
    "linalg_matrix_power": _POWER,
    "matrix_power": _POWER,
    "cholesky": _linalg("cholesky"),
    "cholesky_inverse": _linalg("cholesky_inverse"),
    "cholesky_solve": _linalg("cholesky_solve"),
    "linalg_cond": _linalg("linalg.cond"),
    "linalg_matrix_rank": _linalg("torch.linalg.matrix_rank"),
    "linalg_pinv": _linalg("linalg.pinv"),
    "linalg_tensorinv": _linalg("tensorinv"),
    "linalg_tensorsolve": _linalg("tensorsolve"),
    # reductions and scans
    "amax": _REDUCED,
    "amin": _REDUCED,
    "all": _truth("all"),
    "any": _truth("any"),
    "std": _SPREAD,
    "var": _SPREAD,
    "max": _EXTREME,
    "max.dim": _exact,
    "max.other": _cast,
    "min": _EXTREME,
    "min.dim": _exact,
    "min.other": _cast,
    "cummax": _SCALAR_TYPE,
    "cummin": _SCALAR_TYPE,
    "logcumsumexp": _SCALAR_TYPE,
    "diff": _cast,
    "cumsum": _lacks("cumsum_out_cpu", _not_bool),
    "cumprod": _lacks("cumprod_out_cpu", _not_bool),
    "nansum": _lacks("nansum_cpu", _is_floating),
    "nanmean": _lacks("nansum_cpu", _is_floating),
    "mean": _make_check("mean.dtype_out(): input types can't be cast to the desired output type {out}", dt.can_cast),
    "mean.dim": _cast,
    "logsumexp": _make_check(
        "logsumexp(): Expected floating point type for result tensor, but got: {out}", lambda made, out: out.inexact
    ),
    "special_logsumexp": _make_check(
        "logsumexp(): Expected floating point type for result tensor, but got: {out}", lambda made, out: out.inexact
    ),
    "quantile": _QUANTILE,
    "nanquantile": _QUANTILE,
    "kthvalue": (
        _make_check("output values must be of same type as input"),
        _make_check("output indices must be of scalar type Long"),
    ),
    "mode": (
        _make_check("expected scalar type '{made}' but got '{out}' for values output"),
        _make_check("expected scalar type '{made}' but got '{out}' for indices output"),
    ),
    "histc": _make_check(
        "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {made_cpp} and hist "
        "{out_cpp}"
    ),
    "native_batch_norm": _SCALAR_TYPE_2,
    "adaptive_avg_pool2d": _make_check("expected dtype {made_cpp} for `output` but got dtype {out_cpp}"),
    "hash_tensor": _make_check("Expected result to be of dtype uint64, but got {out}"),
    # elements by position
    "masked_select": _make_check("masked_select(): self and result must have the same scalar type"),
    "index_select": _make_check("index_select(): self and result must have the same scalar type"),
    "take": _make_check(
        "take(): self and out expected to have the same dtype, but got self.dtype = {made} and out.dtype = {out}"
    ),
    "nonzero": _make_check("nonzero: Expected out tensor to have scalar type Long but got scalar type{out}"),
    "narrow_copy": _make_check(f"Expected self.dtype() == output.dtype() to be true, but got false.  {_IMPROVE}"),
    "diag": _first(
        _make_check("diag: result type {made} can't be cast to the desired out= type {out}", dt.can_cast), _exact
    ),
    "searchsorted": _positions,
    "bucketize": _positions,
    # draws
    "multinomial": _make_check("multinomial expects Long tensor out, got: {out}"),
    "normal": _lacks("normal_kernel_cpu", lambda out: out.inexact),
    "bernoulli": _lacks("bernoulli_tensor_cpu_self_", _not_complex),
}
OTHERS.update(
    dict.fromkeys(
        (
            "cat",
            "stack",
            "hstack",
            "vstack",
            "dstack",
            "column_stack",
            "row_stack",
            "concat",
            "concatenate",
            "_chunk_cat",
        ),
        _JOINED,
    )
)
for _name in ("fft", "ifft", "rfft", "ihfft"):
    for _suffix in ("", "2", "n"):
        OTHERS[f"fft_{_name}{_suffix}"] = _make_check(
            f"{_name}{_suffix} expects a complex output tensor, but got {{out}}", lambda made, out: out.is_complex
        )
for _name in ("irfft", "hfft"):
    for _suffix in ("", "2", "n"):
        OTHERS[f"fft_{_name}{_suffix}"] = _make_check(
            f"{_name}{_suffix} expects a floating point output tensor, but got {{out}}",
            lambda made, out: out.is_floating_point,
        )


def _power(args: tuple[Any, ...]) -> Check | None:
    return _linalg("matrix_power") if args[1] in (0, 1) else None


def _modulus(args: tuple[Any, ...]) -> Check | None:
    """Moduli of complex numbers are written into real tensors, or into such as the numbers themselves."""
    kind = args[0].dtype
    return _first(lambda made, out: _same(kind, out) if out.is_complex else None, _cast) if kind.is_complex else None


# Ops that check otherwise for some arguments: None where what stands above holds.
BY_ARGUMENTS: dict[str, Callable[[tuple[Any, ...]], Check | None]] = {
    "abs": _modulus,
    "absolute": _modulus,
    "diff": lambda args: None if args[1] else _SCALAR_TYPE,
    "linalg_matrix_power": _power,
    "matrix_power": _power,
    "nansum": lambda args: None if args[0].dtype.inexact else lambda made, out: None,  # integers are added as by sum
}
# Ops whose `out` takes their shape without a warning; so do factories, and `mode` of a scalar.
_SILENT = {"addbmm", "bernoulli", "log_sigmoid", "multinomial", "narrow_copy", "native_batch_norm"}


def warns_of_shape(op: Op, args: tuple[Any, ...]) -> bool:
    """Whether the op warns if it gives its `out` another shape."""
    return op.base not in _SILENT and not (op.base == "mode" and args[0].dim() == 0)


def check_given(op: Op, given: dt.dtype, out: dt.dtype) -> None:
    """RuntimeError where an op that computes in the type of `out` is told another one and wants the same."""
    error: Exception | None = None
    if op.base in ("nansum", "nanmean"):
        text = "nansum: provided dtype must match dtype of result. Got {out} and {made}."
        error = (_make_check(text) if given.inexact else _exact)(given, out)
        if op.base == "nanmean" and not given.inexact:
            error = RuntimeError(
                "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex "
                f"dtype. Got: {type_word(given)}"
            )
    elif op.base in ("cumsum", "cumprod") or (
        op.base == "mean" and given.inexact and (op.name == "mean.dim" or dt.can_cast(given, out))
    ):
        error = _exact(given, out)
    if error is not None:
        raise error


def _by_declaration(op: Op) -> Check:
    """What an op's declaration says about the type of its `out`."""
    if isinstance(op.out, str):
        return {"cast": _cast, "same": _same}[op.out]
    if op.rule is not None and op.rule.elementwise:
        return _same if op.rule.cast is None and op.rule.out == "self" else _cast
    return _exact


def check_types(op: Op, results: list[Any], targets: list[Any], args: tuple[Any, ...] = ()) -> None:
    """RuntimeError unless every result of a call may be written into its target."""
    chosen = BY_ARGUMENTS[op.base](args) if args and op.base in BY_ARGUMENTS else None
    found = chosen or OTHERS.get(op.name) or OTHERS.get(op.base) or _by_declaration(op)
    for i, (result, target) in enumerate(zip(results, targets)):
        check = found[min(i, len(found) - 1)] if isinstance(found, tuple) else found
        error = check(result.dtype, target.dtype)
        if error is not None:
            raise error


def check_factory(dtype: dt.dtype | None, out: Any) -> None:
    """RuntimeError for a factory that is told another type than its `out` has."""
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(f"dtype {type_word(dtype)} does not match dtype of out parameter ({type_word(out.dtype)})")
