"""Layers, losses, attention, sequences and products on the NPU give what the CPU gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import nn

from .function_calls import Call, Inputs, compare, image, sequence, volume

pytestmark = pytest.mark.usefixtures("never_on_the_cpu")

# --- layers
POOLS: dict[str, tuple[Callable[[], nn.Module], Call]] = {
    "avg1d": (lambda: nn.AvgPool1d(2), sequence),
    "avg2d": (lambda: nn.AvgPool2d(2), image),
    "avg2d without padding": (lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), image),
    "avg2d with padding": (lambda: nn.AvgPool2d((3, 2), (2, 1), (1, 0)), image),
    "avg2d ceil": (lambda: nn.AvgPool2d(3, 2, 1, True), image),
    "avg2d divisor": (lambda: nn.AvgPool2d(2, divisor_override=3), image),
    "avg3d": (lambda: nn.AvgPool3d(2), volume),
    "max1d": (lambda: nn.MaxPool1d(3, 2, 1), sequence),
    "max2d": (lambda: nn.MaxPool2d(3, 2, 1, return_indices=True), image),
    "max3d": (lambda: nn.MaxPool3d(2, return_indices=True), volume),
    "max3d dilated": (lambda: nn.MaxPool3d(2, 1, 1, 2), volume),
    "adaptive avg1d": (lambda: nn.AdaptiveAvgPool1d(4), sequence),
    "adaptive avg2d": (lambda: nn.AdaptiveAvgPool2d((4, 3)), image),
    "global": (lambda: nn.AdaptiveAvgPool2d(1), image),
    "adaptive avg3d": (lambda: nn.AdaptiveAvgPool3d((2, 3, 2)), volume),
    "adaptive max1d": (lambda: nn.AdaptiveMaxPool1d(4), sequence),
    "adaptive max2d": (lambda: nn.AdaptiveMaxPool2d((4, 3), True), image),
    "adaptive max3d": (lambda: nn.AdaptiveMaxPool3d((2, 3, 2), True), volume),
    "lp": (lambda: nn.LPPool2d(2, 2), image),
}
NORMS: dict[str, tuple[Callable[[], nn.Module], Call]] = {
    "group": (lambda: nn.GroupNorm(3, 6), image),
    "group of a sequence": (lambda: nn.GroupNorm(2, 6), sequence),
    "group, plain": (lambda: nn.GroupNorm(6, 6, affine=False), image),
    "instance1d": (lambda: nn.InstanceNorm1d(6), sequence),
    "instance2d": (lambda: nn.InstanceNorm2d(6, affine=True, track_running_stats=True), image),
    "instance3d": (lambda: nn.InstanceNorm3d(4), volume),
    "batch, evaluated": (lambda: nn.BatchNorm2d(6).eval(), image),
    "batch": (lambda: nn.BatchNorm2d(6), image),
    "rms": (lambda: nn.RMSNorm(8), image),
    "response": (lambda: nn.LocalResponseNorm(2), image),
}
CONVOLUTIONS: dict[str, tuple[Callable[[], nn.Module], Call]] = {
    "1d": (lambda: nn.Conv1d(6, 4, 3, padding=1), sequence),
    "1d grouped": (lambda: nn.Conv1d(6, 4, 3, groups=2, dilation=2), sequence),
    "2d": (lambda: nn.Conv2d(6, 4, 3, stride=2, padding="valid"), image),
    "2d same": (lambda: nn.Conv2d(6, 4, 4, padding="same"), image),
    "depthwise": (lambda: nn.Conv2d(6, 6, 3, groups=6, padding=1), image),
    "3d": (lambda: nn.Conv3d(4, 4, 3, padding=1), volume),
    "reflecting": (lambda: nn.Conv2d(6, 4, 3, padding=1, padding_mode="reflect"), image),
    "1d transposed": (lambda: nn.ConvTranspose1d(6, 4, 3, stride=2), sequence),
    "2d transposed": (lambda: nn.ConvTranspose2d(6, 4, 3, stride=2, output_padding=1), image),
    "2d transposed, grouped": (lambda: nn.ConvTranspose2d(6, 4, 3, groups=2), image),
    "3d transposed": (lambda: nn.ConvTranspose3d(4, 4, 3), volume),
}
RECURRENT: dict[str, tuple[Callable[[], nn.Module], Call]] = {
    f"{kind.__name__}{' with two directions' * both}": (
        partial(kind, 8, 5, num_layers=2, bidirectional=both, batch_first=not both),
        lambda g: g.normal(3, 4, 8),
    )
    for kind in (nn.RNN, nn.LSTM, nn.GRU)
    for both in (False, True)
}
RECURRENT["LSTM with projections"] = (lambda: nn.LSTM(8, 5, proj_size=3), lambda g: g.normal(3, 4, 8))
RECURRENT["LSTMCell"] = (lambda: nn.LSTMCell(8, 5), lambda g: g.normal(3, 8))
RECURRENT["GRUCell"] = (lambda: nn.GRUCell(8, 5), lambda g: g.normal(3, 8))
LAYERS = {
    **POOLS,
    **NORMS,
    **CONVOLUTIONS,
    **RECURRENT,
    "embedding": (lambda: nn.Embedding(10, 4, padding_idx=1), lambda g: g.whole(3, 5, below=10)),
    "embedding of short rows": (lambda: nn.Embedding(10, 4, max_norm=1.0), lambda g: g.whole(3, 5, below=10)),
    "bag": (lambda: nn.EmbeddingBag(10, 4), lambda g: g.whole(3, 5, below=10)),
    "bag of sums": (
        lambda: nn.EmbeddingBag(10, 4, mode="sum", scale_grad_by_freq=True),
        lambda g: g.whole(3, 5, below=10),
    ),
    "padding": (
        lambda: nn.Sequential(nn.ReflectionPad2d((1, 2, 0, 1)), nn.ReplicationPad2d(2), nn.CircularPad2d(1)),
        image,
    ),
    "padding 1d": (lambda: nn.Sequential(nn.ReflectionPad1d((1, 2)), nn.ReplicationPad1d(2)), sequence),
    "padding 3d": (lambda: nn.Sequential(nn.ReplicationPad3d((1, 2, 0, 1, 2, 0)), nn.ReflectionPad3d(1)), volume),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, given = LAYERS[name]
    compare(lambda g: g.layer(make)(given(g)))


@pytest.mark.parametrize(
    "mode, given",
    [
        ("nearest", sequence),
        ("nearest", image),
        ("nearest", volume),
        ("nearest-exact", image),
        ("linear", sequence),
        ("bilinear", image),
        ("bicubic", image),
        ("trilinear", volume),
    ],
)
def test_resizing(mode, given):
    compare(lambda g: F.interpolate(given(g), scale_factor=2, mode=mode))
    compare(lambda g: F.interpolate(given(g), scale_factor=1.7, mode=mode))
    compare(lambda g: F.interpolate(given(g), size=[3] * (given(g).dim() - 2), mode=mode))
    if not mode.startswith("nearest"):
        compare(lambda g: F.interpolate(given(g), scale_factor=2, mode=mode, align_corners=True))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(reduction):
    for loss in (
        F.l1_loss,
        F.mse_loss,
        F.smooth_l1_loss,
        F.huber_loss,
        F.binary_cross_entropy_with_logits,
        F.poisson_nll_loss,
    ):
        compare(lambda g, loss=loss: loss(g.normal(4, 6) * 2, g.constant(4, 6), reduction=reduction))
    compare(lambda g: F.smooth_l1_loss(g.normal(4, 6), g.constant(4, 6), reduction=reduction, beta=0.3))
    compare(lambda g: F.huber_loss(g.normal(4, 6), g.constant(4, 6), reduction=reduction, delta=0.3))
    compare(lambda g: F.binary_cross_entropy(g.positive(4, 6), g.constant(4, 6), reduction=reduction))
    compare(lambda g: F.binary_cross_entropy(g.positive(4, 6), g.constant(4, 6), g.constant(4, 6), reduction=reduction))
    compare(lambda g: F.cross_entropy(image(g), g.whole(2, 9, 8), reduction=reduction))
    compare(lambda g: F.cross_entropy(image(g), g.whole(2, 9, 8), g.constant(6), ignore_index=2, reduction=reduction))
    compare(lambda g: F.cross_entropy(g.normal(4, 6), g.whole(4), reduction=reduction, label_smoothing=0.1))
    compare(lambda g: F.soft_margin_loss(g.normal(4, 6), (g.constant(4, 6) - 0.5).sign(), reduction=reduction))
    over = "batchmean" if reduction == "mean" else reduction
    compare(lambda g: F.kl_div(F.log_softmax(g.normal(4, 6), 1), g.constant(4, 6), reduction=over))


def test_attention():
    def shapes(g: Inputs) -> tuple[torch.Tensor, ...]:
        return g.normal(2, 4, 5, 8), g.normal(2, 4, 5, 8), g.normal(2, 4, 5, 8)

    compare(lambda g: F.scaled_dot_product_attention(*shapes(g)))
    compare(lambda g: F.scaled_dot_product_attention(*shapes(g), is_causal=True))
    compare(
        lambda g: F.scaled_dot_product_attention(
            *shapes(g), attn_mask=torch.ones(5, 5, dtype=torch.bool).tril().to(g.device)
        )
    )
    compare(
        lambda g: F.scaled_dot_product_attention(
            g.normal(2, 4, 5, 8), g.normal(2, 2, 5, 8), g.normal(2, 2, 5, 8), enable_gqa=True
        )
    )


def test_packed_sequences():
    from mindtorch_v2.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    for batch_first in (True, False):

        def run(g: Inputs, batch_first: bool = batch_first) -> list[torch.Tensor]:
            padded = g.normal(3, 4, 8) if batch_first else g.normal(4, 3, 8)
            packed = pack_padded_sequence(padded, torch.tensor([4, 3, 1]), batch_first=batch_first)
            out, (h, c) = g.layer(lambda: nn.LSTM(8, 5, batch_first=batch_first))(packed)
            return [pad_packed_sequence(out, batch_first=batch_first)[0], h, c]

        compare(run)


def test_bags_of_different_sizes():
    compare(lambda g: F.embedding_bag(g.whole(7, below=9), g.normal(9, 4), torch.tensor([0, 2, 2, 5]).to(g.device)))
    compare(
        lambda g: F.embedding_bag(
            g.whole(7, below=9),
            g.normal(9, 4),
            torch.tensor([0, 3]).to(g.device),
            mode="sum",
            per_sample_weights=g.constant(7),
        )
    )


def test_products():
    compare(lambda g: torch.addr(g.normal(4, 6), g.normal(4), g.normal(6), beta=0.5, alpha=2))
    compare(lambda g: torch.addbmm(g.normal(4, 3), g.normal(2, 4, 6), g.normal(2, 6, 3), beta=0.5))
    compare(lambda g: torch.einsum("bhid,bhjd->bhij", g.normal(2, 2, 4, 8), g.normal(2, 2, 5, 8)))
    compare(lambda g: g.layer(lambda: nn.Bilinear(6, 5, 3))(g.normal(4, 6), g.normal(4, 5)))


# --- types
HALVES: dict[str, Call] = {
    "activations": lambda g: [
        getattr(F, name)(g.normal(4, 6)) for name in ("softplus", "hardswish", "elu", "mish", "leaky_relu")
    ],
    "pooling": lambda g: [F.avg_pool2d(image(g), 2), F.adaptive_avg_pool2d(image(g), 3)],
    "resizing": lambda g: F.interpolate(image(g), scale_factor=2, mode="bilinear"),
    "padding": lambda g: F.pad(image(g), (1, 1, 1, 1), mode="reflect"),
    "order": lambda g: [*g.normal(4, 6).sort(), *g.normal(4, 6).topk(2), g.normal(4, 6).cumsum(0)],
    "statistics": lambda g: [g.normal(4, 6).std(1), g.normal(4, 6).norm()],
    "selection": lambda g: [g.normal(4, 6)[g.mask(4, 6)], g.normal(4, 6)[g.whole(3), g.whole(3)]],
}


@pytest.mark.parametrize("name", HALVES)
def test_half_precision(name):
    compare(HALVES[name], torch.float16, 1e-2, 5e-3)


# --- random numbers
def test_random_draws_have_their_distributions():
    torch.npu.manual_seed(2)
    dice = torch.randint(1, 7, (6000,), device="npu").cpu()
    assert dice.min() == 1 and dice.max() == 6 and abs(dice.float().mean().item() - 3.5) < 0.1
    order = torch.randperm(100, device="npu").cpu()
    assert order.sort()[0].tolist() == list(range(100)) and order.tolist() != list(range(100))
    weights = torch.tensor([0.0, 1.0, 3.0]).npu()
    drawn = torch.multinomial(weights, 4000, replacement=True).cpu()
    assert drawn.min() == 1 and 0.70 < (drawn == 2).float().mean().item() < 0.80
    assert sorted(torch.multinomial(weights[1:], 2).tolist()) == [0, 1]
    waits = torch.empty(4000, device="npu").exponential_(2.0).cpu()
    assert waits.min() >= 0 and abs(waits.mean().item() - 0.5) < 0.05
    coins = torch.bernoulli(torch.full((4000,), 0.25, device="npu")).cpu()
    assert set(coins.tolist()) == {0.0, 1.0} and abs(coins.mean().item() - 0.25) < 0.04
    shifted = torch.normal(torch.full((4000,), 3.0, device="npu"), 0.5).cpu()
    assert abs(shifted.mean().item() - 3) < 0.05 and abs(shifted.std().item() - 0.5) < 0.05


def test_random_draws_refuse_bad_bounds():
    with pytest.raises(RuntimeError, match=r"random_ expects 'from' to be less than 'to', but got from=5 >= to=5"):
        torch.randint(5, 5, (3,), device="npu")
    with pytest.raises(RuntimeError, match="exponential_ expects lambda > 0.0, but found lambda=0.0"):
        torch.ones(3, device="npu").exponential_(0.0)
