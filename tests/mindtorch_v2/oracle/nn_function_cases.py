"""Cases of losses and functions of `torch.nn.functional`."""

from __future__ import annotations

from .harness import Case, In
from .layer_cases import IMG, LEN, SEQ, layer


def losses() -> list[Case]:
    x, y = In((4, 5)), In((4, 5))
    prob = In((4, 5), low=0.05, high=0.95)
    target = In((4,), "int64", 0, 4)
    signs = In((4,), values=[1.0, -1.0, 1.0, -1.0])
    cases = []
    for r in ("mean", "sum", "none"):
        cases += [
            layer(f"{k}_{r}", f"{k}(reduction='{r}')", "m(x, y)", x=x, y=y)
            for k in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "PoissonNLLLoss")
        ]
        cases += [
            layer(
                f"CrossEntropyLoss_{r}",
                f"CrossEntropyLoss(reduction='{r}', label_smoothing=0.1, ignore_index=2)",
                "m(x, t)",
                x=x,
                t=target,
            ),
            layer(
                f"NLLLoss_{r}",
                f"NLLLoss(weight=torch.arange(1., 6.), reduction='{r}')",
                "m(torch.log_softmax(x, 1), t)",
                x=x,
                t=target,
            ),
            layer(f"BCELoss_{r}", f"BCELoss(reduction='{r}')", "m(x, y)", x=prob, y=prob),
            layer(
                f"BCEWithLogitsLoss_{r}",
                f"BCEWithLogitsLoss(pos_weight=torch.arange(1., 6.), reduction='{r}')",
                "m(x, y)",
                x=x,
                y=prob,
            ),
            layer(f"KLDivLoss_{r}", f"KLDivLoss(reduction='{r}')", "m(torch.log_softmax(x, 1), y)", x=x, y=prob),
            layer(f"MultiMarginLoss_{r}", f"MultiMarginLoss(reduction='{r}')", "m(x, t)", x=x, t=target),
            layer(
                f"MultiLabelMarginLoss_{r}",
                f"MultiLabelMarginLoss(reduction='{r}')",
                "m(x, torch.tensor([[1, 2, -1, 0, 0]] * 4))",
                x=x,
            ),
            layer(
                f"MultiLabelSoftMarginLoss_{r}",
                f"MultiLabelSoftMarginLoss(reduction='{r}')",
                "m(x, (y > 0).float())",
                x=x,
                y=y,
            ),
            layer(f"SoftMarginLoss_{r}", f"SoftMarginLoss(reduction='{r}')", "m(x, y.detach().sign())", x=x, y=y),
            layer(
                f"HingeEmbeddingLoss_{r}", f"HingeEmbeddingLoss(reduction='{r}')", "m(x, y.detach().sign())", x=x, y=y
            ),
            layer(
                f"CosineEmbeddingLoss_{r}",
                f"CosineEmbeddingLoss(margin=0.1, reduction='{r}')",
                "m(x, y, s)",
                x=x,
                y=y,
                s=signs,
            ),
            layer(
                f"MarginRankingLoss_{r}",
                f"MarginRankingLoss(margin=0.1, reduction='{r}')",
                "m(x[0], y[0], y[1].detach().sign())",
                x=x,
                y=y,
            ),
            layer(
                f"TripletMarginLoss_{r}",
                f"TripletMarginLoss(swap=True, reduction='{r}')",
                "m(x, y, z)",
                x=x,
                y=y,
                z=In((4, 5)),
            ),
            layer(
                f"TripletDistance_{r}",
                f"TripletMarginWithDistanceLoss(reduction='{r}')",
                "m(x, y, z)",
                x=x,
                y=y,
                z=In((4, 5)),
            ),
            layer(
                f"GaussianNLLLoss_{r}", f"GaussianNLLLoss(full=True, reduction='{r}')", "m(x, y, v)", x=x, y=y, v=prob
            ),
            layer(
                f"CTCLoss_{r}",
                f"CTCLoss(reduction='{r}')",
                "m(torch.log_softmax(x, 2), torch.tensor([[1, 2, 3], [2, 2, 1]]), torch.tensor([6, 5]), "
                "torch.tensor([3, 2]))",
                x=In((6, 2, 5)),
            ),
        ]
    cases += [
        layer("CrossEntropyLoss_probs", "CrossEntropyLoss()", "m(x, y)", x=x, y=prob),
        layer("CrossEntropyLoss_2d", "CrossEntropyLoss()", "m(x, t)", x=In((2, 3, 4)), t=In((2, 4), "int64", 0, 2)),
        layer("KLDivLoss_batchmean", "KLDivLoss(reduction='batchmean', log_target=True)", "m(x, y)", x=x, y=y),
    ]
    return cases


def functions() -> list[Case]:
    x, y, w = In((4, 5)), In((4, 5)), In((4, 5), low=0.1)
    return [
        Case(
            "f_mse_weight", "[F.mse_loss(x, y, weight=w, reduction=r) for r in ('none', 'mean', 'sum')]", x=x, y=y, w=w
        ),
        Case("f_l1_weight", "[F.l1_loss(x, y, weight=w, reduction=r) for r in ('none', 'mean', 'sum')]", x=x, y=y, w=w),
        Case(
            "f_huber_weight",
            "[F.huber_loss(x, y, weight=w, reduction=r, delta=0.5) for r in ('none', 'mean', 'sum')]",
            x=x,
            y=y,
            w=w,
        ),
        Case("f_mse_broadcast", "F.mse_loss(x, y)", x=x, y=In((5,))),
        Case("f_smooth_l1_zero_beta", "F.smooth_l1_loss(x, y, beta=0.0)", x=x, y=y),
        Case("f_mse_old_flags", "F.mse_loss(x, y, size_average=False)", x=x, y=y),
        Case("f_bad_reduction", "F.mse_loss(x, y, reduction='median')", x=x, y=y),
        Case("f_normalize", "[F.normalize(x), F.normalize(x, p=1, dim=0)]", x=x),
        Case(
            "f_gumbel",
            "torch.manual_seed(2); [F.gumbel_softmax(x, tau=0.5), F.gumbel_softmax(x, hard=True)]",
            x=x,
            rtol=1e-4,
        ),
        Case("f_one_hot", "F.one_hot(t, 5)", t=In((3,), "int64", 0, 4)),
        Case("f_logsigmoid", "F.logsigmoid(x)", x=x),
        Case("f_gelu", "F.gelu(x, approximate='tanh')", x=x),
        Case("f_softplus", "F.softplus(x, 2)", x=x),
        Case("f_pdist", "F.pdist(x)", x=x),
        Case("f_softmax_dtype", "F.softmax(x, 1, dtype=torch.float64)", x=x),
        Case("f_interpolate_area", "F.interpolate(x, scale_factor=0.5, mode='area')", x=IMG),
        Case("f_interpolate_exact", "F.interpolate(x, size=9, mode='nearest-exact')", x=LEN),
        Case(
            "f_interpolate_linear",
            "F.interpolate(x, scale_factor=1.7, mode='linear', recompute_scale_factor=True)",
            x=LEN,
        ),
        Case("f_interpolate_bicubic", "F.interpolate(x, (3, 8), mode='bicubic')", x=IMG, rtol=1e-4),
        Case("f_interpolate_both", "F.interpolate(x, 3, 2)", x=IMG),
        Case("f_interpolate_neither", "F.interpolate(x)", x=IMG),
        Case("f_interpolate_corners", "F.interpolate(x, 3, align_corners=True)", x=IMG),
        Case("f_interpolate_dims", "F.interpolate(x, (3, 3), mode='bilinear')", x=LEN),
        Case("f_interpolate_mode", "F.interpolate(x, 3, mode='bilinear')", x=LEN),
        Case(
            "f_grid_sample",
            "F.grid_sample(x, F.affine_grid(t, (2, 4, 5, 3), align_corners=False), align_corners=False)",
            x=IMG,
            t=In((2, 2, 3)),
            rtol=1e-4,
            atol=1e-5,
        ),
        Case("f_grid_sample_mode", "F.grid_sample(x, x, mode='cubic')", x=IMG),
        Case(
            "f_embedding_bag_weights",
            "F.embedding_bag(i, w, per_sample_weights=p, mode='sum')",
            i=In((2, 3), "int64", 0, 3),
            w=x,
            p=In((2, 3)),
        ),
        Case("f_embedding_bag_mode", "F.embedding_bag(i, w, mode='median')", i=In((2, 3), "int64", 0, 3), w=x),
        Case("f_embedding_padding", "F.embedding(i, w, padding_idx=7)", i=In((2,), "int64", 0, 3), w=x),
        Case("f_dropout_p", "F.dropout(x, 1.5)", x=x),
        Case("f_hardtanh_order", "F.hardtanh(x, 1.0, 0.0)", x=x),
        Case("f_bce_sizes", "F.binary_cross_entropy(x, y)", x=x, y=In((5,))),
        Case("f_bce_logits_sizes", "F.binary_cross_entropy_with_logits(x, y)", x=x, y=In((5,))),
        Case("f_batch_norm_one", "F.batch_norm(x, None, None, training=True)", x=In((1, 3))),
        Case("f_instance_norm_one", "F.instance_norm(x)", x=In((2, 3, 1))),
        Case("f_triplet_margin", "F.triplet_margin_loss(x, y, x, margin=-1.0)", x=x, y=y),
        Case("f_gaussian_negative", "F.gaussian_nll_loss(x, y, -1.0)", x=x, y=y),
        Case("f_glu_scalar", "F.glu(x)", x=In(())),
        Case("f_pack", "list(torch.nn.utils.rnn.pack_padded_sequence(x, [5, 3], batch_first=False))[:2]", x=SEQ),
        Case(
            "f_pack_batch_first",
            "list(torch.nn.utils.rnn.pack_padded_sequence(x, [3, 2, 1], True))[:2]",
            x=In((3, 3, 2)),
        ),
        Case(
            "f_pack_unsorted", "list(torch.nn.utils.rnn.pack_padded_sequence(x, [3, 5], enforce_sorted=False))", x=SEQ
        ),
        Case("f_pack_not_sorted", "torch.nn.utils.rnn.pack_padded_sequence(x, [3, 5])", x=SEQ),
        Case("f_pack_zero", "torch.nn.utils.rnn.pack_padded_sequence(x, [3, 0])", x=SEQ),
        Case("f_pack_count", "torch.nn.utils.rnn.pack_padded_sequence(x, [3])", x=SEQ),
        Case(
            "f_pad_packed",
            "P = torch.nn.utils.rnn; list(P.pad_packed_sequence(P.pack_padded_sequence(x, [4, 2]), padding_value=-1.0, "
            "total_length=6))",
            x=SEQ,
            grad=False,
        ),
        Case(
            "f_pad_sequence",
            "torch.nn.utils.rnn.pad_sequence([x, y], batch_first=True, padding_value=2.0)",
            x=In((3, 2)),
            y=In((5, 2)),
            grad=False,
        ),
        Case(
            "f_pad_sequence_left",
            "torch.nn.utils.rnn.pad_sequence([x, y], padding_side='left')",
            x=In((3, 2)),
            y=In((5, 2)),
            grad=False,
        ),
        Case("f_unpad", "torch.nn.utils.rnn.unpad_sequence(x, torch.tensor([2, 5]))", x=SEQ, grad=False),
        Case(
            "f_pack_sequence",
            "P = torch.nn.utils.rnn; P.unpack_sequence(P.pack_sequence([x, y], enforce_sorted=False))",
            x=In((3, 2)),
            y=In((5, 2)),
            grad=False,
        ),
    ]
