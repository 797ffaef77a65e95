"""Five steps of every optimizer with various options, on either implementation; PyTorch's answers are in
trajectories.json.

python tests/mindtorch_v2/optim/trajectories.py     re-records them (needs torch==2.13.0)
"""

from __future__ import annotations

import importlib
import json
import pathlib
from typing import Any

DATA = pathlib.Path(__file__).parent / "trajectories.json"
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True},
        {"momentum": 0.9, "dampening": 0.2},
        {"weight_decay": 0.1},
        {"maximize": True},
        {"momentum": 0.9, "foreach": True},
        {"weight_decay": 0.1, "momentum": 0.5, "fused": True},
    ],
    "Adam": [
        {},
        {"amsgrad": True},
        {"weight_decay": 0.1},
        {"betas": (0.5, 0.9)},
        {"maximize": True},
        {"foreach": True},
        {"fused": True},
        {"foreach": True, "amsgrad": True, "weight_decay": 0.1},
    ],
    "AdamW": [{}, {"weight_decay": 0.2, "amsgrad": True}, {"foreach": True}, {"fused": True}],
    "Adamax": [{}, {"weight_decay": 0.1}],
    "NAdam": [{}, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "RAdam": [{}, {"weight_decay": 0.1}],
    "RMSprop": [{}, {"centered": True}, {"momentum": 0.9}, {"weight_decay": 0.1}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.5}],
    "Adadelta": [{}, {"rho": 0.5, "weight_decay": 0.1}],
    "LBFGS": [{}, {"line_search_fn": "strong_wolfe"}, {"history_size": 2, "max_iter": 4}],
}


def _run(torch: Any, name: str, options: dict[str, Any]) -> list[float]:
    # L-BFGS takes differences of nearly equal losses and branches on them, so that single precision decides about whole
    # iterations.
    kind = torch.float64 if name == "LBFGS" else torch.float32
    a = torch.tensor([1.0, -2.0, 0.5], dtype=kind, requires_grad=True)
    b = torch.tensor([[0.3, 0.7]], dtype=kind, requires_grad=True)
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


COMPLEX = {name: [options for options in variants if "fused" not in options] for name, variants in VARIANTS.items()}


def _run_complex(torch: Any, name: str, options: dict[str, Any]) -> list[float]:
    """Three steps on a complex parameter beside a real one, in double precision; the squares kept are part of the
    answer.
    """
    a = torch.tensor([1.0 + 0.5j, -2.0j, 0.5 - 1.0j], dtype=torch.complex128, requires_grad=True)
    b = torch.tensor([0.3, 0.7, -0.2], dtype=torch.float64, requires_grad=True)
    opt = getattr(torch.optim, name)([a, b], lr=0.01, **options)

    def closure() -> Any:
        opt.zero_grad()
        loss = ((a * a.conj()).real - 1).square().sum() + (a * b).real.sum() + (a.imag * b * b).sum()
        loss.backward()
        return loss

    for _ in range(3):
        if name == "LBFGS":
            opt.step(closure)
        else:
            closure()
            opt.step()
    kept = [v for v in opt.state_dict()["state"].get(0, {}).values() if isinstance(v, torch.Tensor) and v.is_complex()]
    return [
        x for t in [a, b, *kept] for z in t.tolist() for x in ((z.real, z.imag) if isinstance(z, complex) else (z,))
    ]


def _run_differentiable(torch: Any, name: str, options: dict[str, Any]) -> list[float]:
    """The gradient of a loss after one step with respect to the parameters before it."""
    start = torch.tensor([1.5, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    a = start * 1
    a.grad = 4 * start * (start * start - 1)
    opt = getattr(torch.optim, name)([a], lr=0.1, differentiable=True, **options)
    opt.step()
    (made,) = torch.autograd.grad((a**3).sum(), start)
    return [*a.tolist(), *made.tolist()]


def observe(impl: str) -> dict[str, list[float]]:
    """The parameters after some steps, by optimizer and options."""
    torch = importlib.import_module(impl)
    made = {
        f"{name} {options}": _run(torch, name, options) for name, variants in VARIANTS.items() for options in variants
    }
    made.update(
        {
            f"complex {name} {options}": _run_complex(torch, name, options)
            for name, variants in COMPLEX.items()
            for options in variants
        }
    )
    made.update(
        {
            f"differentiable {name} {options}": _run_differentiable(torch, name, options)
            for name, variants in COMPLEX.items()
            if name != "LBFGS"
            for options in variants
            if "foreach" not in options
        }
    )
    return made


if __name__ == "__main__":
    DATA.write_text(json.dumps(observe("torch"), indent=0) + "\n")
