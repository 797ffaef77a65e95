"""Training on the device gives what training on the CPU gives."""

from __future__ import annotations

import copy
import io
import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn

F = nn.functional


@pytest.fixture(autouse=True)
def nothing_runs_on_the_cpu():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*runs on the CPU.*")
        yield


def mlp():
    return nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.LayerNorm(32), nn.Linear(32, 5))


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 4, 5),
    )


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, activation="gelu")
        self.out = nn.Linear(16, 30)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1]).to(tokens.device)
        return self.out(self.layer(self.embedding(tokens), src_mask=mask)).reshape(-1, 30)


def train(model, data, target, optimizer, device, steps=5):
    data, target = data.to(device), target.to(device)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "adam, one by one": lambda p: torch.optim.Adam(p, lr=0.01, foreach=False),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
}
SAMPLES = torch.Generator().manual_seed(1)
DATA = {
    "mlp": (mlp, torch.randn(16, 20, generator=SAMPLES), torch.randint(0, 5, (16,), generator=SAMPLES)),
    "cnn": (cnn, torch.randn(8, 3, 8, 8, generator=SAMPLES), torch.randint(0, 5, (8,), generator=SAMPLES)),
    "transformer": (
        Transformer,
        torch.randint(0, 30, (4, 9), generator=SAMPLES),
        torch.randint(0, 30, (36,), generator=SAMPLES),
    ),
}


@pytest.mark.parametrize(
    ("name", "optimizer"), [*[("mlp", o) for o in OPTIMIZERS], ("cnn", "momentum"), ("transformer", "momentum")]
)
def test_training_matches_the_cpu(name, optimizer):
    make, data, target = DATA[name]
    torch.manual_seed(0)
    here = make()
    there = copy.deepcopy(here).to("npu")
    assert all(p.device.type == "npu" for p in there.parameters())
    losses = [
        train(m, data, target, OPTIMIZERS[optimizer](m.parameters()), d) for m, d in ((here, "cpu"), (there, "npu"))
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert losses[0][-1] < losses[0][0]
    for (key, a), b in zip(here.state_dict().items(), there.state_dict().values()):
        assert torch.allclose(a.float(), b.cpu().float(), rtol=1e-3, atol=1e-4), key


def test_checkpoints_travel_between_devices(tmp_path):
    model = mlp().npu()
    torch.save(model.state_dict(), tmp_path / "m.pt")
    loaded = torch.load(tmp_path / "m.pt")
    assert all(t.device == torch.device("npu:0") for t in loaded.values())
    here = torch.load(tmp_path / "m.pt", map_location="cpu")
    assert all(t.device.type == "cpu" for t in here.values())
    other = mlp()
    other.load_state_dict(loaded)  # from the device into a model on the CPU
    for a, b in zip(other.parameters(), model.parameters()):
        assert torch.equal(a, b.cpu())
    buffer = io.BytesIO()
    torch.save(other.state_dict(), buffer)
    buffer.seek(0)
    moved = torch.load(buffer, map_location="npu:1")
    assert all(t.device.index == 1 for t in moved.values())


def test_an_optimizer_goes_on_after_loading():
    model = mlp().npu()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train(model, *DATA["mlp"][1:], optimizer, "npu", 2)
    copied = mlp().npu()
    copied.load_state_dict(model.state_dict())
    second = torch.optim.Adam(copied.parameters(), lr=0.01)
    second.load_state_dict(optimizer.state_dict())
    assert train(model, *DATA["mlp"][1:], optimizer, "npu", 2) == train(copied, *DATA["mlp"][1:], second, "npu", 2)


def test_a_loader_with_pinned_memory():
    data = torch.utils.data.TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    seen = []
    for x, y in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True):
        assert x.is_pinned() and y.is_pinned()
        seen += x.to("npu", non_blocking=True)[:, 0].tolist()
    assert seen == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]


def test_gradients_of_gradients():
    def second(device):
        x = torch.tensor([0.5, -1.0, 2.0], device=device, requires_grad=True)
        (g,) = torch.autograd.grad((x.tanh() * x.exp()).sum(), x, create_graph=True)
        return torch.autograd.grad((g * g).sum(), x)[0].cpu()

    assert torch.allclose(second("cpu"), second("npu"), rtol=1e-4)


def test_gradients_cross_devices():
    x = torch.ones(3, requires_grad=True)
    (x.npu() * 3).cpu().sum().backward()
    assert x.grad.device.type == "cpu" and x.grad.tolist() == [3.0] * 3


def test_legacy_names():
    x = torch.ones(2)
    assert x.npu().is_npu and not x.is_npu and x.npu(1).device.index == 1
    assert x.npu().type() == "torch.npu.FloatTensor"
    with pytest.raises(TypeError, match="can't convert npu:0 device type tensor to numpy"):
        x.npu().numpy()
    assert "device='npu:0'" in repr(x.npu())
    assert x.npu().cpu().numpy().tolist() == [1.0, 1.0]
    assert copy.deepcopy(x.npu()).device.type == "npu"
