"""Generators: seeds repeat, states can be kept, distributions have their moments."""

from __future__ import annotations

from typing import Any


def run(torch: Any) -> dict[str, Any]:
    npu = torch.npu

    def draw() -> Any:
        return torch.randn(64, device="npu").cpu()

    npu.manual_seed(7)
    first, second = draw(), draw()
    npu.manual_seed(7)
    again = draw()
    state = npu.get_rng_state()
    third = draw()
    npu.set_rng_state(state)
    repeated = draw()
    torch.manual_seed(7)
    by_torch = draw()
    uniform = torch.rand(20000, device="npu").cpu()
    normal = torch.randn(20000, device="npu").cpu()
    kept = torch.nn.functional.dropout(torch.ones(20000, device="npu"), 0.25).cpu()
    filled = torch.empty(20000, device="npu").uniform_(2, 4).cpu()
    return {
        "a seed repeats": bool((first == again).all()),
        "draws differ": bool((first != second).any()),
        "second": bool((second == third).all()),
        "a state repeats": bool((third == repeated).all()),
        "torch.manual_seed seeds the device": bool((first == by_torch).all()),
        "initial seed": npu.initial_seed(),
        "state bytes": int(state.numel()),
        "state type": str(state.dtype),
        "uniform": [round(uniform.mean().item(), 1), uniform.min().item() >= 0, uniform.max().item() < 1],
        "normal": [abs(normal.mean().item()) < 0.05, round(normal.std().item(), 1)],
        "dropout": [abs((kept == 0).float().mean().item() - 0.25) < 0.02, round(kept.max().item(), 4)],
        "uniform_": [filled.min().item() >= 2, filled.max().item() <= 4],
        "first values": first[:8].tolist(),
        "first uniform values": uniform[:8].tolist(),
    }
