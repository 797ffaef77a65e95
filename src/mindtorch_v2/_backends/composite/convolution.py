"""Convolutions in terms of others: the forms users call, the checks, and the choice of a leaf."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _accelerators
from ..._dispatch import aten
from ..._dispatch.checks import type_word
from ..._dispatch.registry import composite
from ..._ops.convolution import conv_transpose_output_size

Ints = Sequence[int]
_AXES = {1: ("width",), 2: ("height", "width"), 3: ("depth", "height", "width")}


# --- what users call
def _run_as_batch(name: str, rank: int, run: Callable[[Any], Any], input: Any, bias: Any) -> Any:
    """Runs a convolution on a batch; a single image becomes a batch of one for the while."""
    dims = input.dim()
    if dims != rank + 2 and dims != rank + 1:
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(
            f"Input type ({input.dtype.cpp_name}) and bias type ({bias.dtype.cpp_name}) should be the same"
        )
    if dims == rank + 2:
        return run(input)
    return aten.squeeze(run(aten.unsqueeze(input, 0)), 0)


def _by_parts(call: Callable[[Any, Any, Any], Any], input: Any, weight: Any, bias: Any) -> Any:
    """A convolution of complex tensors made of three real ones."""
    (xr, xi), (wr, wi) = _parts(input), _parts(weight)
    br, bi = (None, None) if bias is None else _parts(bias)
    real = call(xr, wr, br)
    imaginary = call(xi, wi, None)
    both = call(aten.add(xr, xi), aten.add(wr, wi), None if br is None else aten.add(br, bi))
    return aten.add(aten.sub(real, imaginary), aten.mul(aten.sub(aten.sub(both, real), imaginary), 1j))


def _parts(t: Any) -> tuple[Any, Any]:
    pairs = aten.view_as_real(t)
    return aten.select(pairs, -1, 0), aten.select(pairs, -1, 1)


def _convolve(name: str, rank: int, call: Callable[..., Any], input: Any, weight: Any, bias: Any) -> Any:
    """Runs a convolution given as a function of input, weight and bias on a batch or one sample; on complex numbers by
    parts.
    """

    def run(x: Any) -> Any:
        return _by_parts(call, x, weight, bias) if x.dtype.is_complex else call(x, weight, bias)

    return _run_as_batch(name, rank, run, input, bias)


def _declare_forms(rank: int) -> None:
    zeros = (0,) * rank

    def conv(input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
        def call(x: Any, w: Any, b: Any) -> Any:
            return aten.convolution(x, w, b, stride, padding, dilation, False, zeros, groups)

        return _convolve(f"conv{rank}d", rank, call, input, weight, bias)

    def conv_padding(
        input: Any, weight: Any, bias: Any, stride: Ints, padding: str, dilation: Ints, groups: int
    ) -> Any:
        def call(x: Any, w: Any, b: Any) -> Any:
            return aten._convolution_mode(x, w, b, stride, padding, dilation, groups)

        return _convolve(f"conv{rank}d", rank, call, input, weight, bias)

    def conv_transpose(
        input: Any,
        weight: Any,
        bias: Any,
        stride: Ints,
        padding: Ints,
        output_padding: Ints,
        groups: int,
        dilation: Ints,
    ) -> Any:
        def call(x: Any, w: Any, b: Any) -> Any:
            return aten.convolution(x, w, b, stride, padding, dilation, True, output_padding, groups)

        return _convolve(f"conv_transpose{rank}d", rank, call, input, weight, bias)

    composite(f"conv{rank}d")(conv)
    composite(f"conv{rank}d.padding")(conv_padding)
    composite(f"conv_transpose{rank}d{'.input' if rank > 1 else ''}")(conv_transpose)


for _rank in (1, 2, 3):
    _declare_forms(_rank)


@composite("_convolution_mode")
def _convolution_mode(
    input: Any, weight: Any, bias: Any, stride: Ints, padding: str, dilation: Ints, groups: int
) -> Any:
    rank = weight.dim() - 2
    zeros = (0,) * rank
    if padding == "valid":
        return aten.convolution(input, weight, bias, stride, zeros, dilation, False, zeros, groups)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    steps = dilation if len(dilation) == rank else tuple(dilation) * rank
    total = [d * (k - 1) for d, k in zip(steps, weight.shape[2:])]
    if any(t % 2 for t in total):  # the odd element goes to the far side, beforehand
        input = aten.constant_pad_nd(input, [n for t in reversed(total) for n in (0, t % 2)], 0)
    return aten.convolution(input, weight, bias, stride, [t // 2 for t in total], dilation, False, zeros, groups)


# --- checks
def _expand(name: str, values: Ints, rank: int) -> tuple[int, ...]:
    if len(values) == rank:
        return tuple(values)
    if len(values) == 1:
        return tuple(values) * rank
    raise RuntimeError(
        f"expected {name} to be a single integer value or a list of {rank} values to match the convolution "
        f"dimensions, but got {name}={list(values)}"
    )


def _check_parameters(stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints, groups: int) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")


def _check_shapes(
    input: Any, weight: Any, bias: Any, padding: Ints, dilation: Ints, transposed: bool, groups: int
) -> None:
    x, w = list(input.shape), list(weight.shape)
    if len(x) != len(w):
        raise RuntimeError(
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {w}, but got {len(x)}-dimensional "
            f"input of size {x} instead"
        )
    if w[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{w} instead"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size [{w}] instead"
        )
    given = "transposed=1" if transposed else f"groups={groups}"
    channels = w[0] if transposed else w[1] * groups
    if x[1] != channels:
        raise RuntimeError(
            f"Given {given}, weight of size {w}, expected input{x} to have {channels} channels, but got {x[1]} "
            "channels instead"
        )
    made = w[1] * groups if transposed else w[0]
    if bias is not None and list(bias.shape) != [made]:
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {w}, expected bias to be 1-dimensional "
            f"with {made} elements, but got bias of size {list(bias.shape)} instead"
        )
    if transposed:
        return
    have = [n + 2 * p for n, p in zip(x[2:], padding)]
    need = [d * (k - 1) + 1 for d, k in zip(dilation, w[2:])]
    if any(h < n for h, n in zip(have, need)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_by(have)}). Kernel size: ({_by(need)}). Kernel size can't "
            "be greater than actual input size"
        )


def _by(sizes: Ints) -> str:
    return " x ".join(map(str, sizes))


def _check_types(input: Any, weight: Any) -> None:
    if weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {type_word(input.dtype)} but found {type_word(weight.dtype)}")
    if input.dtype.category == 0:
        raise NotImplementedError("\"slow_conv2d_cpu\" not implemented for 'Bool'")


def _check_transposed(
    input: Any, weight: Any, stride: Ints, padding: Ints, output_padding: Ints, dilation: Ints
) -> None:
    if any(o >= s and o >= d for o, s, d in zip(output_padding, stride, dilation)):
        words = _AXES[len(stride)]
        parts = [
            f"{name}_{word}: {value}"
            for name, values in (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))
            for word, value in zip(words, values)
        ]
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(parts)}")
    sizes = conv_transpose_output_size(input.shape[2:], weight.shape[2:], stride, padding, output_padding, dilation)
    if min(sizes) < 1:
        raise RuntimeError(
            f"Given input size per channel: ({_by(input.shape[2:])}). Calculated output size per channel: "
            f"({_by(sizes)}). Output size is too small"
        )


# --- the steps between
@composite("convolution")
def convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> Any:
    return aten._convolution(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, False, False, True, True
    )


@composite("_convolution")
def _convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
    benchmark: bool,
    deterministic: bool,
    cudnn_enabled: bool,
    allow_tf32: bool,
) -> Any:
    rank = weight.dim() - 2
    if rank <= 0:
        raise RuntimeError("weight should have at least three dimensions")
    stride, padding = _expand("stride", stride, rank), _expand("padding", padding, rank)
    dilation, output_padding = _expand("dilation", dilation, rank), _expand("output_padding", output_padding, rank)
    _check_parameters(stride, padding, dilation, output_padding, groups)
    _check_shapes(input, weight, bias, padding, dilation, transposed, groups)
    _check_types(input, weight)
    own = _accelerators.replacement(input._keys, "_convolution")
    if own is not None:  # one operator for all ranks and directions, inside this op's event
        if transposed:
            _check_transposed(input, weight, stride, padding, output_padding, dilation)
        return own(
            input,
            weight,
            bias,
            stride,
            padding,
            dilation,
            transposed,
            output_padding,
            groups,
            benchmark,
            deterministic,
            cudnn_enabled,
            allow_tf32,
        )
    if rank > 1:
        return _leaf(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    if not input.is_contiguous():  # as an image, a permuted line would have its channels innermost
        input = aten.contiguous(input)
    flat = _leaf(
        aten.unsqueeze(input, 2),
        aten.unsqueeze(weight, 2),
        bias,
        (1, *stride),
        (0, *padding),
        (1, *dilation),
        transposed,
        (0, *output_padding),
        groups,
    )
    return aten.squeeze(flat, 2)


def _leaf(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> Any:
    if not transposed:
        return aten.mkldnn_convolution(input, weight, bias, padding, stride, dilation, groups)
    _check_transposed(input, weight, stride, padding, output_padding, dilation)
    kernel_size = weight.shape[2:]
    leaf = aten.slow_conv_transpose2d if len(kernel_size) == 2 else aten.slow_conv_transpose3d
    if groups == 1:
        return leaf(input, weight, kernel_size, bias, stride, padding, output_padding, dilation)
    made = []
    taken, given = weight.shape[0] // groups, weight.shape[1]
    for i in range(groups):
        image = aten.contiguous(aten.narrow(input, 1, i * taken, taken))
        made.append(
            leaf(
                image,
                aten.narrow(weight, 0, i * taken, taken),
                kernel_size,
                None if bias is None else aten.narrow(bias, 0, i * given, given),
                stride,
                padding,
                output_padding,
                dilation,
            )
        )
    return aten.cat(made, 1)


@composite("_convolution_double_backward")
def _convolution_double_backward(
    ggI: Any,
    ggW: Any,
    ggb: Any,
    gO: Any,
    weight: Any,
    self: Any,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """A convolution is linear in its input and in its weight, so the gradient of its gradients is made of convolutions:
    of the directions with the other operand, and of the output's gradient back through each direction."""
    form = (stride, padding, dilation, transposed, output_padding, groups)
    to_output = to_input = to_weight = None
    if output_mask[0]:
        if ggI is not None:
            to_output = aten.convolution(ggI, weight, None, *form)
        if ggW is not None:
            to_output = _sum(to_output, aten.convolution(self, ggW, None, *form))
        if ggb is not None:
            spread = aten.reshape(ggb, (1, -1, *(1,) * (gO.dim() - 2)))
            to_output = _sum(to_output, aten.expand(spread, gO.shape) if to_output is None else spread)
    if output_mask[1] and ggW is not None:
        to_input = aten.convolution_backward(gO, self, ggW, None, *form, (True, False, False))[0]
    if output_mask[2] and ggI is not None:
        to_weight = aten.convolution_backward(gO, ggI, weight, None, *form, (False, True, False))[1]
    return to_output, to_input, to_weight


def _sum(a: Any, b: Any) -> Any:
    return b if a is None else aten.add(a, b)
