"""Models of several kinds train on the device as on the CPU, without an op that runs on the CPU. None has a
parameter whose gradient is zero but for rounding (a bias before a normalisation, of keys): optimizers that divide by
its size would make noise of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import nn


class SequenceClassifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 8, padding_idx=0)
        self.lstm = nn.LSTM(8, 10, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(20, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        out, _ = self.lstm(self.embedding(tokens))
        return self.head(out.mean(1))


class ImageClassifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False),
            nn.GroupNorm(4, 8),
            nn.Hardswish(),
            nn.AvgPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False),
            nn.InstanceNorm2d(8, affine=True),
            nn.Softplus(),
            nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )
        self.head = nn.Linear(32, 4)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(images))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.norm, self.qkv, self.out, self.head = (
            nn.LayerNorm(16),
            nn.Linear(16, 48, bias=False),
            nn.Linear(16, 16),
            nn.Linear(16, 4),
        )

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        q, k, v = self.qkv(self.norm(x)).view(*tokens.shape, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.gelu(self.out(mixed.transpose(1, 2).reshape(x.shape)), approximate="tanh")
        return self.head(x[:, -1])


MODELS: dict[str, Any] = {
    "lstm": (SequenceClassifier, "tokens"),
    "cnn": (ImageClassifier, "images"),
    "transformer": (Attention, "tokens"),
}
OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "sgd fused": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, fused=True),
    "adam foreach": lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True, foreach=True),
    "adam fused": lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.1, fused=True),
    "adamw fused": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1, amsgrad=True, fused=True),
    "adamw fused, maximizing": lambda p: torch.optim.AdamW(p, lr=0.001, maximize=True, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, centered=True, momentum=0.9),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05, foreach=True),
}


def train(model: str, optimizer: str, device: str, steps: int = 4) -> tuple[list[float], list[np.ndarray]]:
    """The losses, and what the parameters have become."""
    torch.manual_seed(0)
    kind, data = MODELS[model]
    net = kind().to(device)
    g = torch.Generator().manual_seed(1)
    given = (
        torch.randint(0, 20, (6, 7), generator=g) if data == "tokens" else torch.randn(6, 3, 8, 8, generator=g)
    ).to(device)
    labels = torch.randint(0, 4, (6,), generator=g).to(device)
    stepper = OPTIMIZERS[optimizer](net.parameters())
    losses = []
    for _ in range(steps):
        stepper.zero_grad()
        loss = F.cross_entropy(net(given), labels, label_smoothing=0.1)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        stepper.step()
        losses += [loss.item(), norm.item()]
    return losses, [p.detach().cpu().numpy() for p in net.parameters()]


@pytest.mark.parametrize(
    "model, optimizer",
    [
        *((model, "sgd") for model in MODELS),
        *(("transformer", name) for name in OPTIMIZERS),
        ("lstm", "adam foreach"),
        ("cnn", "adamw fused"),
    ],
)
def test_training_is_the_same_as_on_the_cpu(monkeypatch, model, optimizer):
    monkeypatch.setenv("MINDTORCH_NPU_FALLBACK", "error")
    (losses, made), (wanted_losses, wanted) = train(model, optimizer, "npu"), train(model, optimizer, "cpu")
    np.testing.assert_allclose(losses, wanted_losses, rtol=1e-3)
    for x, y in zip(made, wanted):
        np.testing.assert_allclose(x, y, rtol=5e-3, atol=5e-4)


def test_a_fused_step_that_the_device_refuses_says_so():
    p = torch.nn.Parameter(torch.ones(3, dtype=torch.float64).npu())
    p.grad = torch.ones_like(p)
    with pytest.raises(
        NotImplementedError, match=r"no fused Adam for a parameter of type torch.float64.*use foreach=True"
    ):
        torch.optim.AdamW([p], fused=True).step()


def test_convolution_is_one_event_as_with_torch_npu():
    from mindtorch_v2.profiler import ProfilerActivity, profile

    image, layers = torch.randn(2, 3, 8, 8).npu(), [nn.Conv2d(3, 4, 3).npu(), nn.ConvTranspose2d(3, 4, 3).npu()]
    line = nn.Conv1d(3, 4, 3).npu()
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        for layer in layers:
            layer(image)
        line(torch.zeros(2, 3, 8, device="npu"))
    inside = {"aten::conv2d": [], "aten::conv_transpose2d": [], "aten::conv1d": []}
    for event in prof.events():
        parent = event.cpu_parent
        while parent is not None:
            if parent.name in inside and event.name.startswith("aten::"):
                inside[parent.name].append(event.name)
            parent = parent.cpu_parent
    assert all(names == ["aten::convolution", "aten::_convolution"] for names in inside.values()), inside


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("used", ["outputs", "last states", "both", "last state of the last layer"])
@pytest.mark.parametrize("lengths", [[5, 5, 5], [5, 3, 2], [2, 5, 3]])
def test_gradients_of_packed_sequences(kind, used, lengths):
    """Two layers, both directions: gradients of the input, of the first states and of all weights, whichever results
    are used.
    """
    from mindtorch_v2.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    def gradients(device):
        torch.manual_seed(0)
        layer = torch.nn.__dict__[kind](3, 4, num_layers=2, bidirectional=True)
        x, first = torch.randn(5, 3, 3), [torch.randn(4, 3, 4) for _ in range(2)]
        layer, x = layer.to(device), x.to(device).requires_grad_()
        first = [t.to(device).requires_grad_() for t in first[: 2 if kind == "LSTM" else 1]]
        packed, last = layer(
            pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False),
            tuple(first) if kind == "LSTM" else first[0],
        )
        states = last if isinstance(last, tuple) else (last,)
        loss = 0.0
        if used in ("outputs", "both"):
            loss = loss + (pad_packed_sequence(packed)[0] ** 2).sum()
        if used in ("last states", "both"):
            loss = loss + sum((h**3).sum() for h in states)
        if used == "last state of the last layer":
            loss = loss + (states[0][-1] ** 3).sum() + (states[0][-2] ** 2).sum()
        loss.backward()
        return [t.grad for t in (x, *first, *layer.parameters())]

    for here, there in zip(gradients("cpu"), gradients("npu")):
        assert (here is None) == (there is None)
        if here is not None:  # sums of at most 5 steps x 3 sequences x 4 gates x 8 units, of numbers around 1
            np.testing.assert_allclose(there.cpu().numpy(), here.numpy(), rtol=0, atol=5 * 3 * 32 * 2.0**-24 * 4)
