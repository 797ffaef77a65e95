"""Cases for initial values, errors and behaviour of modules; part of the family `nn`."""

from __future__ import annotations

from .harness import Case, In

X4 = In((3, 4))


def initial() -> list[Case]:
    calls = [
        "uniform_(t, -1, 3)",
        "normal_(t, 1, 2)",
        "trunc_normal_(t, std=0.5, a=-0.3, b=0.9)",
        "trunc_normal_(t, a=1.0, b=1.5)",
        "trunc_normal_(t, std=0.02)",
        "constant_(t, 2.5)",
        "ones_(t)",
        "zeros_(t)",
        "eye_(t)",
        "xavier_uniform_(t, gain=2)",
        "xavier_normal_(t)",
        "kaiming_uniform_(t, nonlinearity='relu')",
        "kaiming_normal_(t, mode='fan_out')",
        "orthogonal_(t)",
        "orthogonal_(t.t())",
        "sparse_(t, 0.4)",
    ]
    cases = [
        Case(f"init_{c}", f"torch.manual_seed(9); t = torch.empty(5, 7); torch.nn.init.{c}", rtol=1e-4, atol=1e-5)
        for c in calls
    ]
    cases += [Case(f"init_dirac_{g}", f"torch.nn.init.dirac_(torch.empty(4, 2, 3, 3), {g})") for g in (1, 2)]
    cases += [
        Case(f"init_gain_{n}", f"torch.nn.init.calculate_gain('{n}')")
        for n in ("linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu", "softmax")
    ]
    cases += [
        Case("init_gain_slope", "torch.nn.init.calculate_gain('leaky_relu', 0.2)"),
        Case("init_gain_bad_slope", "torch.nn.init.calculate_gain('leaky_relu', 'x')"),
        Case("init_fan_1d", "torch.nn.init.xavier_uniform_(torch.empty(3))"),
        Case("init_mode", "torch.nn.init.kaiming_normal_(torch.empty(3, 3), mode='fan_mid')"),
        Case("init_eye_3d", "torch.nn.init.eye_(torch.empty(3, 3, 3))"),
        Case("init_dirac_1d", "torch.nn.init.dirac_(torch.empty(3))"),
        Case("init_conv", "torch.manual_seed(9); torch.nn.init.kaiming_uniform_(torch.empty(4, 3, 3, 3))", rtol=1e-4),
        Case(
            "init_big", "torch.manual_seed(9); torch.nn.init.normal_(torch.empty(50, 40)).sum(1)", rtol=1e-3, atol=1e-4
        ),
    ]
    return cases


_NET = "m = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))"


def module_errors() -> list[Case]:
    texts = {
        "load_missing": f"{_NET}; s = m.state_dict(); del s['0.weight'], s['1.running_mean']; m.load_state_dict(s)",
        "load_unexpected": f"{_NET}; s = m.state_dict(); s['x'] = s['0.y'] = torch.ones(1); m.load_state_dict(s)",
        "load_shape": f"{_NET}; s = m.state_dict(); s['0.weight'] = torch.ones(2, 2); m.load_state_dict(s)",
        "load_all": f"{_NET}; s = m.state_dict(); s['0.weight'] = torch.ones(2, 2); s['z'] = 1; del s['0.bias']; "
        "m.load_state_dict(s)",
        "load_type": f"{_NET}; m.load_state_dict([1])",
        "load_value": f"{_NET}; s = m.state_dict(); s['0.bias'] = 3; m.load_state_dict(s)",
        "load_ok": f"{_NET}; str(m.load_state_dict(m.state_dict()))",
        "load_loose": f"{_NET}; str(m.load_state_dict({{'x': 1}}, strict=False))",
        "metadata": f"{_NET}; str(dict(m.state_dict()._metadata))",
        "buffer_name": "torch.nn.Module().register_buffer('a.b', torch.ones(1))",
        "buffer_empty": "torch.nn.Module().register_buffer('', None)",
        "buffer_exists": "torch.nn.Linear(2, 2).register_buffer('weight', None)",
        "buffer_type": "torch.nn.Module().register_buffer('a', 3)",
        "buffer_key": "torch.nn.Module().register_buffer(3, None)",
        "param_name": "torch.nn.Module().register_parameter('a.b', None)",
        "param_type": "torch.nn.Module().register_parameter('a', 3)",
        "param_tensor": "torch.nn.Module().register_parameter('a', torch.ones(2))",
        "param_exists": "torch.nn.Linear(2, 2).register_parameter('forward', None)",
        "param_assign": "m = torch.nn.Linear(2, 2); setattr(m, 'weight', torch.ones(2, 2))",
        "module_assign": f"{_NET}; setattr(m, '0', 5)",
        "buffer_assign": "m = torch.nn.BatchNorm1d(2); setattr(m, 'running_mean', 'x')",
        "module_name": "torch.nn.Module().add_module('a.b', torch.nn.ReLU())",
        "module_type": "torch.nn.Module().add_module('a', 5)",
        "module_exists": "torch.nn.Module().add_module('forward', torch.nn.ReLU())",
        "no_attribute": "torch.nn.Linear(2, 2).foo",
        "no_forward": "torch.nn.Module()(3)",
        "extra": "torch.nn.Module(3)",
        "extra_keyword": "torch.nn.Module(a=3)",
        "submodule": f"{_NET}; m.get_submodule('0.x')",
        "submodule_kind": f"{_NET}; m.get_submodule('0.weight')",
        "parameter_path": f"{_NET}; m.get_parameter('0.w')",
        "buffer_path": f"{_NET}; m.get_buffer('0.weight')",
        "to_int": "torch.nn.Linear(2, 2).to(torch.int32)",
        "train_mode": "torch.nn.Linear(2, 2).train(3)",
        "sequential_index": "torch.nn.Sequential(torch.nn.ReLU())[3]",
        "list_index": "torch.nn.ModuleList([torch.nn.ReLU()])[-2]",
        "dict_key": "torch.nn.ModuleDict()['a']",
        "sequential_add": "torch.nn.Sequential() + 3",
        "list_extend": "torch.nn.ModuleList().extend(3)",
        "list_repr": "repr(torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), torch.nn.ReLU()]))",
        "dict_repr": "repr(torch.nn.ModuleDict({'a': torch.nn.ReLU(), 'b': torch.nn.Sequential()}))",
        "param_list_repr": "repr(torch.nn.ParameterList([torch.ones(2, 3), torch.zeros(()), 'x']))",
        "param_dict_repr": "repr(torch.nn.ParameterDict({'b': torch.ones(2, 3), 'a': torch.ones(1)}))",
        "param_repr": "repr(torch.nn.Parameter(torch.ones(2)))",
        "slices": "repr(torch.nn.Sequential(*[torch.nn.ReLU()] * 3)[1:])",
        "conv_padding": "torch.nn.Conv2d(3, 3, 3, stride=2, padding='same')",
        "conv_groups": "torch.nn.Conv2d(3, 4, 3, groups=2)",
        "transpose_mode": "torch.nn.ConvTranspose2d(3, 4, 3, padding_mode='reflect')",
        "norm_groups": "torch.nn.GroupNorm(3, 4)",
        "norm_dims": "torch.nn.BatchNorm2d(3)(torch.ones(2, 3))",
        "norm1_dims": "torch.nn.BatchNorm1d(3)(torch.ones(3))",
        "instance_dims": "torch.nn.InstanceNorm2d(3)(torch.ones(3))",
        "dropout_p": "torch.nn.Dropout(-0.1)",
        "embedding_padding": "torch.nn.Embedding(3, 2, padding_idx=5)",
        "mha_heads": "torch.nn.MultiheadAttention(5, 2)",
        "mha_dims": "m = torch.nn.MultiheadAttention(4, 2); m(*[torch.ones(2, 2, 2, 4)] * 3)",
        "mha_mask": "m = torch.nn.MultiheadAttention(4, 2); m(*[torch.ones(2, 1, 4)] * 3, attn_mask=torch.zeros(3, 3))",
        "mha_causal": "m = torch.nn.MultiheadAttention(4, 2); m(*[torch.ones(2, 1, 4)] * 3, is_causal=True)",
        "mha_size": "m = torch.nn.MultiheadAttention(4, 2); m(*[torch.ones(2, 1, 6)] * 3)",
        "transformer_act": "torch.nn.TransformerEncoderLayer(4, 2, activation='tanh')",
        "transformer_batch": "torch.nn.Transformer(4, 2, 1, 1, 4)(torch.ones(2, 1, 4), torch.ones(2, 2, 4))",
        "rnn_dims": "torch.nn.RNN(4, 3)(torch.ones(2, 2, 2, 4))",
        "lstm_dims": "torch.nn.LSTM(4, 3)(torch.ones(4))",
        "lstm_size": "torch.nn.LSTM(4, 3)(torch.ones(2, 2, 5))",
        "lstm_state": "torch.nn.LSTM(4, 3)(torch.ones(2, 2, 4), (torch.ones(1, 3, 3),) * 2)",
        "gru_state": "torch.nn.GRU(4, 3)(torch.ones(2, 2, 4), torch.ones(1, 3, 3))",
        "gru_state_dims": "torch.nn.GRU(4, 3)(torch.ones(2, 4), torch.ones(1, 1, 3))",
        "gru_proj": "torch.nn.GRU(4, 3, proj_size=2)",
        "rnn_kind": "torch.nn.RNN(4, 3, nonlinearity='x')",
        "rnn_empty": "torch.nn.GRU(4, 3)(torch.ones(0, 2, 4))",
        "rnn_dtype": "torch.nn.GRU(4, 3)(torch.ones(2, 2, 4).double())",
        "cell_dims": "torch.nn.GRUCell(4, 3)(torch.ones(2, 2, 4))",
        "lstm_proj": "torch.nn.LSTM(4, 3, proj_size=3)",
        "rnn_dropout": "torch.nn.LSTM(4, 3, dropout=2)",
        "softmax2d": "torch.nn.Softmax2d()(torch.ones(2))",
        "triplet": "torch.nn.TripletMarginLoss(margin=0)",
        "hardtanh": "torch.nn.Hardtanh(1, 0)",
        "unflatten": "torch.nn.Unflatten(1, 3)",
        "backward_hooks": "m = torch.nn.ReLU(); m.register_backward_hook(print); m.register_full_backward_hook(print)",
        "pre_hook": "m = torch.nn.ReLU(); m.register_forward_pre_hook(lambda *a: 3, with_kwargs=True); "
        "m(torch.ones(1))",
        "clip": "p = torch.nn.Parameter(torch.ones(2)); p.grad = torch.tensor([float('nan'), 1.0]); "
        "torch.nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)",
    }
    return [Case(f"mod_{k}", v) for k, v in texts.items()]


_HOOKED = "\n".join(
    [
        "torch.manual_seed(4)",
        "log = []",
        "m = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())",
        "m[0].register_forward_pre_hook(lambda mod, a: log.append('pre') or (a[0] * 2,))",
        "m[0].register_forward_hook(lambda mod, a, o: log.append('post') or o + 1)",
        "m[0].register_forward_hook(lambda mod, a, k, o: log.append(f'kw {sorted(k)}'), with_kwargs=True, "
        "prepend=True)",
        "m.register_full_backward_hook(lambda mod, gi, go: log.append([gi[0], go[0]]))",
        "m[1].register_full_backward_hook(lambda mod, gi, go: log.append('tanh') or (gi[0] * 3,))",
        "m.register_full_backward_pre_hook(lambda mod, go: log.append('back') or (go[0] * 0.5,))",
    ]
)


def behaviour() -> list[Case]:
    return [
        Case(
            "hooks", _HOOKED + "\nout = m(x)\nout.sum().backward()\n[out.detach(), m[0].weight.grad, log, x.grad]", x=X4
        ),
        Case(
            "hooks_no_input_grad",
            _HOOKED + "\nout = m(x.detach())\nout.sum().backward()\n[out.detach(), m[0].weight.grad, log]",
            x=X4,
        ),
        Case(
            "hook_old",
            "m = torch.nn.ReLU(); log = []; m.register_backward_hook(lambda mod, gi, go: log.append([gi[0], go[0]])); "
            "m(x).sum().backward(); log",
            x=X4,
        ),
        Case(
            "clip_norm",
            "p = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]\n"
            "for q in p: q.grad = x.detach()[0, :3].clone()\n"
            "n = torch.nn.utils.clip_grad_norm_(p, 0.5)\n[n, p[0].grad, torch.nn.utils.get_total_norm([q.grad for q "
            "in p], 1.0)]",
            x=X4,
        ),
        Case(
            "clip_norm_inf",
            "p = torch.nn.Parameter(torch.ones(3)); p.grad = x.detach()[0, :3].clone(); "
            "[torch.nn.utils.clip_grad_norm_(p, 0.5, norm_type=float('inf')), p.grad]",
            x=X4,
        ),
        Case(
            "clip_value",
            "p = torch.nn.Parameter(torch.ones(4)); p.grad = x.detach()[0].clone(); "
            "torch.nn.utils.clip_grad_value_(p, 0.5); p.grad",
            x=X4,
        ),
        Case(
            "vector",
            "torch.manual_seed(1); m = torch.nn.Linear(2, 2); v = torch.nn.utils.parameters_to_vector(m.parameters()); "
            "torch.nn.utils.vector_to_parameters(v.detach() * 2, m.parameters()); [v.detach(), m.weight.detach(), "
            "m.bias.detach()]",
        ),
        Case(
            "tied",
            "m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)); m[1].weight = m[0].weight; "
            "[[n for n, _ in m.named_parameters()], [n for n, _ in m.named_parameters(remove_duplicate=False)], "
            "list(m.state_dict())]",
        ),
        Case(
            "names",
            "m = torch.nn.Transformer(4, 2, 1, 1, 4); [[n for n, _ in m.named_modules()], [n for n, _ in "
            "m.named_children()], "
            "[n for n, _ in m.named_buffers()]]",
        ),
        Case("casts", "m = torch.nn.BatchNorm1d(3).double(); [str(t.dtype) for t in m.state_dict().values()]"),
        Case("half", "m = torch.nn.Linear(3, 2).half(); [str(m.weight.dtype), str(m.to(torch.float64).bias.dtype)]"),
        Case(
            "load_assign",
            "m = torch.nn.Linear(2, 2); w = torch.ones(2, 2); m.load_state_dict({'weight': w, 'bias': torch.ones(2)}, "
            "assign=True); [m.weight.detach(), m.weight.requires_grad, m.weight.data_ptr() == w.data_ptr()]",
        ),
        Case(
            "zero_grad",
            "m = torch.nn.Linear(2, 1); m(torch.ones(1, 2)).sum().backward(); m.zero_grad(set_to_none=False); g = "
            "m.weight.grad; "
            "m.zero_grad(); [g, m.weight.grad]",
        ),
        Case(
            "deepcopy",
            "import copy\ntorch.manual_seed(0)\nm = torch.nn.Linear(2, 2)\nn = copy.deepcopy(m)\n"
            "[n.weight is not m.weight, n.weight.detach(), type(n.weight).__name__, n.weight.requires_grad]",
        ),
        Case(
            "apply_frozen",
            "m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()); log = []; "
            "m.apply(lambda x: log.append(type(x).__name__)); m.requires_grad_(False); [log, [p.requires_grad for p "
            "in m.parameters()]]",
        ),
        Case(
            "checkpoint",
            "torch.manual_seed(0)\nm = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())\n"
            "y = torch.utils.checkpoint.checkpoint(m, x, use_reentrant=False)\ny.sum().backward()\n[y.detach(), "
            "x.grad, m[0].weight.grad]",
            x=X4,
        ),
        Case(
            "checkpoint_reentrant",
            "torch.manual_seed(0)\nm = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(0.5))\n"
            "y = torch.utils.checkpoint.checkpoint(m, x, use_reentrant=True)\ny.sum().backward()\n[y.detach(), "
            "x.grad, m[0].weight.grad]",
            x=X4,
        ),
        Case(
            "checkpoint_dropout",
            "torch.manual_seed(0)\nm = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(0.5))\n"
            "y = torch.utils.checkpoint.checkpoint(m, x, use_reentrant=False)\ny.sum().backward()\n[y.detach(), "
            "x.grad, m[0].weight.grad]",
            x=X4,
        ),
        Case(
            "checkpoint_sequential",
            "torch.manual_seed(0)\nm = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(4)])\n"
            "y = torch.utils.checkpoint.checkpoint_sequential(m, 2, x, use_reentrant=False)\ny.sum().backward()\n"
            "[y.detach(), x.grad, m[0].weight.grad]",
            x=X4,
        ),
    ]
