"""Trains a small character-level transformer on the text in examples/data, profiles a few of its steps, and writes a
line of its own.
"""

from __future__ import annotations

import math
import pathlib
import sys
import time

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import profile, record_function, schedule

CONTEXT, WIDTH, HEADS, LAYERS, BATCH, STEPS = 48, 96, 4, 2, 12, 600
WARM, RECORDED = 50, 4  # the profile waits until training runs evenly, then records a few steps
TEXT = (pathlib.Path(__file__).parent / "data" / "harbour.txt").read_text()
ALPHABET = sorted(set(TEXT))
OUT = pathlib.Path("demo-out")


class LanguageModel(nn.Module):
    """Predicts the next character from up to CONTEXT characters before it."""

    def __init__(self) -> None:
        super().__init__()
        self.characters = nn.Embedding(len(ALPHABET), WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, len(ALPHABET))
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(CONTEXT))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = x.size(1)
        h = self.characters(x) + self.positions(torch.arange(n))
        h = self.layers(h, mask=self.mask[:n, :n], is_causal=True)
        logits: torch.Tensor = self.head(self.norm(h))
        return logits


def batch(data: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Random pieces of the text and the same pieces one character later: (BATCH, CONTEXT) each."""
    starts = torch.randint(0, len(data) - CONTEXT - 1, (BATCH,)).tolist()
    x = torch.stack([data[s : s + CONTEXT] for s in starts])
    y = torch.stack([data[s + 1 : s + CONTEXT + 1] for s in starts])
    return x, y


@torch.no_grad()
def write(model: LanguageModel, start: str, length: int = 120, temperature: float = 0.5) -> str:
    """Continues `start` character by character."""
    model.eval()
    written = [ALPHABET.index(c) for c in start]
    for _ in range(length):
        logits = model(torch.tensor([written[-CONTEXT:]]))[0, -1]
        written.append(int(torch.multinomial(torch.softmax(logits / temperature, -1), 1)))
    model.train()
    return "".join(ALPHABET[i] for i in written)


def show_progress(step: int, loss: float, began: float) -> None:
    """One line that grows old in place on a terminal, and a line every 100 steps elsewhere."""
    line = f"step {step:4d}/{STEPS}  loss {loss:.3f}  {time.monotonic() - began:5.1f} s"
    if sys.stdout.isatty():
        print(f"\r{line}", end="" if step < STEPS else "\n", flush=True)
    elif step == 1 or step % 100 == 0:
        print(line, flush=True)


def save_profile(prof: profile) -> None:
    """Called by the profile when it has recorded its steps."""
    OUT.mkdir(exist_ok=True)
    prof.export_chrome_trace(OUT / "trace.json.gz")
    prof.export_stacks(OUT / "stacks.txt")
    prof.export_memory_timeline(OUT / "memory.html")
    prof.export_report(OUT / "report.html")


def train(model: LanguageModel, data: torch.Tensor) -> tuple[list[float], profile]:
    """The loss of every step, and a profile of the RECORDED steps after the first WARM."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=STEPS)
    began, losses = time.monotonic(), []
    with profile(
        schedule=schedule(wait=WARM, warmup=1, active=RECORDED, repeat=1),
        on_trace_ready=save_profile,
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        with_modules=True,
    ) as prof:
        for step in range(1, STEPS + 1):
            with record_function("batch"):
                x, y = batch(data)
            loss = nn.functional.cross_entropy(model(x).reshape(-1, len(ALPHABET)), y.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
            show_progress(step, sum(losses[-20:]) / len(losses[-20:]), began)
            prof.step()
    return losses, prof


def report(prof: profile) -> None:
    """What the recorded steps say, and what to do with the files."""
    print(f"\n{RECORDED} training steps by operator:")
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=12, max_name_column_width=58))
    print("The same by module:")
    print(prof.module_report().table())
    print(f"""{OUT}/trace.json.gz  every event in time: open https://ui.perfetto.dev and drop the file on the page
{OUT}/stacks.txt     where the time goes by line: drop the file on https://www.speedscope.app
{OUT}/memory.html    memory over time, and who held it at the peak: open it in a browser
docs/profiler.md shows how to ask such questions of your own program, docs/mindprof.md how from the command line.

Open {OUT}/report.html in a browser: all of this on one page.""")


def main() -> None:
    torch.manual_seed(7)
    data = torch.tensor([ALPHABET.index(c) for c in TEXT])
    model = LanguageModel()
    count = sum(p.numel() for p in model.parameters())
    print(f"{count:,} parameters, {len(TEXT):,} characters, a guess costs {math.log(len(ALPHABET)):.2f}")
    losses, prof = train(model, data)
    print(f"loss fell from {losses[0]:.2f} to {sum(losses[-20:]) / 20:.2f}")
    print("sample:", write(model, "The harbour ").replace("\n", " "))
    report(prof)


if __name__ == "__main__":
    main()
