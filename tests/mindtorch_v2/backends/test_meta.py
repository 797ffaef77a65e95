"""The meta device: shapes, types and strides without data.

Two tests run over the oracle cases, family by family. One evaluates every expression on meta tensors, forward and backward,
and compares with what PyTorch answered on the CPU. The other runs the cases on the CPU and asks the meta rule of every leaf
op that is called on the way, so that ops which appear only inside others, or only in backward passes, are compared as well.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dispatch import aten, bind, dispatcher, modes, registry, resolve
from mindtorch_v2._keys import META
from mindtorch_v2._ops import table
from mindtorch_v2._tensor import Tensor, wrap

from ..oracle import harness, replay

# Expressions that look at values, which do not exist on the meta device: they raise, as in PyTorch.
READS_VALUES = re.compile(
    r"""nonzero|argwhere|unique|masked_select|bincount|\.item\(\)|allclose|equal\(|int\(m\.|is_nonzero|combinations
    |where\((m|a)\)|\.to\('cpu'|device='cpu'|repeat_interleave\((torch|a\)|a,\ torch)|narrow\(a,\ 0,\ torch|one_hot\((a\)|a\[0\]\))
    |\[torch\.tensor\(2\)\]|tensor\(\[torch\.tensor|(full\(\(2,\),|arange\(|ones\()\s?torch\.tensor|tensor_split\(a,\ torch
    |ctc_loss|CTCLoss|gaussian_nll|GaussianNLL|batch_norm_no|pack|unpad|data_sizes|torch\.tensor\(\[2,\ 2,\ 1\]\)
    |segment_reduce|histogramdd|gradient\(|nonzero_static|geqrf|lowrank|ldl_factor|hash_tensor|unravel|torch\.lu
    |_foreach_addc\w+_\(\[a\],\ \[c\],\ \[d\],\ torch""",
    re.VERBOSE,
)
MASKS = re.compile(
    r"\[m\]|\[r\b|\[:, m|a > 0|index_put|index_fill|mask"
)  # boolean masks: the size of the result is a count
# Cases that raise for another reason than their text shows.
READS_INSIDE = {
    "loss-ce_smooth_weight_mean": "weights of the targets that are kept are gathered through a mask",
    "nn-batch_norm_no_momentum": "the average counts batches in a tensor",
    "nn-encoder": "the layers check the mask's values",
    "nn-transformer": "the layers check the mask's values",
}
SHOWS_DEVICE = {"nn-mod_param_list_repr", "nn-mod_param_dict_repr", "nn-mod_param_repr"}
_NO_VALUES = (NotImplementedError, RuntimeError)
_NO_VALUES_TEXT = re.compile("depends on|meta tensor|on the meta device|no meta rule|same device|on cpu")
# Layouts that differ from the CPU's: decompositions return matrices by columns there, here by rows.
OTHER_STRIDES = {
    "activation-glu_middle",
    "activation-rrelu_eval_double",
    "loss-mse_transposed",
    "nn-lp_pool3d",
    "pooling-lp_pool2d",
    "reduction-nanmean_dims_keep",
    "reduction-nanmean",
}


def _on_meta(t: Any) -> Any:
    made = t.detach().to("meta")
    return made.requires_grad_() if t.requires_grad else made


def _differs(name: str, case: harness.Case, got: Any, want: Any) -> str:
    """The first difference in shape, type or strides; empty if there is none."""
    if isinstance(want, dict) and "data" in want:
        if not isinstance(got, Tensor):
            return f"{got!r} is not a tensor"
        if not got.is_meta and case.inputs:
            return f"a tensor on {got.device}"
        if list(got.shape) != want["shape"] or str(got.dtype) != want["dtype"]:
            return f"{list(got.shape)} {got.dtype}, on the CPU {want['shape']} {want['dtype']}"
        dense = all(spec.layout != "strided" for spec in case.inputs.values())
        if case.strides and dense and got.numel() and not name.startswith("linalg-") and name not in OTHER_STRIDES:
            return "" if list(got.stride()) == want["stride"] else f"stride {got.stride()}, on the CPU {want['stride']}"
        return ""
    if isinstance(want, list) and isinstance(got, (list, tuple)):
        return next(
            (d for g, w in zip(got, want) if (d := _differs(name, case, g, w))),
            "" if len(got) == len(want) else "length",
        )
    if isinstance(want, dict) and isinstance(got, dict):
        return next((d for k in want if (d := _differs(name, case, got.get(k), want[k]))), "")
    if isinstance(want, (int, str, bool)) and type(got) is type(want) and got != want and name not in SHOWS_DEVICE:
        return f"{got!r}, on the CPU {want!r}"
    return ""


def _problem(name: str, case: harness.Case, answer: dict[str, Any]) -> str:
    names = {n: _on_meta(t) for n, t in replay.inputs_of(torch, case).items()}
    values = (
        READS_VALUES.search(case.code)
        or name in READS_INSIDE
        or (name.startswith("indexing-") and MASKS.search(case.code))
    )
    try:
        with torch.device("meta"):
            out = replay.run(torch, case, names)
            roots = [t for t in replay.tensors_in(torch, out) if t.requires_grad and t.grad_fn is not None]
            if "grads" in answer and roots:
                torch.autograd.backward(roots, [torch.ones_like(t) for t in roots])
    except _NO_VALUES as error:
        return "" if values and _NO_VALUES_TEXT.search(str(error)) else f"raised {type(error).__name__}: {error}"
    found = _differs(name, case, out, answer["out"])
    if found or "grads" not in answer or not roots:
        return found
    grads = {n: names[n].grad for n in answer["grads"]}
    loose = harness.Case(case.id, case.code, strides=False, **case.inputs)
    return _differs(name, loose, grads, answer["grads"])


@pytest.mark.parametrize(
    "family", [f for f in replay.FAMILIES if f not in ("distributions", "layers", "optim", "sparse")]
)  # read values
def test_expressions_on_meta_tensors(family: str) -> None:
    problems = {
        case.id: found
        for case, answer in replay.cases_of(family)
        if "error" not in answer
        if (found := _problem(f"{family}-{case.id}", case, answer))
    }
    assert not problems


# --- every leaf op ------------------------------------------------------------------------------------------------------
# Ops whose outputs depend on values; on the meta device they say so.
DEPENDS_ON_VALUES = {
    "nonzero",
    "_unique2",
    "unique_dim",
    "unique_consecutive",
    "masked_select",
    "bincount",
    "equal",
    "repeat_interleave.Tensor",
    "_pack_padded_sequence",
    "_local_scalar_dense",
}
# Leaf ops that no oracle case calls through the dispatcher, because another op is called instead.
CALLS = {
    "arange": "aten.overload('arange')(5)",
    "arange.start": "aten.overload('arange.start')(1, 5)",
    "alias": "aten.alias(x)",
    "lift_fresh": "aten.lift_fresh(x)",
    "_embedding_bag_forward_only": "aten._embedding_bag_forward_only(x, i, i[:2], False, 0, False, None, False, -1)",
}


def _meta_copy(value: Any) -> Any:
    """The argument with its tensors on the meta device, of the same shapes, types and strides."""
    if isinstance(value, Tensor):
        a = value._array
        return wrap(
            np.lib.stride_tricks.as_strided(np.zeros(1, a.dtype), a.shape, a.strides, writeable=False),
            value.dtype,
            META,
        )
    return [_meta_copy(v) for v in value] if isinstance(value, (list, tuple)) else value


def _specs(value: Any) -> Any:
    if isinstance(value, Tensor):
        return tuple(value.shape), value.dtype
    return [_specs(v) for v in value] if isinstance(value, (list, tuple)) else None


class _Comparing:
    """Stands in for the dispatcher's choice of kernels: what it gives compares each call with the op's meta rule."""

    def __init__(self) -> None:
        self.choose = resolve.backend_kernel
        self.seen: set[str] = set()
        self.problems: dict[str, str] = {}

    def __call__(self, op: Any, key: int, args: tuple[Any, ...]) -> Any:
        kernel = self.choose(op, key, args)
        if op.name in registry.COMPOSITES or key & META:
            return kernel
        op.backends[key] = self.compared(op, kernel)
        return op.backends[key]

    def compared(self, op: Any, kernel: Any) -> Any:
        rule = resolve.box(op, META)

        def run(*args: Any) -> Any:
            meta_args = [_meta_copy(a) for a in args]
            out = kernel(*args)
            self.seen.add(op.name)
            try:
                told = rule(*meta_args)
            except NotImplementedError as error:
                if op.name not in DEPENDS_ON_VALUES:
                    self.problems[op.name] = str(error)
            else:
                if not op.writes and _specs(told) != _specs(out):
                    self.problems[op.name] = f"{_specs(told)}, on the CPU {_specs(out)}"
            return out

        return run


class _GeneralPath(modes.Switch):
    """Calls take the general path inside."""

    _changes: dict[str, Any] = {}
    _special = True


@pytest.fixture
def comparing(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Comparing]:
    """All calls take the general path, through kernels that are compared."""
    found = _Comparing()
    monkeypatch.setattr(dispatcher, "backend_kernel", found)
    monkeypatch.setattr(bind, "prepare", lambda op: None)  # kernels are found by the first call, which is compared
    ops = table.all_ops()
    for op in ops:
        op.backends.clear()
    try:
        with _GeneralPath():
            yield found
    finally:
        for op in ops:
            op.backends.clear()


@pytest.mark.parametrize("family", replay.FAMILIES)
def test_every_leaf_op_has_the_shapes_that_its_rule_tells(family: str, comparing: _Comparing) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case, _ in replay.cases_of(family):
            harness.observe(torch, case)
    x, v, i = torch.randn(2, 3), torch.randn(3), torch.tensor([0, 1, 1])
    for call in CALLS.values():
        eval(call, {"aten": aten, "x": x, "v": v, "i": i})
    own = {"nn": "rnn"}.get(family, family)
    leaves = {
        op.name
        for op in table.all_ops()
        if op.inplace_of is None and op.family == own and op.name not in registry.COMPOSITES
    }
    assert not comparing.problems
    assert not leaves - comparing.seen - {"_local_scalar_dense"}


# --- the device itself --------------------------------------------------------------------------------------------------
def test_a_large_tensor_costs_nothing() -> None:
    x = torch.empty(1 << 20, 1 << 20, device="meta")
    y = (x @ x + 1).relu().sum(0, keepdim=True).t()
    assert y.shape == (1 << 20, 1) and y.is_meta and y.device == torch.device("meta")
    assert x.numel() == 1 << 40 and x.nbytes == 1 << 42


def test_values_cannot_be_read() -> None:
    x = torch.ones(3, device="meta")
    for read in (lambda: x.tolist(), lambda: x.to("cpu"), lambda: x.numpy(force=True)):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            read()
    with pytest.raises(RuntimeError, match="cannot be called on meta tensors"):
        x[0].item()
    with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
        x.numpy()
    assert repr(x) == "tensor(..., device='meta', size=(3,))"


def test_writes_are_checked_and_forgotten() -> None:
    x = torch.empty(2, 3, device="meta")
    x.fill_(1).add_(torch.empty(3, device="meta"))
    x[0] = 5
    x.copy_(torch.ones(2, 3))
    assert x._version > 0
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.add_(torch.empty(4, 2, 3, device="meta"))
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.empty(2, dtype=torch.int64, device="meta").mul_(1.5)
    out = torch.empty(0, device="meta")
    assert torch.exp(x, out=out) is out and out.shape == (2, 3)


def test_devices_do_not_mix_except_for_numbers() -> None:
    x = torch.ones(3, device="meta")
    assert (x * torch.tensor(2.0)).is_meta
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        x + torch.ones(3)


def test_factories_and_modules_follow_the_device_in_force() -> None:
    with torch.device("meta"):
        assert torch.zeros(2).is_meta and torch.tensor([1, 2]).is_meta and torch.nn.Linear(2, 3).weight.is_meta
        assert torch.zeros(2, device="cpu").is_cpu
    assert torch.zeros(2).is_cpu


def test_views_share_storage() -> None:
    x = torch.empty(4, 6, device="meta")
    y = x[1:, ::2].t()
    assert y._base is x and y.stride() == (2, 6) and y.shape == (3, 3)
    y.zero_()
    assert x._version == 1


def test_backward_gives_meta_gradients() -> None:
    with torch.device("meta"):
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5)
        )
        loss = torch.nn.functional.cross_entropy(model(torch.randn(2, 3, 8, 8)), torch.zeros(2, dtype=torch.int64))
    loss.backward()
    assert all(p.grad.is_meta and p.grad.shape == p.shape for p in model.parameters())
