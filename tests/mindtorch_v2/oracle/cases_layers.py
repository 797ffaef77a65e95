"""Oracle cases: further layers and utilities of networks."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []
F64 = "float64"


def case(id: str, code: str, **kwargs: object) -> None:
    CASES.append(Case(id, code, strides=False, **kwargs))  # type: ignore[arg-type]


ADAPTIVE = "torch.manual_seed(1); m = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7]{}).double()"
for _id, _options in (("plain", ""), ("bias", ", div_value=2., head_bias=True")):
    case(
        f"adaptive_{_id}",
        f"{ADAPTIVE.format(_options)}; r = m(x, torch.tensor([0, 5, 11, 2, 8])); [r.output * 1, r.loss * 1]",
        x=In((5, 8), F64),
    )
    case(f"adaptive_{_id}_log_prob", f"{ADAPTIVE.format(_options)}; m.log_prob(x) * 1", x=In((5, 8), F64))
    case(f"adaptive_{_id}_predict", f"{ADAPTIVE.format(_options)}; m.predict(x)", grad=False, x=In((5, 8), F64))
    case(
        f"adaptive_{_id}_state",
        f"{ADAPTIVE.format(_options)}; [(k, tuple(v.shape)) for k, v in m.state_dict().items()]",
        grad=False,
    )
case(
    "adaptive_single", f"{ADAPTIVE.format('')}; r = m(x, torch.tensor(9)); [r.output * 1, r.loss * 1]", x=In((8,), F64)
)
case("error_adaptive_cutoffs", "torch.nn.AdaptiveLogSoftmaxWithLoss(8, 12, [7, 3])", grad=False)
case("error_adaptive_target", f"{ADAPTIVE.format('')}; m(x, torch.tensor([12]))", grad=False, x=In((1, 8), F64))
case(
    "weight_norm",
    "torch.manual_seed(1); m = torch.nn.utils.weight_norm(torch.nn.Linear(3, 2)).double(); [m(x) * 1, sorted(n for "
    "n, _ in m.named_parameters())]",
    x=In((4, 3), F64),
)
case(
    "weight_norm_dim",
    "torch.manual_seed(1); m = torch.nn.utils.weight_norm(torch.nn.Conv1d(3, 2, 2), dim=1).double(); [m(x) * 1, "
    "tuple(m.weight_g.shape)]",
    x=In((4, 3, 5), F64),
)
case(
    "weight_norm_removed",
    "torch.manual_seed(1); m = torch.nn.utils.remove_weight_norm(torch.nn.utils.weight_norm(torch.nn.Linear(3, "
    "2))).double()\n"
    "[m(x) * 1, sorted(n for n, _ in m.named_parameters())]",
    rtol=1e-6,
    atol=1e-7,
    x=In((4, 3), F64),
)
case("error_weight_norm_removed", "torch.nn.utils.remove_weight_norm(torch.nn.Linear(3, 2))", grad=False)
case(
    "sync_batch_norm",
    "m = torch.nn.SyncBatchNorm(3).double().eval(); [m(x) * 1, m.running_mean, sorted(m.state_dict())]",
    x=In((4, 3, 2), F64),
)
case(
    "sync_batch_norm_converted",
    "m = torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.Sequential(torch.nn.Linear(3, 3), "
    "torch.nn.BatchNorm1d(3)))\n"
    "[type(m[1]).__name__, sorted(m.state_dict())]",
    grad=False,
)
