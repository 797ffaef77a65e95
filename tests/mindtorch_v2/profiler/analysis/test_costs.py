"""FLOPs, modules and memory blocks."""

from __future__ import annotations

import pytest

from mindtorch_v2.profiler.analysis.flops import flops_of
from mindtorch_v2.profiler.analysis.memory import find_blocks
from mindtorch_v2.profiler.analysis.modules import module_report
from mindtorch_v2.profiler.record.descriptions import ModuleInfo
from mindtorch_v2.profiler.record.kinds import Kind
from mindtorch_v2.profiler.results.event_list import build_events

from ..hand_made import E, M, make_store, tensors

IMAGE, WEIGHT = (2, 3, 8, 8), (4, 3, 3, 3)


def conv(image, weight, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    return tensors(image, weight, values=(None, stride, padding, dilation, groups))


@pytest.mark.parametrize(
    "name, inputs, flops",
    [
        ("aten::mm", tensors((3, 4), (4, 5)), 120),
        ("aten::addmm", tensors((5,), (3, 4), (4, 5), values=(1, 1)), 120),
        ("aten::bmm", tensors((2, 3, 4), (2, 4, 5)), 240),
        ("aten::baddbmm", tensors((5,), (2, 3, 4), (2, 4, 5)), 240),
        ("aten::conv2d", conv(IMAGE, WEIGHT), 15552),
        ("aten::conv2d", conv(IMAGE, WEIGHT, padding=(1, 1)), 27648),
        ("aten::conv2d", conv(IMAGE, WEIGHT, padding="same"), 27648),
        ("aten::conv2d", conv(IMAGE, WEIGHT, padding="valid"), 15552),
        ("aten::conv2d", conv(IMAGE, WEIGHT, stride=(2, 2)), 3888),
        ("aten::conv2d", conv(IMAGE, WEIGHT, stride=2, padding=0, dilation=1), 3888),
        ("aten::conv2d", conv(IMAGE, WEIGHT, dilation=(2, 2)), 6912),
        ("aten::conv2d", conv(IMAGE, (6, 1, 3, 3), groups=3), 7776),
        ("aten::conv2d", conv((3, 8, 8), WEIGHT), 15552 // 2),
        ("aten::add", tensors((3, 4), (4,), values=(1,)), 12),
        ("aten::add", tensors((4,), (3, 4), values=(1,)), 4),
        ("aten::mul", tensors((), ()), 1),
        ("aten::mul", tensors((3, 0), (3, 0)), 0),
        ("aten::add_", tensors((3, 4), (4,)), 0),
        ("aten::linear", tensors((3, 4), (5, 4)), 0),
        ("aten::mm", None, 0),
    ],
)
def test_formulas(name, inputs, flops):
    assert flops_of(name, inputs) == flops


def test_flops_only_on_demand():
    events = [
        E("aten::mm", 0, 1, inputs=tensors((3, 4), (4, 5))),
        E("aten::relu", 1, 2, inputs=tensors((3, 4))),
        E("aten::mm", 2, 3),
    ]
    assert [e.flops for e in build_events(make_store(events, with_flops=True))] == [120, 0, 0]
    assert [e.flops for e in build_events(make_store(events, record_shapes=True))] == [0, 0, 0]


MODULES = [ModuleInfo(0, "", "Net", -1), ModuleInfo(0, "layers.0", "Linear", 0), ModuleInfo(0, "head", "Linear", 0)]


def model():
    return make_store(
        [
            E("nn.Module: Net_0", 0, 100_000, Kind.MODULE, module=0),
            E("nn.Module: Linear_0", 1_000, 20_000, Kind.MODULE, module=1),
            E("aten::linear", 2_000, 19_000, module=1, seq=0),
            E("aten::addmm", 3_000, 13_000, module=1, seq=0, inputs=tensors((5,), (3, 4), (4, 5))),
            E("aten::relu", 30_000, 35_000, module=0, seq=1),
            E("nn.Module: Linear_1", 40_000, 50_000, Kind.MODULE, module=2),
            E("aten::addmm", 41_000, 44_000, module=2, seq=2),
            E("loss", 110_000, 112_000, seq=3),
            E("autograd::engine::evaluate_function: L", 120_000, 121_000, Kind.NODE, seq=3, forward_thread=1),
            E("autograd::engine::evaluate_function: H", 130_000, 140_000, Kind.NODE, seq=2, forward_thread=1),
            E("H", 131_000, 139_000, Kind.BACKWARD, seq=2, forward_thread=1),
            E("aten::mm", 132_000, 138_000),
            E("autograd::engine::evaluate_function: A", 150_000, 157_000, Kind.NODE, seq=0, forward_thread=1),
            E("A", 151_000, 156_000, Kind.BACKWARD, seq=0, forward_thread=1),
            E("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 160_000, 163_000, Kind.NODE),
        ],
        [M(4_000, 1, 60), M(133_000, 2, 8)],
        modules=MODULES,
        with_modules=True,
        with_flops=True,
    )


def test_modules_forward_and_backward():
    report = module_report(model())
    (net,) = report.roots
    assert [(m.path, m.calls, m.forward_ns, m.backward_ns, m.cpu_bytes, m.flops) for m in (net, *net.children)] == [
        ("", 1, 25_000, 17_000, 68, 120),
        ("layers.0", 1, 17_000, 7_000, 60, 120),
        ("head", 1, 3_000, 10_000, 8, 0),
    ]
    assert (report.outside.forward_ns, report.outside.backward_ns) == (2_000, 4_000)
    assert report.find("head").backward_ns == 10_000
    with pytest.raises(KeyError):
        report.find("tail")


def test_module_table():
    lines = module_report(model()).table().splitlines()
    assert lines[0].split() == ["Module", "Calls", "Forward", "Backward", "CPU", "Mem", "FLOPs"]
    assert [line.split()[0] for line in lines[2:]] == ["Net", "layers.0", "head", "(outside"]
    assert lines[3].startswith("  layers.0 (Linear)") and lines[3].endswith("1  17.000us   7.000us     60 B    120")


def test_all_time_belongs_to_some_module_or_none():
    report = module_report(model())
    together = sum(m.forward_ns + m.backward_ns for m in (*report.roots, report.outside))
    assert together == sum(round(e.self_cpu_time_total * 1000) for e in build_events(model()))


def test_no_modules():
    report = module_report(make_store([E("a", 0, 10)]))
    assert report.roots == [] and report.outside.forward_ns == 10


def test_blocks_at_one_address_are_told_apart():
    store = make_store([E("a", 0, 100)], [M(10, 1, 8), M(20, 1, -8), M(30, 1, 16), M(40, 2, 4), M(50, 1, -16)])
    blocks = find_blocks(store)
    assert list(zip(blocks.born_ns.tolist(), blocks.died_ns.tolist(), blocks.nbytes.tolist()))[:2] == [
        (10, 20, 8),
        (30, 50, 16),
    ]
    assert blocks.died_ns[2] > 10**18
