"""Small models that are trained a few steps, on PyTorch (to record) and on this package (to compare)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STEPS = 5


def _mlp(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3))
    x, y = torch.randn(12, 10), torch.randint(0, 3, (12,))
    return model, lambda: nn.functional.cross_entropy(model(x), y)


def _cnn(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, groups=2),
        nn.GELU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    )
    x, y = torch.randn(6, 3, 10, 10), torch.randint(0, 4, (6,))
    return model, lambda: nn.functional.cross_entropy(model(x), y, label_smoothing=0.1)


def _lstm(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(20, 6, padding_idx=0)
            self.lstm = nn.LSTM(6, 8, num_layers=2, bidirectional=True, batch_first=True)
            self.out = nn.Linear(16, 5)

        def forward(self, tokens: Any) -> Any:
            return self.out(self.lstm(self.embed(tokens))[0])

    model = Tagger()
    tokens, tags = torch.randint(0, 20, (4, 7)), torch.randint(0, 5, (4, 7))
    return model, lambda: nn.functional.cross_entropy(model(tokens).transpose(1, 2), tags)


def _gru(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    model = nn.ModuleDict({"gru": nn.GRU(4, 6), "out": nn.Linear(6, 1)})
    x, y = torch.randn(9, 3, 4), torch.randn(3, 1)
    return model, lambda: nn.functional.mse_loss(model["out"](model["gru"](x)[1][0]), y)


def _transformer(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn

    class Language(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(11, 8)
            layer = nn.TransformerEncoderLayer(
                8, 2, 16, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8), enable_nested_tensor=False)
            self.out = nn.Linear(8, 11, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, tokens: Any) -> Any:
            mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
            return self.out(self.encoder(self.embed(tokens), mask=mask, is_causal=True))

    model = Language()
    tokens = torch.randint(0, 11, (3, 9))
    return model, lambda: nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


def _seq2seq(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    model = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
    src, tgt = torch.randn(2, 5, 8), torch.randn(2, 4, 8)
    return model, lambda: nn.functional.smooth_l1_loss(model(src, tgt), tgt)


def _autoencoder(torch: Any) -> tuple[Any, Any]:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2, padding=1),
        nn.GroupNorm(2, 4),
        nn.SiLU(),
        nn.Upsample(scale_factor=2),
        nn.ConvTranspose2d(4, 2, 3, padding=1),
        nn.PReLU(),
        nn.Conv2d(2, 1, 1),
        nn.Sigmoid(),
    )
    x = torch.rand(3, 1, 8, 8)
    return model, lambda: nn.functional.binary_cross_entropy(model(x), x)


MODELS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "mlp": _mlp,
    "cnn": _cnn,
    "lstm": _lstm,
    "gru": _gru,
    "transformer": _transformer,
    "seq2seq": _seq2seq,
    "autoencoder": _autoencoder,
}
OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "sgd": lambda torch, params: torch.optim.SGD(params, lr=0.1, momentum=0.9),
    "adamw": lambda torch, params: torch.optim.AdamW(params, lr=0.01),
}


Change = Callable[[Any], None]


def train(
    torch: Any, name: str, optimizer: str, change: Change | None = None, dtype: str = "float32"
) -> dict[str, Any]:
    """The losses of a few seeded steps, the norms of the clipped gradients, and sums over the final state.

    `change` may alter the fresh model before it is trained.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        return _trained(torch, name, optimizer, change)
    finally:
        torch.set_default_dtype(before)


def _trained(torch: Any, name: str, optimizer: str, change: Change | None) -> dict[str, Any]:
    torch.manual_seed(1234)
    model, loss_of = MODELS[name](torch)
    if change is not None:
        change(model)
    step = OPTIMIZERS[optimizer](torch, model.parameters())
    losses, norms = [], []
    for _ in range(STEPS):
        step.zero_grad()
        loss = loss_of()
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)))
        step.step()
        losses.append(float(loss))
    model.eval()
    return {
        "losses": losses,
        "norms": norms,
        "eval": float(loss_of()),
        "state": {k: float(v.double().abs().sum()) for k, v in model.state_dict().items()},
    }
