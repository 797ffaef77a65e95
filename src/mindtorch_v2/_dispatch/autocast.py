"""Automatic mixed precision: which operators get their arguments cast inside a `torch.autocast` region, and to what.

A region sets `modes.state.autocast` and the bit SPECIAL of the mode word, so calls take the general path, which asks
`cast_arguments` before it chooses a kernel. Outside of regions nothing is asked. The lists are PyTorch's, per device
type.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

from .. import _accelerators
from .. import _dtype as dt
from .._keys import ACCELERATORS, CPU
from .._ops.table import Op
from .._tensor import Tensor
from . import modes

LOWER, FULL, WIDEST, FULL_RESULT, BANNED = range(5)
# LOWER: floating arguments are cast to the region's type. FULL: to float32. WIDEST: to the widest among them.
# FULL_RESULT: the argument dtype becomes float32 where none is given. BANNED: an error, with a hint at what to use
# instead.

_CPU = {
    LOWER: """conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding conv_tbc conv_transpose1d
        conv_transpose2d.input conv_transpose3d.input _convolution.deprecated bmm mm baddbmm addmm _addmm_activation
        addbmm linear matmul linalg_vecdot mkldnn_rnn_layer scaled_dot_product_attention _native_multi_head_attention
        prelu""",
    FULL: """avg_pool3d binary_cross_entropy grid_sampler grid_sampler_2d _grid_sampler_2d_cpu_fallback grid_sampler_3d
        polar prod prod.dim_int quantile quantile.scalar nanquantile nanquantile.scalar stft stft.center cdist trace
        view_as_complex cholesky cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr pinverse max_pool3d
        max_unpool2d max_unpool3d adaptive_avg_pool3d adaptive_max_pool3d reflection_pad1d reflection_pad2d
        replication_pad1d replication_pad2d replication_pad3d mse_loss cosine_embedding_loss nll_loss nll_loss2d
        hinge_embedding_loss poisson_nll_loss smooth_l1_loss cross_entropy_loss l1_loss huber_loss margin_ranking_loss
        soft_margin_loss triplet_margin_loss multi_margin_loss ctc_loss.IntList ctc_loss.Tensor kl_div
        multilabel_margin_loss multilabel_margin_loss_forward binary_cross_entropy_with_logits fft_fft fft_ifft fft_fft2
        fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2 fft_rfftn fft_irfftn fft_hfft fft_ihfft
        linalg_cond linalg_cond.p_str linalg_matrix_rank linalg_matrix_rank.tol_tensor
        linalg_matrix_rank.atol_rtol_tensor linalg_matrix_rank.atol_rtol_float linalg_solve linalg_cholesky
        linalg_svdvals linalg_eigvals linalg_eigvalsh linalg_inv linalg_householder_product linalg_tensorinv
        linalg_tensorsolve fake_quantize_per_tensor_affine geqrf _lu_with_info qr svd triangular_solve
        fractional_max_pool2d fractional_max_pool3d linalg_cholesky_ex linalg_inv_ex linalg_qr linalg_svd linalg_eig
        linalg_eigh linalg_lstsq""",
    WIDEST: "cat stack index_copy",
}
# Accelerators follow the lists for CUDA.
_ACCELERATOR = {
    LOWER: """conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d.input conv_transpose3d.input convolution
        _convolution _convolution.deprecated prelu addmm addmv addr matmul einsum mm mv linalg_vecdot linear addbmm
        baddbmm bmm chain_matmul linalg_multi_dot scaled_dot_product_attention _scaled_dot_product_flash_attention
        _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell""",
    FULL: """acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar
        pow.Tensor_Tensor pow.Scalar softplus layer_norm native_layer_norm group_norm rms_norm frobenius_norm.dim
        nuclear_norm nuclear_norm.dim cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d
        hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss
        multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits
        dist pdist cdist renorm logsumexp upsample_nearest1d _upsample_nearest_exact1d upsample_nearest2d
        _upsample_nearest_exact2d upsample_nearest3d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d
        _upsample_bilinear2d_aa upsample_trilinear3d upsample_bicubic2d _upsample_bicubic2d_aa""",
    FULL_RESULT: """prod prod.dim_int softmax.int log_softmax.int cumprod cumsum linalg_vector_norm linalg_matrix_norm
        linalg_matrix_norm.str_ord sum sum.dim_IntList""",
    WIDEST: "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add",
    BANNED: "binary_cross_entropy",
}
POLICIES: dict[str, dict[str, int]] = {
    where: {name: policy for policy, names in lists.items() for name in names.split()}
    for where, lists in (("cpu", _CPU), ("accelerator", _ACCELERATOR))
}
# Device types that a region can be opened for, with the type that it casts to unless told otherwise.
_DEFAULT_TYPES = {
    "cpu": dt.bfloat16,
    "cuda": dt.float16,
    "xpu": dt.float16,
    "mps": dt.float16,
    "hpu": dt.bfloat16,
    "xla": dt.bfloat16,
    "ipu": dt.float16,
    "mtia": dt.float16,
    "maia": dt.float16,
    "privateuseone": dt.float16,
}


def default_type(device: str) -> dt.dtype | None:
    """What a region for a device type casts to unless told otherwise; None where no region can be opened for it."""
    return _DEFAULT_TYPES.get(device, dt.float16 if device in _accelerators.names() else None)


class Setting(NamedTuple):
    """A thread's setting: the device types that are cast for, the types that were chosen, and whether casts of
    weights are kept.
    """

    enabled: frozenset[str] = frozenset()
    types: Mapping[str, dt.dtype] = {}
    keeps_casts: bool = True

    def type_of(self, device: str) -> dt.dtype:
        """What a region for this device type casts to."""
        found = self.types.get(device) or default_type(device)
        assert found is not None
        return found


DEFAULT = Setting()


class _Kept(NamedTuple):
    """The cast of a weight. It is good while the weight lives and was not written to."""

    weight: weakref.ref[Tensor]
    version: int
    cast: Tensor


def setting() -> Setting:
    """The calling thread's setting."""
    return modes.state.autocast or DEFAULT


def clear_cache() -> None:
    """Drops the calling thread's casts of weights."""
    modes.state.autocast_casts = {}


class _Paused(modes.Switch):
    """Inside an operator of the lists nothing is cast any more."""

    _changes = {"autocast": None}
    _special = False


class _Again(modes.Switch):
    """Casting as it was set at another time."""

    def __init__(self, then: Setting | None) -> None:
        self._changes = {"autocast": then}
        self._special = then is not None and bool(then.enabled)


def as_now(function: Any) -> Any:
    """The function, run whenever it is called with the setting of this moment: what backward passes run again is
    cast as before.
    """
    then = modes.state.autocast
    return lambda *args, **kwargs: _Again(then).run(function, *args, **kwargs)


def call_without_casts(function: Any, *args: Any) -> Any:
    """Calls a function in which nothing is cast."""
    return function(*args) if modes.state.autocast is None else _Paused().run(function, *args)


def run(op: Op, keyset: int, args: tuple[Any, ...], kernel: Any, again: Any) -> Any:
    """Runs `kernel(op, keyset, args)` as the calling thread's region wants it: as it is where no list names the op,
    else without further casting inside. Where arguments were cast, the call with those is an event of its own
    (`again`).
    """
    now: Setting = modes.state.autocast
    where = (
        (_accelerators.name_of_key(keyset & ACCELERATORS) or "")
        if keyset & ACCELERATORS
        else "cpu"
        if keyset & CPU
        else ""
    )
    policy = POLICIES["cpu" if where == "cpu" else "accelerator"].get(op.name) if where in now.enabled else None
    if policy is None:
        return kernel(op, keyset, args)
    cast = cast_arguments(op, args, policy, now, now.type_of(where))
    return _Paused().run(kernel, op, keyset, args) if cast is None else _Paused().run(again, op, keyset, cast)


def cast_arguments(op: Op, args: tuple[Any, ...], policy: int, now: Setting, lower: dt.dtype) -> tuple[Any, ...] | None:
    """The arguments as the policy wants them; None where they are so already."""
    if policy == BANNED:
        raise RuntimeError(
            f"torch.nn.functional.{op.base} and torch.nn.BCELoss are unsafe to autocast. Many models use a sigmoid "
            "layer right before the binary cross entropy layer. In this case, combine the two layers using "
            "torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss. "
            "binary_cross_entropy_with_logits and BCEWithLogits are safe to autocast."
        )
    if policy == FULL_RESULT:
        return _with_full_result(op, args)
    wanted = _widest(args, lower) if policy == WIDEST else lower if policy == LOWER else dt.float32
    changed = False
    out = []
    for x in args:
        made = _cast(x, wanted, now, lower)
        changed |= made is not x
        out.append(made)
    return tuple(out) if changed else None


def _is_eligible(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype.is_floating_point and x.dtype is not dt.float64


def _widest(args: tuple[Any, ...], lower: dt.dtype) -> dt.dtype:
    """float32 if it occurs, else the region's type; RuntimeError for a mixture of short types."""
    found = lower
    for x in args:
        for t in x if isinstance(x, (list, tuple)) else (x,):
            if _is_eligible(t) and t.dtype is not found:
                if t.dtype is not dt.float32 and found is not dt.float32:
                    raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
                found = dt.float32
    return found


def _with_full_result(op: Op, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    position = next(i for i, p in enumerate(op.schema.params) if p.type == "ScalarType")
    if args[position] is not None or not _is_eligible(args[0]) or args[0].dtype is dt.float32:
        return None
    return (*args[:position], dt.float32, *args[position + 1 :])


def _cast(x: Any, wanted: dt.dtype, now: Setting, lower: dt.dtype) -> Any:
    if isinstance(x, Tensor):
        if not _is_eligible(x) or x.dtype is wanted:
            return x
        if (
            now.keeps_casts
            and wanted is lower
            and x.dtype is dt.float32
            and x.requires_grad
            and x.is_leaf
            and x._base is None
        ):
            return _kept_cast(x, wanted)
        return x.to(wanted)
    if x.__class__ is list or x.__class__ is tuple:
        made = x.__class__([_cast(y, wanted, now, lower) for y in x])
        return x if all(a is b for a, b in zip(made, x)) else made
    return x


def _writes(weight: Tensor) -> int:
    """How often the weight's memory was written to; inference tensors have no `_version`."""
    return 0 if weight._storage is None else weight._storage.version


def _kept_cast(weight: Tensor, wanted: dt.dtype) -> Tensor:
    """The cast of a weight, which all uses in a region share.

    It belongs to the graph even where its first use records none.
    """
    casts = modes.state.autocast_casts
    key = id(weight), wanted
    found = casts.get(key)
    if found is not None and found.weight() is weight and found.version == _writes(weight):
        return found.cast
    made = modes.call_with_grad(True, weight.to, wanted)
    if not casts:
        casts = modes.state.autocast_casts = {}
    casts[key] = _Kept(weakref.ref(weight), _writes(weight), made)
    return made
