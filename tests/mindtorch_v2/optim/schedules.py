"""Learning-rate schedules run on either implementation; PyTorch's answers are in lr_schedules.json.

python tests/mindtorch_v2/optim/schedules.py     re-records them (needs torch==2.13.0)
"""

from __future__ import annotations

import importlib
import json
import pathlib
import warnings
from typing import Any

DATA = pathlib.Path(__file__).parent / "lr_schedules.json"
METRICS = [1, 0.9, 0.95, 0.95, 0.95, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8]


def _run(torch: Any, make: Any, optimizer: str = "SGD", metric: bool = False) -> list[Any]:
    p = torch.tensor([1.0], requires_grad=True)
    opt = torch.optim.SGD([p], lr=0.1, momentum=0.9) if optimizer == "SGD" else torch.optim.Adam([p], lr=0.1)
    scheduler = make(opt)
    seen: list[Any] = []
    for value in METRICS:
        seen.append(round(opt.param_groups[0]["lr"], 8))
        opt.step()
        scheduler.step(value) if metric else scheduler.step()
    group = opt.param_groups[0]
    seen.append(str(group.get("momentum", group.get("betas")))[:9])
    seen.append([round(x, 8) for x in scheduler.get_last_lr()])
    return seen


def observe(impl: str) -> dict[str, list[Any]]:
    """The rates of every schedule over twelve steps, the momentum at the end, and the last rates."""
    torch = importlib.import_module(impl)
    s = importlib.import_module(f"{impl}.optim.lr_scheduler")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = {
            "step": _run(torch, lambda o: s.StepLR(o, 3)),
            "multistep": _run(torch, lambda o: s.MultiStepLR(o, [2, 5, 5])),
            "const": _run(torch, lambda o: s.ConstantLR(o)),
            "linear": _run(torch, lambda o: s.LinearLR(o)),
            "exp": _run(torch, lambda o: s.ExponentialLR(o, 0.9)),
            "poly": _run(torch, lambda o: s.PolynomialLR(o, 6, 2.0)),
            "cos": _run(torch, lambda o: s.CosineAnnealingLR(o, 5, 0.01)),
            "lam": _run(torch, lambda o: s.LambdaLR(o, lambda e: 0.95**e)),
            "mul": _run(torch, lambda o: s.MultiplicativeLR(o, lambda e: 0.95)),
            "warm": _run(torch, lambda o: s.CosineAnnealingWarmRestarts(o, 3, 2)),
            "one": _run(torch, lambda o: s.OneCycleLR(o, 0.5, total_steps=13)),
            "one3": _run(
                torch,
                lambda o: s.OneCycleLR(o, 0.5, total_steps=13, three_phase=True, anneal_strategy="linear"),
                "Adam",
            ),
            "seq": _run(torch, lambda o: s.SequentialLR(o, [s.ConstantLR(o, 0.5, 10), s.ExponentialLR(o, 0.9)], [4])),
            "seq2": _run(
                torch, lambda o: s.SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=3), s.CosineAnnealingLR(o, 6)], [3])
            ),
            "chain": _run(torch, lambda o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 3), s.ExponentialLR(o, 0.9)])),
            "plateau": _run(torch, lambda o: s.ReduceLROnPlateau(o, patience=1, cooldown=1), metric=True),
        }
        for mode in ("triangular", "triangular2", "exp_range"):
            out["cyc" + mode] = _run(
                torch, lambda o, m=mode: s.CyclicLR(o, 0.01, 0.1, step_size_up=2, step_size_down=3, mode=m, gamma=0.9)
            )
    return out


if __name__ == "__main__":
    DATA.write_text(json.dumps(observe("torch")) + "\n")
