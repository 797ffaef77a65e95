"""The memory timeline against the storages that live: at every step both say the same, for every kind of training
program.
"""

from __future__ import annotations

import gc
import random

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn as nn
import mindtorch_v2.nn.functional as F
from mindtorch_v2._storage import root_array
from mindtorch_v2.profiler import profile, record_function
from mindtorch_v2.profiler.analysis.memory import Blocks, find_blocks
from mindtorch_v2.profiler.record.recorder import recorder
from mindtorch_v2.profiler.store.lifetimes import FOREVER
from mindtorch_v2.utils.checkpoint import checkpoint

EXISTING: list[torch.Tensor] = []  # tensors of other tests' making, which live throughout


@pytest.fixture(autouse=True, scope="module")
def only_what_these_tests_make():
    """Sets aside what is there already: walking through the objects of a whole test run at every look would take
    minutes.
    """
    gc.collect()
    EXISTING.extend(t for t in gc.get_objects() if isinstance(t, torch.Tensor))
    gc.freeze()
    yield
    gc.unfreeze()
    EXISTING.clear()


def live_bytes() -> int:
    """The bytes of all tensors that the garbage collector knows, each memory counted once: nothing of the profiler
    is used.
    """
    tensors = [*EXISTING, *(t for t in gc.get_objects() if isinstance(t, torch.Tensor))]
    roots = {id(root): root for root in (root_array(t._array) for t in tensors if not t._keys & 2)}
    return sum(root.nbytes for root in roots.values())


def live_at(blocks: Blocks, time: int) -> int:
    return int(blocks.nbytes[(blocks.born_ns <= time) & (time < blocks.died_ns)].sum())


def blocks_of(prof: profile) -> Blocks:
    return find_blocks(prof.profiler.store)


class Watched:
    """Notes the truth at moments of a program, and compares it with the timeline afterwards."""

    def __init__(self, **options: bool) -> None:
        self.prof = profile(profile_memory=True, **options)
        self.moments: list[tuple[int, int]] = []

    def __enter__(self) -> Watched:
        gc.collect()
        self.prof.__enter__()
        self.look()
        return self

    def look(self) -> None:
        gc.collect()
        self.moments.append((recorder.now(), live_bytes()))

    def __exit__(self, *details: object) -> None:
        self.look()
        self.prof.__exit__(*details)

    def check(self) -> Blocks:
        blocks = blocks_of(self.prof)
        assert [live_at(blocks, time) for time, _ in self.moments] == [truth for _, truth in self.moments]
        assert len(self.moments) > 1
        return blocks


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def adam(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters())


def train(model: nn.Module, make_loss, optimizer, look, steps: int = 3, clip: bool = False) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        loss = make_loss()
        look()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        look()
        optimizer.step()
        del loss
        look()


def mlp(look):
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.LayerNorm(32), nn.Dropout(0.3), nn.Linear(32, 4))
    x, y = torch.randn(8, 16), torch.randint(0, 4, (8,))
    train(model, lambda: F.cross_entropy(model(x), y), adam(model), look, clip=True)


def cnn(look):
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 16, 2)
    )
    x = torch.randn(4, 3, 8, 8)
    train(model, lambda: model(x).square().mean(), torch.optim.AdamW(model.parameters()), look)


def attention(look):
    model = nn.MultiheadAttention(32, 4, batch_first=True)
    x = torch.randn(2, 6, 32)
    train(model, lambda: model(x, x, x)[0].sum(), sgd(model), look)


def transformer(look):
    model = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    x = torch.randn(2, 5, 16)
    train(model, lambda: model(x).sum(), torch.optim.RMSprop(model.parameters()), look)


def lstm(look):
    model = nn.LSTM(8, 16, num_layers=2, batch_first=True, bidirectional=True)
    x = torch.randn(3, 7, 8)
    train(model, lambda: model(x)[0].sum(), adam(model), look)


def embedding(look):
    model = nn.Sequential(nn.Embedding(20, 8), nn.GRU(8, 8))
    x = torch.randint(0, 20, (5, 3))
    train(model, lambda: model(x)[0].sum(), torch.optim.Adagrad(model.parameters()), look)


def checkpointed(look):
    layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(3)])
    x = torch.randn(4, 16, requires_grad=True)

    def loss():
        y = x
        for layer in layers:
            y = checkpoint(lambda t, layer=layer: torch.tanh(layer(t)), y, use_reentrant=False)
        return y.sum()

    train(layers, loss, torch.optim.NAdam(layers.parameters()), look)


def retained(look):
    w = torch.randn(8, 8, requires_grad=True)
    for _ in range(3):
        loss = (w @ w).exp().sum()
        loss.backward(retain_graph=True)
        look()
        loss.backward()
        look()
        w.grad = None
        del loss
        look()


def views(look):
    x = torch.randn(6, 10)
    y = x.transpose(0, 1).reshape(-1)
    look()
    z = y.view(10, 6)[2:5]
    look()
    del y
    look()
    a, b, c = x.chunk(3, 1)
    d = (
        torch._unsafe_view(x.transpose(0, 1).contiguous(), (60,))
        if hasattr(torch, "_unsafe_view")
        else x.t().reshape(60)
    )
    look()
    del x, a, c, z
    look()
    e = d.numpy()
    del b, d
    f = torch.from_numpy(e)
    look()
    del e, f
    look()


def inplace(look):
    x = torch.zeros(4, 4)
    x += 1
    x[1] = torch.ones(4)
    x.mul_(2).clamp_(0, 1)
    look()
    x.resize_(16, 16)
    look()
    x.resize_(2, 2)
    look()
    y = torch.randn(3, 3)
    x.data = y
    look()
    y.set_(torch.ones(5))
    look()
    p = nn.Parameter(torch.randn(4))
    p.data.add_(1)
    q = p.data
    del p
    look()
    del q, x, y
    look()


def numpys(look):
    given = np.arange(1000.0)
    look()
    x = torch.from_numpy(given)
    look()
    y = torch.from_numpy(given)
    z = torch.tensor(given)
    w = torch.tensor([1.0, 2.0]) + torch.as_tensor(np.ones(2))
    look()
    del x, y, given
    look()
    del z, w
    look()


def double_backward(look):
    x = torch.randn(5, requires_grad=True)
    for _ in range(2):
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        look()
        g.sum().backward()
        x.grad = None
        del g
        look()


def nested(look):
    import copy

    model = nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4))
    copied = copy.deepcopy(model)
    look()
    state = {k: v.clone() for k, v in model.state_dict().items()}
    copied.load_state_dict(state)
    look()
    with record_function("scope"):
        out = [m(torch.randn(2, 2, 9)) for m in (model, copied)]
    look()
    del state, copied, model
    look()
    del out
    look()


class Called(nn.Module):
    """A layer that calls a function of its input and of the layer inside it."""

    def __init__(self, function, *inner: nn.Module) -> None:
        super().__init__()
        self.function, self.inner = function, nn.Sequential(*inner)

    def forward(self, x):
        return self.function(self.inner, x)


def in_two(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """The rows as two sequences, through a layer that may answer with its state as well."""
    out = module(x.reshape(2, -1, 16))
    return (out if isinstance(out, torch.Tensor) else out[0]).reshape(x.shape)


CALLS = [
    lambda _, x: x.t().reshape(x.shape),
    lambda _, x: torch.cat(x.chunk(2)).clone().mul_(1.5),
    lambda _, x: torch.stack(x.unbind())[torch.arange(8).flip(0)],
    lambda _, x: torch.where(x > 0, x, x.detach() * 0.1).masked_fill(x > 2, 0.0),
    lambda _, x: F.pad(x.sort(dim=-1)[0], (1, 1))[:, 1:-1].double().float(),
    lambda _, x: x.expand(2, *x.shape).sum(0) * torch.rand_like(x),
]
LAYERS = [
    lambda draw, inner: nn.Sequential(nn.Linear(16, 16), nn.ReLU(inplace=draw.random() < 0.5)),
    lambda draw, inner: nn.Dropout(0.3),
    lambda draw, inner: nn.LayerNorm(16),
    lambda draw, inner: Called(in_two, nn.TransformerEncoderLayer(16, 2, 8, batch_first=True)),
    lambda draw, inner: Called(in_two, draw.choice([nn.LSTM, nn.GRU])(16, 16, batch_first=True)),
    lambda draw, inner: Called(lambda m, x: m(x[None, None])[0, 0], nn.Conv2d(1, 1, 3, padding=1)),
    lambda draw, inner: Called(draw.choice(CALLS)),
    lambda draw, inner: Called(lambda m, x: x + m(x), inner()),
    lambda draw, inner: Called(lambda m, x: checkpoint(m, x, use_reentrant=False), inner()),
]
OPTIMIZERS = [torch.optim.SGD, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.NAdam]


def drawn(seed: int):
    """A program whose layers, optimizer and habits are drawn."""

    def program(look):
        draw = random.Random(seed)

        def layer() -> nn.Module:
            return draw.choice(LAYERS)(draw, layer)

        model = nn.Sequential(*(layer() for _ in range(4)), nn.Linear(16, 4))
        x, y, kept = torch.randn(8, 16), torch.randint(0, 4, (8,)), []
        keeps, retains = draw.random() < 0.3, draw.random() < 0.3

        def make_loss() -> torch.Tensor:
            loss = F.cross_entropy(model(x), y)
            if keeps:
                kept.append(loss.detach())
            if retains:
                loss.backward(retain_graph=True)
            return loss

        optimizer = draw.choice(OPTIMIZERS)(model.parameters(), lr=0.01)
        train(model, make_loss, optimizer, look, steps=2, clip=draw.random() < 0.5)

    program.__name__ = f"drawn_{seed}"
    return program


PROGRAMS = [
    *map(drawn, range(4)),
    mlp,
    cnn,
    attention,
    transformer,
    lstm,
    embedding,
    checkpointed,
    retained,
    views,
    inplace,
    numpys,
    double_backward,
    nested,
]


@pytest.mark.parametrize("options", [{}, {"record_shapes": True, "with_stack": True}], ids=["plain", "stacks"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_timeline_equals_what_tensors_hold(program, options):
    torch.manual_seed(0)
    with Watched(**options) as watched:
        program(watched.look)
        watched.look()
    blocks = watched.check()
    assert live_at(blocks, FOREVER - 1) == watched.moments[0][1]  # all that the program made is gone


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_that_began_before_the_window(program):
    """What was there before is known, and its end is seen."""
    torch.manual_seed(0)
    state: dict[str, Watched] = {}

    def look() -> None:
        if not state:
            state["watched"] = Watched().__enter__()
        state["watched"].look()

    program(look)
    watched = state["watched"]
    watched.__exit__(None, None, None)
    watched.check()
