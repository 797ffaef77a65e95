"""Five steps of every optimizer with various options, on either implementation; PyTorch's answers are in trajectories.json.

    python tests/mindtorch_v2/optim/trajectories.py     re-records them (needs torch==2.13.0)
"""
from __future__ import annotations

import importlib
import json
import pathlib
from typing import Any

DATA = pathlib.Path(__file__).parent / "trajectories.json"
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "SGD": [{}, {"momentum": .9}, {"momentum": .9, "nesterov": True}, {"momentum": .9, "dampening": .2}, {"weight_decay": .1},
            {"maximize": True}, {"momentum": .9, "foreach": True}, {"weight_decay": .1, "momentum": .5, "fused": True}],
    "Adam": [{}, {"amsgrad": True}, {"weight_decay": .1}, {"betas": (.5, .9)}, {"maximize": True}, {"foreach": True}, {"fused": True},
             {"foreach": True, "amsgrad": True, "weight_decay": .1}],
    "AdamW": [{}, {"weight_decay": .2, "amsgrad": True}, {"foreach": True}, {"fused": True}],
    "Adamax": [{}, {"weight_decay": .1}], "NAdam": [{}, {"weight_decay": .1, "decoupled_weight_decay": True}],
    "RAdam": [{}, {"weight_decay": .1}], "RMSprop": [{}, {"centered": True}, {"momentum": .9}, {"weight_decay": .1}],
    "Adagrad": [{}, {"lr_decay": .1, "initial_accumulator_value": .5}], "Adadelta": [{}, {"rho": .5, "weight_decay": .1}],
    "LBFGS": [{}, {"line_search_fn": "strong_wolfe"}, {"history_size": 2, "max_iter": 4}],
}


def _run(torch: Any, name: str, options: dict[str, Any]) -> list[float]:
    a = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    b = torch.tensor([[0.3, 0.7]], requires_grad=True)
    opt = getattr(torch.optim, name)([a, b], lr=0.1, **options)

    def closure() -> Any:
        opt.zero_grad()
        loss = ((a * a - 1) ** 2).sum() + ((b * b) ** 2).sum() + (a[:2] * b[0]).sum()
        loss.backward()
        return loss
    for _ in range(5):
        if name == "LBFGS":
            opt.step(closure)
        else:
            closure()
            opt.step()
    return [*a.tolist(), *b[0].tolist()]


def observe(impl: str) -> dict[str, list[float]]:
    """The parameters after five steps, by optimizer and options."""
    torch = importlib.import_module(impl)
    return {f"{name} {options}": _run(torch, name, options) for name, variants in VARIANTS.items() for options in variants}


if __name__ == "__main__":
    DATA.write_text(json.dumps(observe("torch"), indent=0) + "\n")
