"""A transformer block with causal attention, trained with AdamW."""

from __future__ import annotations

from typing import Any

from .mlp import fill


def run(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    functional = nn.functional

    class Block(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(11, 8)
            self.norm1, self.norm2, self.norm3 = nn.LayerNorm(8), nn.LayerNorm(8), nn.LayerNorm(8)
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
            self.up, self.down, self.head = nn.Linear(8, 16), nn.Linear(16, 8), nn.Linear(8, 11)

        def forward(self, tokens: Any) -> Any:
            x = self.embed(tokens)
            batch, length, _ = x.shape
            q, k, v = (t.reshape(batch, length, 2, 4).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
            scores = q @ k.transpose(-1, -2) / 2.0
            mask = torch.ones(length, length, device=tokens.device).tril() == 0
            mixed = (scores.masked_fill(mask, float("-inf")).softmax(-1) @ v).transpose(1, 2).reshape(batch, length, 8)
            x = x + self.out(mixed)
            x = x + self.down(functional.gelu(self.up(self.norm2(x))))
            return self.head(self.norm3(x))

    model = Block()
    fill(torch, model)
    model = model.npu()
    tokens = ((torch.arange(12) * 5) % 11).reshape(2, 6).npu()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        logits = model(tokens[:, :-1])
        loss = functional.cross_entropy(logits.reshape(-1, 11), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {
        "losses": losses,
        "head": model.head.weight.detach().cpu().tolist(),
        "embedding": model.embed.weight.grad.cpu().tolist(),
    }
