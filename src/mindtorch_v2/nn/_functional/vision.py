"""Resizing, sampling, padding and patches."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from ..._dispatch import aten
from ..._tensor import Tensor

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}
_NEEDED_DIMS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5, "lanczos": 4}


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Adds to the borders: `pad` lists (before, after) from the last dimension backwards. Modes are "constant",
    "reflect", "replicate" and "circular".

    >>> F.pad(torch.tensor([[1., 2.]]), (1, 0))
    tensor([[0., 1., 2.]])
    """
    return aten.pad(input, pad, mode, value)


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Sums patches (N, C * kernel, L) into images (N, C, H, W).

    >>> F.fold(torch.ones(1, 4, 4), (3, 3), (2, 2))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    pair = _pair_of
    return aten.col2im(input, pair(output_size), pair(kernel_size), pair(dilation), pair(padding), pair(stride))


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """The patches of images (N, C, H, W), as columns: (N, C * kernel, L).

    >>> F.unfold(torch.arange(9.).reshape(1, 1, 3, 3), (2, 2)).shape
    torch.Size([1, 4, 4])
    """
    return aten.im2col(input, _pair_of(kernel_size), _pair_of(dilation), _pair_of(padding), _pair_of(stride))


def _pair_of(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


# --- resizing
def _per_dimension(value: Any, input: Tensor, what: str) -> list[Any]:
    """A size or factor given once or per spatial dimension."""
    spatial = input.dim() - 2
    if not isinstance(value, (list, tuple)):
        return [value] * spatial
    if len(value) != spatial:
        head = (
            f"Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(input.shape[2:])} and "
        )
        if what == "output":
            raise ValueError(
                head + f"output size of {value}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                "output size in (o1, o2, ...,oK) format."
            )
        raise ValueError(
            head + f"scale_factor of shape {value}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "scale_factor in (s1, s2, ...,sK) format."
        )
    return list(value)


def _resize_target(
    input: Tensor, size: Any, scale_factor: Any, mode: str, recompute: bool | None
) -> tuple[list[int] | None, list[float] | None]:
    """(output size, scale factors): one of them is None, or both where the factors are only informative."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    sizes = None if size is None else _per_dimension(size, input, "output")
    scales = None if scale_factor is None else [float(s) for s in _per_dimension(scale_factor, input, "scale_factor")]
    if recompute and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if scales is not None and (recompute or mode == "area"):
        sizes = [math.floor(float(n) * s) for n, s in zip(input.shape[2:], scales)]
        scales = None
    return sizes, scales


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resizes the spatial dimensions to `size` or by `scale_factor`. Modes: nearest, nearest-exact, area, linear (3-D),
    bilinear and bicubic (4-D), trilinear (5-D). With `antialias` (bilinear, bicubic, lanczos) no pixel is passed
    over.

    >>> F.interpolate(torch.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                "trilinear"
            )
    elif align_corners is None:
        align_corners = False
    sizes, scales = _resize_target(input, size, scale_factor, mode, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    n = input.dim() - 2
    if not 1 <= n <= 3:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: nearest | "
            f"linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if mode == "area":
        return getattr(aten, f"adaptive_avg_pool{n}d")(input, sizes)
    if mode in ("nearest", "nearest-exact"):
        prefix = "upsample_nearest" if mode == "nearest" else "_upsample_nearest_exact"
        return aten.overload(f"{prefix}{n}d.vec")(input, sizes, scales)
    return _smooth(input, mode, sizes, scales, align_corners, antialias)


def _smooth(input: Tensor, mode: str, sizes: Any, scales: Any, align_corners: Any, antialias: bool) -> Tensor:
    dims = input.dim()
    if mode not in _NEEDED_DIMS:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {dims}D) for the modes: nearest | "
            f"linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if dims != _NEEDED_DIMS[mode]:
        raise NotImplementedError(f"Got {dims}D input, but {mode} mode needs {_NEEDED_DIMS[mode]}D input")
    if mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if antialias:
        return aten.overload(f"_upsample_{mode}2d_aa.vec")(input, sizes, align_corners, scales)
    name = {"linear": "linear1d", "bilinear": "bilinear2d", "bicubic": "bicubic2d", "trilinear": "trilinear3d"}[mode]
    return aten.overload(f"upsample_{name}.vec")(input, sizes, align_corners, scales)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """Deprecated name of `interpolate`.

    >>> F.upsample(torch.tensor([[[1., 2.]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Deprecated: `interpolate` with mode "nearest".

    >>> F.upsample_nearest(torch.ones(1, 1, 2, 2), scale_factor=2).shape
    torch.Size([1, 1, 4, 4])
    """
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Deprecated: `interpolate` with mode "bilinear" and aligned corners.

    >>> F.upsample_bilinear(torch.ones(1, 1, 2, 2), scale_factor=2).shape
    torch.Size([1, 1, 4, 4])
    """
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# --- sampling
def _warn_of_default_corners(align_corners: bool | None) -> None:
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details.",
            stacklevel=3,
        )


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The input at the positions of `grid`, which run from -1 to 1 over the image.

    >>> F.grid_sample(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 1, 2), align_corners=True)
    tensor([[[[1.]]]])
    """
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    _warn_of_default_corners(align_corners)
    return aten.grid_sampler(
        input, grid, GRID_SAMPLE_INTERPOLATION_MODES[mode], GRID_SAMPLE_PADDING_MODES[padding_mode], bool(align_corners)
    )


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Positions for `grid_sample` that apply the affine maps `theta` (N, 2, 3) or (N, 3, 4).

    >>> F.affine_grid(torch.tensor([[[1., 0., 0.], [0., 1., 0.]]]), [1, 1, 2, 2], align_corners=True)[0, 0]
    tensor([[-1., -1.],
            [ 1., -1.]])
    """
    _warn_of_default_corners(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    spatial = len(size) - 2
    if spatial not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (spatial, spatial + 1):
        raise ValueError(
            f"Expected a batch of {spatial}D affine matrices of shape Nx{spatial}x{spatial + 1} for size {size}. Got "
            f"{theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return aten.affine_grid_generator(theta, size, bool(align_corners))
