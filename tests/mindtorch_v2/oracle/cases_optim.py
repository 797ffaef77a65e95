"""Oracle cases: optimizers and averages of models, several steps with given gradients."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []
F64, C128 = "float64", "complex128"


def steps(id: str, make: str, dtype: str = F64, shape: tuple[int, ...] = (4, 3), **kwargs: object) -> None:
    code = (
        f"p = torch.nn.Parameter(a.clone()); o = torch.optim.{make}\n"
        "for i in range(5):\n    p.grad = g * (2.0 - i)\n    o.step()\n"
        "[p.detach(), sorted(o.state[p]), {k: v for k, v in o.state[p].items() if k not in ('step',)}]"
    )
    CASES.append(Case(id, code, grad=False, a=In(shape, dtype), g=In(shape, dtype), **kwargs))  # type: ignore[arg-type]


for _type in (F64, "float32", C128):
    steps(f"asgd_{_type}", "ASGD([p], lr=0.1)", _type)
    steps(f"rprop_{_type}", "Rprop([p], lr=0.1)", _type)
steps("asgd_average", "ASGD([p], lr=0.1, lambd=0.3, alpha=0.5, t0=2, weight_decay=0.1, maximize=True)")
steps("rprop_sizes", "Rprop([p], lr=0.1, etas=(0.3, 1.7), step_sizes=(0.05, 0.2), maximize=True)")
for _shape in ((4, 3), (5,), (2, 3, 4), ()):
    steps(f"adafactor_{len(_shape)}", "Adafactor([p], lr=0.1)", shape=_shape)
steps("adafactor_single", "Adafactor([p], lr=0.1)", "float32")
steps(
    "adafactor_options",
    "Adafactor([p], lr=0.05, beta2_decay=-0.5, eps=(1e-4, 1e-2), d=2.0, weight_decay=0.1, maximize=True)",
)
# Muon orthogonalizes in bfloat16, whose spacing is 2 ** -8.
for _id, _make, _shape in (
    ("tall", "Muon([p], lr=0.1)", (5, 3)),
    ("wide", "Muon([p], lr=0.1, nesterov=False)", (3, 5)),
    ("adamw", "Muon([p], lr=0.1, adjust_lr_fn='match_rms_adamw', weight_decay=0.3, momentum=0.8)", (4, 4)),
):
    steps(f"muon_{_id}", _make, shape=_shape, rtol=0.0, atol=0.1 * 5 * 2**-7)
for _id, _code in {
    "asgd_lr": "torch.optim.ASGD([torch.nn.Parameter(torch.ones(2))], lr=-1)",
    "rprop_etas": "torch.optim.Rprop([torch.nn.Parameter(torch.ones(2))], etas=(1.2, 0.5))",
    "adafactor_d": "torch.optim.Adafactor([torch.nn.Parameter(torch.ones(2))], d=0.5)",
    "adafactor_decay": "torch.optim.Adafactor([torch.nn.Parameter(torch.ones(2))], beta2_decay=1)",
    "muon_vector": "torch.optim.Muon([torch.nn.Parameter(torch.ones(2))])",
    "muon_adjust": "torch.optim.Muon([torch.nn.Parameter(torch.ones(2, 2))], adjust_lr_fn='x')",
    "swalr": "torch.optim.swa_utils.SWALR(torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], 1.), 0.1, "
    "anneal_strategy='x')",
}.items():
    CASES.append(Case(f"error_{_id}", _code, grad=False))
for _strategy in ("cos", "linear"):
    CASES.append(
        Case(
            f"swalr_{_strategy}",
            "o = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], 0.5)\n"
            f"s = torch.optim.swa_utils.SWALR(o, 0.05, anneal_epochs=3, anneal_strategy='{_strategy}'); rates = []\n"
            "for i in range(6):\n    o.step(); s.step(); rates.append(s.get_last_lr()[0])\nrates",
            grad=False,
        )
    )
for _id, _options in (
    ("swa", ""),
    ("ema", ", multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)"),
    ("ema_fn", ", avg_fn=torch.optim.swa_utils.get_ema_avg_fn(0.9), use_buffers=True"),
    ("swa_fn", ", avg_fn=torch.optim.swa_utils.get_swa_avg_fn()"),
):
    CASES.append(
        Case(
            f"averaged_{_id}",
            "m = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).double()\n"
            f"m[0].weight.data.copy_(w); m[0].bias.data.zero_(); a = torch.optim.swa_utils.AveragedModel(m{_options})\n"
            "for i in range(4):\n    m(x * (i + 1)); m[0].weight.data.mul_(1.5); a.update_parameters(m)\n"
            "torch.optim.swa_utils.update_bn([x, x * 2], a)\n{k: v for k, v in a.state_dict().items()}",
            grad=False,
            w=In((2, 3), F64),
            x=In((5, 3), F64),
        )
    )
