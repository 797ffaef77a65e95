"""Oracle cases: losses."""

from __future__ import annotations

from .harness import Case, In

CASES: list[Case] = []
F64 = "float64"
X = In((4, 5))
LABELS = In((4,), "int64", 0, 4)
HOLES = In((4,), "int64", values=[2, -100, 0, 4])
WEIGHT = In((5,), low=0.2, high=2, grad=False)
SIGNS = In((4, 5), values=[[1, -1, 1, 1, -1]] * 3 + [[-1] * 5], grad=False)
PROBABILITY = In((4, 5), low=0.01, high=0.99)
TARGET_P = In((4, 5), low=0.01, high=0.99, grad=False)


def case(id: str, code: str, **kwargs: object) -> None:
    CASES.append(Case(id, code, **kwargs))  # type: ignore[arg-type]


def fails(id: str, code: str, **inputs: In) -> None:
    case(f"error_{id}", code, grad=False, **inputs)


REDUCTIONS = ("none", "mean", "sum")

# --- cross entropy and negative log likelihood
for how in REDUCTIONS:
    end = f"reduction='{how}')"
    case(f"ce_{how}", f"F.cross_entropy(x, t, {end}", x=X, t=LABELS)
    case(f"ce_weight_{how}", f"F.cross_entropy(x, t, weight=w, {end}", x=X, t=LABELS, w=WEIGHT)
    case(f"ce_ignore_{how}", f"F.cross_entropy(x, t, {end}", x=X, t=HOLES)
    case(f"ce_ignore_2_{how}", f"F.cross_entropy(x, t, ignore_index=2, weight=w, {end}", x=X, t=LABELS, w=WEIGHT)
    case(f"ce_smooth_{how}", f"F.cross_entropy(x, t, label_smoothing=0.1, {end}", x=X, t=LABELS)
    case(
        f"ce_smooth_weight_{how}", f"F.cross_entropy(x, t, weight=w, label_smoothing=0.1, {end}", x=X, t=HOLES, w=WEIGHT
    )
    case(f"ce_prob_{how}", f"F.cross_entropy(x, t, {end} * 1", x=X, t=PROBABILITY)
    case(
        f"ce_prob_weight_{how}",
        f"F.cross_entropy(x, t, weight=w, label_smoothing=0.1, {end} * 1",
        x=X,
        t=TARGET_P,
        w=WEIGHT,
    )
    case(f"ce_3d_{how}", f"F.cross_entropy(x, t, {end}", x=In((2, 5, 3)), t=In((2, 3), "int64", 0, 4))
    case(
        f"ce_4d_{how}",
        f"F.cross_entropy(x, t, weight=w, {end}",
        x=In((2, 5, 2, 3)),
        t=In((2, 2, 3), "int64", 0, 4),
        w=WEIGHT,
    )
    case(f"ce_prob_3d_{how}", f"F.cross_entropy(x, t, {end} * 1", x=In((2, 5, 3)), t=In((2, 5, 3), low=0, high=1))
    case(f"ce_vector_{how}", f"F.cross_entropy(x, t, {end}", x=In((5,)), t=In((), "int64", values=3))
    case(f"ce_empty_{how}", f"F.cross_entropy(x, t, {end}", grad=False, x=In((0, 5)), t=In((0,), "int64"))
    case(f"nll_{how}", f"F.nll_loss(x, t, {end}", x=X, t=LABELS)
    case(f"nll_weight_{how}", f"F.nll_loss(x, t, w, {end}", x=X, t=HOLES, w=WEIGHT)
    case(f"nll_5d_{how}", f"F.nll_loss(x, t, {end}", x=In((2, 5, 2, 1, 2)), t=In((2, 2, 1, 2), "int64", 0, 4))
    case(f"nll_strided_{how}", f"F.nll_loss(x, t, {end}", x=In((4, 5), layout="transposed"), t=LABELS)
    case(f"nll_all_ignored_{how}", f"F.nll_loss(x, t, {end}", x=In((2, 5)), t=In((2,), "int64", values=[-100, -100]))
case("nll_byte", "F.nll_loss(x, t)", x=X, t=In((4,), "uint8", 0, 4))
case("nll_half", "F.nll_loss(x, t)", grad=False, x=In((4, 5), "float16"), t=LABELS)
case("nll_double", "F.nll_loss(x, t)", x=In((4, 5), F64), t=LABELS)
case("nll_vector_one", "F.nll_loss(x, t, reduction='none')", grad=False, x=In((5,)), t=In((1,), "int64", values=[2]))
case(
    "nll_infinite_ignored",
    "F.nll_loss(x, t)",
    x=In((2, 2), values=[[-1.0, float("-inf")], [float("-inf"), 0.5]]),
    t=In((2,), "int64", values=[0, -100]),
)
case("ce_half", "F.cross_entropy(x, t)", grad=False, x=In((4, 5), "float16"), t=LABELS)
case("ce_large", "F.cross_entropy(x, t)", x=In((3, 5), low=-500, high=500), t=In((3,), "int64", 0, 4))

# --- elementwise losses
for how in REDUCTIONS:
    end = f"reduction='{how}')"
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        case(f"{name}_{how}", f"F.{name}(x, y, {end}", x=X, y=X)
        case(f"{name}_double_{how}", f"F.{name}(x, y, {end}", x=In((2, 3), F64), y=In((2, 3), F64))
    case(f"smooth_l1_beta_{how}", f"F.smooth_l1_loss(x, y, beta=2.5, {end}", x=X, y=X)
    case(f"smooth_l1_zero_{how}", f"F.smooth_l1_loss(x, y, beta=0.0, {end}", x=X, y=X)
    case(f"huber_delta_{how}", f"F.huber_loss(x, y, delta=0.5, {end}", x=X, y=X)
    case(f"soft_margin_{how}", f"F.soft_margin_loss(x, y, {end}", x=X, y=SIGNS)
    case(f"bce_{how}", f"F.binary_cross_entropy(x, y, {end}", x=PROBABILITY, y=PROBABILITY)
    case(f"bce_weight_{how}", f"F.binary_cross_entropy(x, y, weight=w, {end}", x=PROBABILITY, y=TARGET_P, w=WEIGHT)
    case(f"bce_logits_{how}", f"F.binary_cross_entropy_with_logits(x, y, {end}", x=X, y=PROBABILITY)
    case(
        f"bce_logits_weight_{how}",
        f"F.binary_cross_entropy_with_logits(x, y, weight=w, {end}",
        x=X,
        y=TARGET_P,
        w=WEIGHT,
    )
    case(
        f"bce_logits_pos_{how}",
        f"F.binary_cross_entropy_with_logits(x, y, pos_weight=w, {end}",
        x=X,
        y=PROBABILITY,
        w=WEIGHT,
    )
    case(f"kl_div_{how}", f"F.kl_div(x, y, {end}", x=X, y=PROBABILITY)
    case(f"kl_div_log_{how}", f"F.kl_div(x, y, log_target=True, {end}", x=X, y=X)
    case(f"poisson_{how}", f"F.poisson_nll_loss(x, y, {end}", x=X, y=TARGET_P)
    case(
        f"poisson_full_{how}",
        f"F.poisson_nll_loss(x, y, log_input=False, full=True, {end}",
        x=PROBABILITY,
        y=In((4, 5), low=0.5, high=4, grad=False),
    )
    case(f"ranking_{how}", f"F.margin_ranking_loss(x, y, s, margin=0.5, {end}", x=X, y=X, s=SIGNS)
    case(f"hinge_{how}", f"F.hinge_embedding_loss(x, s, margin=0.5, {end}", x=X, s=SIGNS)
    case(
        f"cosine_embedding_{how}",
        f"F.cosine_embedding_loss(x, y, t, margin=0.2, {end}",
        x=X,
        y=X,
        t=In((4,), "int64", values=[1, -1, -1, 1]),
    )
    case(f"triplet_{how}", f"F.triplet_margin_loss(x, y, z, {end}", x=X, y=X, z=X)
    case(f"triplet_swap_{how}", f"F.triplet_margin_loss(x, y, z, p=1, swap=True, margin=2.0, {end}", x=X, y=X, z=X)
    for p in (1, 2):
        case(f"multi_margin_{p}_{how}", f"F.multi_margin_loss(x, t, p={p}, margin=1.5, {end}", x=X, t=LABELS)
    case(f"multi_margin_weight_{how}", f"F.multi_margin_loss(x, t, weight=w, {end}", x=X, t=LABELS, w=WEIGHT)
    case(
        f"multilabel_margin_{how}",
        f"F.multilabel_margin_loss(x, t, {end}",
        x=X,
        t=In((4, 5), "int64", values=[[3, 0, -1, 1, 2], [-1, 0, 0, 0, 0], [0, 1, 2, 3, 4], [2, 2, -1, 0, 0]]),
    )
    case(f"multilabel_soft_{how}", f"F.multilabel_soft_margin_loss(x, y, {end}", x=X, y=TARGET_P)
    case(f"gaussian_{how}", f"F.gaussian_nll_loss(x, y, v, {end}", x=X, y=TARGET_P, v=In((4, 5), low=0.2, high=2))
    case(
        f"ctc_{how}",
        f"F.ctc_loss(x.log_softmax(2), t, (6, 4), (2, 3), {end}",
        x=In((6, 2, 4)),
        t=In((2, 3), "int64", values=[[1, 2, 3], [2, 2, 1]]),
    )
    case(
        f"ctc_flat_{how}",
        f"F.ctc_loss(x.log_softmax(2), t, l, m, blank=3, {end}",
        x=In((6, 2, 4), F64),
        t=In((5,), "int64", values=[1, 2, 2, 2, 1]),
        l=In((2,), "int64", values=[6, 5]),
        m=In((2,), "int64", values=[2, 3]),
    )
case("mse_broadcast", "F.mse_loss(x, y)", x=X, y=In((5,)))
case("mse_mixed", "F.mse_loss(x, y)", x=X, y=In((4, 5), F64))
case("mse_int_target", "F.mse_loss(x, y)", x=X, y=In((4, 5), "int64"))
case("mse_half", "F.mse_loss(x, y)", grad=False, x=In((4, 5), "float16"), y=In((4, 5), "float16"))
case("mse_scalar", "F.mse_loss(x, y)", x=In(()), y=In(()))
case("mse_empty", "F.mse_loss(x, y)", x=In((0, 3)), y=In((0, 3)))
case("mse_empty_sum", "F.mse_loss(x, y, reduction='sum')", x=In((0, 3)), y=In((0, 3)))
case(
    "mse_transposed",
    "F.mse_loss(x, y, reduction='none')",
    x=In((4, 5), layout="transposed"),
    y=In((4, 5), layout="transposed"),
)
case("mse_weight", "F.mse_loss(x, y, weight=w)", x=X, y=X, w=In((4, 5), low=0.1, high=1, grad=False))
case("l1_int", "F.l1_loss(x, y, reduction='sum')", x=In((4,), "int64"), y=In((4,), "int64"))
case(
    "bce_edges",
    "F.binary_cross_entropy(x, y, reduction='none')",
    x=In((4,), values=[0.0, 1.0, 1.0, 0.5]),
    y=In((4,), values=[1.0, 0.0, 1.0, 0.5], grad=False),
)
case(
    "bce_logits_large",
    "F.binary_cross_entropy_with_logits(x, y, reduction='none')",
    x=In((4,), values=[200.0, -200.0, 90.0, -90.0]),
    y=In((4,), values=[0.0, 1.0, 1.0, 0.0], grad=False),
)
case("bce_logits_double_target", "F.binary_cross_entropy_with_logits(x, y)", x=X, y=In((4, 5), F64, 0, 1, grad=False))
case("kl_div_batchmean", "F.kl_div(x, y, reduction='batchmean')", x=X, y=TARGET_P)
case("kl_div_zero", "F.kl_div(x, y, reduction='none')", x=In((3,)), y=In((3,), values=[0.0, 0.5, 1.0], grad=False))
case(
    "soft_margin_large",
    "F.soft_margin_loss(x, y, reduction='none')",
    grad=False,
    x=In((2,), values=[200.0, -200.0]),
    y=In((2,), values=[-1.0, 1.0]),
)
case("multi_margin_vector", "F.multi_margin_loss(x, t)", x=In((5,)), t=In((), "int64", values=2))
case(
    "multilabel_margin_vector",
    "F.multilabel_margin_loss(x, t)",
    x=In((5,)),
    t=In((5,), "int64", values=[2, 0, -1, 1, 1]),
)
case(
    "cosine_embedding_vector", "F.cosine_embedding_loss(x, y, t)", x=In((5,)), y=In((5,)), t=In((), "int64", values=-1)
)
case("cosine_similarity", "F.cosine_similarity(x, y)", x=X, y=X)
case("cosine_similarity_dim", "torch.cosine_similarity(x, y, dim=0, eps=1e-6)", x=X, y=X)
case("cosine_similarity_broadcast", "F.cosine_similarity(x, y, dim=-1)", x=X, y=In((5,)))
case("cosine_similarity_mixed", "F.cosine_similarity(x, y)", x=X, y=In((4, 5), F64))
case("cosine_similarity_zero", "F.cosine_similarity(x, y, dim=0)", x=In((3,), values=[0.0, 0.0, 0.0]), y=In((3,)))
for p in (1.0, 2.0, 3.0):
    case(f"pairwise_distance_{p}", f"F.pairwise_distance(x, y, p={p})", x=X, y=X)
case("pairwise_distance_keep", "F.pairwise_distance(x, y, keepdim=True)", x=X, y=X)
case("pairwise_distance_vector", "F.pairwise_distance(x, y)", x=In((5,)), y=In((5,)))
case(
    "ctc_impossible",
    "F.ctc_loss(x.log_softmax(2), t, (2, 2), (2, 1), reduction='none')",
    grad=False,
    x=In((2, 2, 4)),
    t=In((2, 2), "int64", values=[[1, 1], [1, 1]]),
)
case(
    "ctc_zero_infinity",
    "F.ctc_loss(x.log_softmax(2), t, (2, 2), (2, 1), zero_infinity=True)",
    x=In((2, 2, 4)),
    t=In((2, 2), "int64", values=[[1, 1], [1, 1]]),
)
case(
    "ctc_no_target",
    "F.ctc_loss(x.log_softmax(2), t, (3, 3), (0, 1), reduction='none')",
    x=In((3, 2, 4)),
    t=In((2, 1), "int64", values=[[1], [2]]),
)
case(
    "ctc_single",
    "F.ctc_loss(x.log_softmax(1), t, l, m, reduction='none')",
    x=In((5, 4)),
    t=In((2,), "int64", values=[1, 2]),
    l=In((), "int64", values=5),
    m=In((), "int64", values=2),
)

# --- second derivatives
TWICE = "g = torch.autograd.grad(y, [t for t in (a, b) if t.requires_grad], create_graph=True); sum((t * t).sum() for t in g)"
A64, B64 = In((3, 4), F64), In((3, 4), F64)
P64 = In((3, 4), F64, 0.05, 0.95)
S64 = In((3, 4), F64, values=[[1, -1, 1, -1]] * 3, grad=False)
T64 = In((3,), "int64", 0, 3)
for name, call, a, b in (
    ("ce", "F.cross_entropy(a, b)", A64, T64),
    ("nll", "F.nll_loss(a * a, b, reduction='none').pow(2).sum()", A64, T64),
    ("nll2d", "F.nll_loss((a * a).reshape(1, 4, 1, 3), b.reshape(1, 1, 3)) ** 2", A64, T64),
    ("mse", "F.mse_loss(a, b) ** 2", A64, B64),
    ("mse_none", "(F.mse_loss(a, b, reduction='none') ** 2).sum()", A64, B64),
    ("l1", "F.l1_loss(a, b) ** 2", A64, B64),
    ("smooth_l1", "F.smooth_l1_loss(a, b, beta=1.5) ** 2", A64, B64),
    ("huber", "F.huber_loss(a, b, delta=1.5) ** 2", A64, B64),
    ("soft_margin", "F.soft_margin_loss(a, b) ** 2", A64, S64),
    ("bce", "F.binary_cross_entropy(a, b) ** 2", P64, P64),
    ("bce_logits", "F.binary_cross_entropy_with_logits(a, b) ** 2", A64, P64),
    ("kl", "F.kl_div(a, b) ** 2", A64, P64),
    ("ce_prob", "F.cross_entropy(a, b) ** 2", A64, P64),
    ("cosine", "(F.cosine_similarity(a, b) ** 2).sum()", A64, B64),
    ("distance", "F.pairwise_distance(a, b).sum() ** 2", A64, B64),
):
    case(f"twice_{name}", f"y = {call}; {TWICE}", rtol=1e-6, a=a, b=b)

# --- errors
fails("ce_batch", "F.cross_entropy(x, t[:2])", x=X, t=LABELS)
fails("ce_range", "F.cross_entropy(x, t)", x=X, t=In((4,), "int64", values=[0, 1, 7, 2]))
fails("ce_negative", "F.cross_entropy(x, t)", x=X, t=In((4,), "int64", values=[0, 1, -1, 2]))
fails("ce_int", "F.cross_entropy(x, t.int())", x=X, t=LABELS)
fails("ce_weight", "F.cross_entropy(x, t, weight=torch.ones(4))", x=X, t=LABELS)
fails("ce_weight_type", "F.cross_entropy(x, t, weight=torch.ones(5).double())", x=X, t=LABELS)
fails("ce_smoothing", "F.cross_entropy(x, t, label_smoothing=1.5)", x=X, t=LABELS)
fails("ce_prob_type", "F.cross_entropy(x, x.long())", x=X)
fails("ce_prob_weight", "F.cross_entropy(x, x, weight=torch.ones(4))", x=X)
fails("ce_prob_ignore", "F.cross_entropy(x, x, ignore_index=2)", x=X)
fails("nll_float", "F.nll_loss(x, t.float())", x=X, t=LABELS)
fails("nll_rank", "F.nll_loss(x, t)", x=In(()), t=In((), "int64", values=0))
fails("nll_reduction", "F.nll_loss(x, t, reduction='bad')", x=X, t=LABELS)
fails("nll_size", "F.nll_loss(x, t)", x=In((2, 5, 3)), t=In((2, 4), "int64", 0, 4))
fails("nll_4d_size", "F.nll_loss(x, t)", x=In((2, 5, 3, 4)), t=In((2, 3, 5), "int64", 0, 4))
fails("nll_long", "F.nll_loss(x.long(), t)", x=X, t=LABELS)
fails("mse_shapes", "F.mse_loss(x, t.float())", x=X, t=LABELS)
fails("mse_int", "F.mse_loss(t, t)", t=LABELS)
fails("l1_int", "F.l1_loss(t, t)", t=LABELS)
fails("smooth_l1_beta", "F.smooth_l1_loss(x, x, beta=-1.0)", x=X)
fails("huber_delta", "F.huber_loss(x, x, delta=-1.0)", x=X)
fails(
    "bce_range", "F.binary_cross_entropy(x, y)", x=In((3,), values=[0.5, 1.5, 0.0]), y=In((3,), values=[0.0, 1.0, 0.0])
)
fails(
    "bce_target", "F.binary_cross_entropy(y, x)", x=In((3,), values=[0.5, 1.5, 0.0]), y=In((3,), values=[0.0, 1.0, 0.0])
)
fails("bce_size", "F.binary_cross_entropy(x, x[0])", x=PROBABILITY)
fails("bce_type", "F.binary_cross_entropy(x, x.double())", x=PROBABILITY)
fails("bce_logits_size", "F.binary_cross_entropy_with_logits(x, x[0])", x=PROBABILITY)
fails("bce_logits_op", "torch.binary_cross_entropy_with_logits(x, x[0], None, None, 1)", x=PROBABILITY)
fails("kl_div_int", "F.kl_div(x, x.long())", x=X)
fails("ranking", "F.margin_ranking_loss(x, x, x[0])", x=X)
fails("cosine_embedding", "F.cosine_embedding_loss(x, x[:3], t)", x=X, t=LABELS)
fails("cosine_embedding_rank", "F.cosine_embedding_loss(x[0], x[0], t)", x=X, t=LABELS)
fails("triplet_rank", "F.triplet_margin_loss(x, x, x[0])", x=X)
fails("triplet_margin", "F.triplet_margin_loss(x, x, x, margin=-1)", x=X)
fails("multi_margin_size", "F.multi_margin_loss(x, t[:2])", x=X, t=LABELS)
fails("multi_margin_range", "F.multi_margin_loss(x, t + 9)", x=X, t=LABELS)
fails("multi_margin_p", "F.multi_margin_loss(x, t, p=3)", x=X, t=LABELS)
fails("multilabel_size", "F.multilabel_margin_loss(x, t)", x=X, t=In((4, 4), "int64", 0, 3))
fails("multilabel_range", "F.multilabel_margin_loss(x, x.long() * 0 + 9)", x=X)
fails("soft_margin_size", "F.soft_margin_loss(x, x[:3])", x=X)
fails("cosine_similarity_size", "F.cosine_similarity(x, x[:3])", x=X)
fails("cosine_similarity_int", "F.cosine_similarity(t, t, dim=0)", t=LABELS)
fails("pairwise_size", "F.pairwise_distance(x, x[:3])", x=X)
fails(
    "ctc_lengths",
    "F.ctc_loss(x, t, torch.tensor([4, 4]), torch.tensor([3]))",
    x=In((4, 2, 4)),
    t=In((2, 3), "int64", 1, 3),
)
fails("ctc_input", "F.ctc_loss(x, t, (5, 4), (3, 3))", x=In((4, 2, 4)), t=In((2, 3), "int64", 1, 3))
fails("ctc_target", "F.ctc_loss(x, t, (4, 4), (3, 4))", x=In((4, 2, 4)), t=In((2, 3), "int64", 1, 3))
fails("ctc_blank", "F.ctc_loss(x, t, (4, 4), (3, 3), blank=9)", x=In((4, 2, 4)), t=In((2, 3), "int64", 1, 3))
for name, call in (
    ("multi_margin", "F.multi_margin_loss(x, t)"),
    ("ctc", "F.ctc_loss(x.log_softmax(1), t[:1] * 0 + 1, (4,), (1,))"),
):
    fails(
        f"twice_{name}",
        f"x.requires_grad_(); g, = torch.autograd.grad({call}, x, create_graph=True); g.sum().backward()",
        x=X,
        t=LABELS,
    )

_LINEAR = {"x": In((4, 5)), "w": In((6, 5)), "t": In((4,), "int64", 0, 5)}
CASES += [
    Case("linear_cross_entropy", "F.linear_cross_entropy(x, w, t)", **_LINEAR),
    Case("linear_cross_entropy_sum", "F.linear_cross_entropy(x, w, t, reduction='sum', ignore_index=2)", **_LINEAR),
    Case(
        "linear_cross_entropy_bias",
        "F.linear_cross_entropy(x, w, t, linear_bias=b, label_smoothing=0.1)",
        b=In((6,)),
        **_LINEAR,
    ),
    Case("linear_cross_entropy_single", "F.linear_cross_entropy(x[0], w, t[0])", **_LINEAR),
    Case(
        "linear_cross_entropy_many",
        "F.linear_cross_entropy(x, w, t, reduction='none')",
        x=In((4, 5)),
        w=In((6, 2, 5)),
        t=In((4, 2), "int64", 0, 5),
    ),
    Case(
        "linear_cross_entropy_probabilities",
        "F.linear_cross_entropy(x, w, p.softmax(1)) * 1",
        x=In((4, 5)),
        w=In((6, 5)),
        p=In((4, 6)),
    ),
    Case(
        "linear_cross_entropy_layer",
        "torch.nn.LinearCrossEntropyLoss(5, 6, bias=True)(x, t)",
        x=In((4, 5)),
        t=In((4,), "int64", 0, 5),
    ),
]
fails("linear_cross_entropy_rank", "F.linear_cross_entropy(x[None], w, t)", **_LINEAR)
fails("linear_cross_entropy_width", "F.linear_cross_entropy(x, w[:, :4], t)", **_LINEAR)
fails("linear_cross_entropy_bias_size", "F.linear_cross_entropy(x, w, t, linear_bias=x[0])", **_LINEAR)
