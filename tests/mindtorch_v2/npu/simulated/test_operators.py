"""Every row of the operator table gives what the CPU gives."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import ops
from mindtorch_v2._backends.npu.boxing import PROGRAMS
from mindtorch_v2.npu.checks import cases
from mindtorch_v2.npu.selftest import difference

ALL = list(cases())


@pytest.mark.parametrize("case", ALL, ids=[f"{i}-{c.name}" for i, c in enumerate(ALL)])
def test_agrees_with_the_cpu_without_running_there(case):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        worst, note = difference(case)
    assert worst <= case.tolerance, note


def test_every_row_names_an_operator_with_as_many_operands():
    from mindtorch_v2._backends.npu import abi

    for name, text in ops.ROWS.items():
        for row in text.split("|"):
            operator = row.partition(":")[0].strip()
            assert operator in abi.OPERATORS, name


class Launches:
    """Watches launches in Python, so that calls by plan are seen too."""

    def __init__(self):
        self.names = set()

    def watch_natively(self):
        return False

    def begin(self, name, stream):
        self.names.add(name.removeprefix("aclnn"))

    def end(self, name, stream):
        pass

    def begin_timed(self, name, stream):
        pass

    def end_timed(self, name, stream, title, nbytes, kind):
        pass


def test_the_cases_launch_every_operator():
    from mindtorch_v2._backends.npu import abi, timeline

    seen = Launches()
    timeline.activate(seen)
    try:
        for case in ALL:
            case.run(lambda t: t.clone().npu())
    finally:
        timeline.activate(None)
    # test_functions looks at these
    drawn = {"InplaceNormal", "InplaceUniform", "InplaceRandom", "Randperm", "Multinomial"}
    others = {
        "Permute",
        "InplaceMaskedFillTensor",
        "InplaceOne",
        "Mean",
        "DropoutGenMask",
        "DropoutDoMask",
        "Embedding",
        "ApplyAdamWV2",
    }  # others compute the same; the last is for optimizers, in test_models
    assert set(abi.OPERATORS) - seen.names == drawn | others


def test_programs_are_ops():
    from mindtorch_v2._ops.table import OPS

    assert set(PROGRAMS) <= set(OPS)


def test_an_op_without_a_kernel_runs_on_the_cpu_with_one_warning():
    x = torch.randn(8).npu()
    with pytest.warns(UserWarning, match=r"aten::_logcumsumexp .* runs on the CPU"):
        y = x.logcumsumexp(0)
    assert y.device == torch.device("npu:0")
    assert torch.allclose(y.cpu(), x.cpu().logcumsumexp(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.logcumsumexp(0)


def test_a_switch_makes_running_on_the_cpu_an_error(monkeypatch):
    monkeypatch.setenv("MINDTORCH_NPU_FALLBACK", "error")
    with pytest.raises(NotImplementedError, match=r"aten::lgamma .* cannot run on the NPU"):
        torch.ones(3, device="npu").lgamma()


def test_in_place_ops_on_the_cpu_write_back():
    x = torch.tensor([1.0, 2.0, 4.0]).npu()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x[1:].lgamma_()
        x[:1].digamma_()
    assert torch.allclose(x.cpu(), torch.tensor([-0.5772157, 0.0, 1.7917595]), atol=1e-5)


def test_types_that_the_device_lacks_run_on_the_cpu():
    x = torch.ones(3, dtype=torch.complex64).npu()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (x * 2j).cpu().tolist() == [2j] * 3


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1, 1, 1, 1, 1, 1)])
def test_unusual_shapes(shape):
    x = torch.ones(shape).npu()
    assert torch.equal((x + x * 2).cpu(), torch.ones(shape) * 3)
    assert x.sum().item() == x.numel()


def test_results_into_given_tensors():
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    out = torch.empty(0, device="npu")
    torch.add(x.npu(), y.npu(), out=out)
    assert torch.equal(out.cpu(), x + y)
    with pytest.raises(RuntimeError):
        torch.add(x.npu(), y.npu(), out=torch.empty(3, 4))


def test_views_reach_the_right_elements():
    x = torch.arange(24.0).reshape(2, 3, 4)
    d = x.npu()
    for view in (
        lambda t: t[1],
        lambda t: t[:, 1:, ::2],
        lambda t: t.permute(2, 0, 1),
        lambda t: t.transpose(1, 2)[..., 1],
        lambda t: t.unsqueeze(1).expand(2, 5, 3, 4),
        lambda t: t.as_strided((2, 2), (5, 3), 2),
        lambda t: t.diagonal(0, 1, 2),
    ):
        assert torch.equal(view(d).cpu(), view(x))
        assert torch.equal((view(d) + 1).cpu(), view(x) + 1)
    d[:, 1] = -1.0
    d[0, 0, 2:].mul_(10)
    x[:, 1] = -1.0
    x[0, 0, 2:].mul_(10)
    assert torch.equal(d.cpu(), x)


def test_types_are_promoted_as_on_the_cpu():
    values = [
        torch.tensor([1, 2]),
        torch.tensor([True, False]),
        torch.tensor([0.5, 1.5]),
        torch.tensor([1, 2], dtype=torch.int32),
        torch.tensor([1.0, 2.0], dtype=torch.float16),
        torch.tensor(2),
        torch.tensor(2.5),
    ]
    for a in values:
        for b in values:
            here, there = a + b, a.npu() + b.npu()
            assert here.dtype is there.dtype
            assert np.array_equal(here.numpy(), there.cpu().numpy())
        for number in (2, 2.5, True):
            assert (a * number).dtype is (a.npu() * number).dtype
            assert torch.equal((a * number), (a.npu() * number).cpu())


def test_in_place_results_that_do_not_fit_are_errors():
    x = torch.tensor([1, 2]).npu()
    with pytest.raises(RuntimeError, match="result type Float can't be cast"):
        x.mul_(1.5)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.ones(1, device="npu").add_(torch.ones(3, device="npu"))


def test_mixed_devices_are_an_error():
    x = torch.ones(3)
    with pytest.raises(
        RuntimeError,
        match="Expected all tensors to be on the same device, but found at least two devices, npu:0 and cpu!",
    ):
        x.npu() + x
    with pytest.raises(RuntimeError, match="npu:0 and npu:1"):
        x.to("npu:0") + x.to("npu:1")
    assert (x.npu() + torch.tensor(2.0)).tolist() == [3.0] * 3  # a number is welcome anywhere


def test_random_numbers_follow_the_seed():
    torch.npu.manual_seed(3)
    a = torch.rand(1000, device="npu")
    b = torch.rand(1000, device="npu")
    torch.npu.manual_seed(3)
    assert torch.equal(a, torch.rand(1000, device="npu"))
    assert not torch.equal(a, b)
    assert 0.45 < a.cpu().mean().item() < 0.55 and a.cpu().min().item() >= 0
    torch.manual_seed(5)
    c = torch.randn(1000, device="npu")
    torch.manual_seed(5)
    assert torch.equal(c, torch.randn(1000, device="npu"))
    kept = torch.nn.functional.dropout(torch.ones(10000, device="npu"), 0.25)
    assert 0.72 < (kept.cpu() != 0).float().mean().item() < 0.78
    state = torch.npu.get_rng_state()
    d = torch.rand(4, device="npu")
    torch.npu.set_rng_state(state)
    assert torch.equal(d, torch.rand(4, device="npu"))


def test_generators_of_the_device():
    g = torch.Generator(device="npu").manual_seed(7)
    a = torch.randn(100, device="npu", generator=g)
    b = torch.randn(100, device="npu", generator=g)
    assert not torch.equal(a, b)
    assert torch.equal(a, torch.randn(100, device="npu", generator=g.manual_seed(7)))
    with pytest.raises(RuntimeError, match="Expected a 'npu' device type for generator but found 'cpu'"):
        torch.randn(3, device="npu", generator=torch.Generator())
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'npu'"):
        torch.randn(3, generator=g)


def test_the_launcher_in_c_is_in_use_where_it_was_built():
    from mindtorch_v2._backends.npu import launcher, native
    from mindtorch_v2._native import native_module

    torch.ones(1, device="npu")
    wanted = native_module("_npu_launch") if os.environ.get("MINDTORCH_NPU_SHIM") != "0" else None
    assert native.launcher is wanted and bool(launcher._shim) == launcher.plans_calls == (wanted is not None)


def test_numbers_of_numpy():
    x = torch.ones(3, device="npu")
    for number in (np.float32(2), np.float64(2), np.int64(2)):
        assert (x * number).tolist() == [2.0] * 3


SUMS = {
    "add": lambda x: torch.add(x, x, alpha=0.5),
    "add a number": lambda x: torch.add(x, 1, alpha=0.5),
    "sub": lambda x: torch.sub(x, x, alpha=0.5),
    "rsub": lambda x: torch.rsub(x, 1, alpha=0.5),
    "add_": lambda x: x.clone().add_(x, alpha=0.5),
    "foreach": lambda x: torch._foreach_add([x], [x], alpha=0.5),
}


@pytest.mark.parametrize("name", SUMS)
def test_whole_numbers_take_no_fraction_as_alpha(name):
    x = torch.tensor([1, 2], device="npu")
    for _ in range(2):  # the second time a plan could answer
        with pytest.raises(
            RuntimeError, match="For integral input tensors, argument alpha must not be a floating point number"
        ):
            SUMS[name](x)
    assert torch.add(x, x, alpha=2).tolist() == torch.add(x, x, alpha=np.int64(2)).tolist() == [3, 6]
    assert torch.add(x, x.float(), alpha=0.5).tolist() == [1.5, 3.0]


def test_alpha_may_be_a_boolean_for_booleans_only():
    x = torch.tensor([1.0], device="npu")
    with pytest.raises(RuntimeError, match="Boolean alpha only supported for Boolean results"):
        torch.add(x, x, alpha=True)
    for device in ("cpu", "npu"):
        b = torch.tensor([True, False], device=device)
        assert torch.add(b, b, alpha=2).tolist() == [True, False]


@pytest.mark.filterwarnings("ignore:.*runs on the CPU")
def test_fractions_as_factors_of_whole_products_are_cut_as_on_the_cpu():
    def results(device):
        m, v = torch.tensor([[1, 2], [3, 4]], device=device), torch.tensor([1, 2], device=device)
        return [
            r.tolist()
            for r in (
                torch.addmv(v, m, v, alpha=0.5),
                torch.addbmm(m, m[None], m[None], beta=1.5),
                torch.addcmul(v, v, v, value=0.5),
                torch.addcmul(v, v, v, value=2),
            )
        ]

    assert results("npu") == results("cpu") == [[1, 2], [[8, 12], [18, 26]], [1, 2], [3, 10]]


NAMING_DIMENSIONS = {
    "norm": lambda t, d: t.norm(dim=d),
    "norm of order 1": lambda t, d: t.norm(p=1, dim=d),
    "largest": lambda t, d: t.norm(p=float("inf"), dim=d),
    "kept": lambda t, d: t.norm(dim=d, keepdim=True),
    "vector_norm": lambda t, d: torch.linalg.vector_norm(t, dim=d),
    "normalize": lambda t, d: torch.nn.functional.normalize(t, dim=d),
    "sum": lambda t, d: t.sum(d),
    "mean": lambda t, d: t.mean(d),
    "std": lambda t, d: t.std(d, correction=0),
    "prod": lambda t, d: t.prod(d),
    "max": lambda t, d: t.max(d),
    "argmin": lambda t, d: t.argmin(d),
    "amax": lambda t, d: t.amax(d),
    "aminmax": lambda t, d: torch.aminmax(t, dim=d),
    "cumsum": lambda t, d: t.cumsum(d),
    "softmax": lambda t, d: t.softmax(d),
    "logsumexp": lambda t, d: t.logsumexp(d),
    "any": lambda t, d: t.any(d),
    "sort": lambda t, d: t.sort(d),
    "topk": lambda t, d: t.topk(1, d),
    "flip": lambda t, d: t.flip(d),
    "roll": lambda t, d: t.roll(1, d),
    "glu": lambda t, d: torch.nn.functional.glu(t, d),
    "median": lambda t, d: t.median(d),
    "gather": lambda t, d: t.gather(d, torch.zeros(t.shape, dtype=torch.int64).to(t.device)),
    "index_fill": lambda t, d: t.index_fill(d, torch.tensor([0]).to(t.device), 2.0),
    "index_select": lambda t, d: t.index_select(d, torch.tensor([0]).to(t.device)),
}


@pytest.mark.parametrize("name", NAMING_DIMENSIONS)
def test_dimensions_of_numbers_and_dimensions_that_are_not_there(name):
    """The device gives the CPU's answer, or raises the CPU's error: also for numbers, for nothing, and out of range."""
    call = NAMING_DIMENSIONS[name]

    def outcome(t, dim):
        try:
            made = call(t, dim)
        except (IndexError, RuntimeError) as error:
            return type(error), str(error)
        parts = made if isinstance(made, tuple) else (made,)
        return [(part.shape, part.dtype, [round(float(x), 4) for x in part.flatten().tolist()]) for part in parts]

    for x in (torch.tensor(3.0), torch.arange(1.0, 5), torch.arange(1.0, 9).reshape(2, 4), torch.zeros(0, 4)):
        for dim in (0, -1, 1, 5, -4):
            assert str(outcome(x.npu(), dim)) == str(outcome(x, dim)), (tuple(x.shape), dim)  # text: NaN is no NaN
    for dims in ((0, 1), (0, 0), (0, 2)) if name in ("norm", "vector_norm", "sum", "amax", "flip") else ():
        assert outcome(torch.ones(2, 4).npu(), dims) == outcome(torch.ones(2, 4), dims), dims
