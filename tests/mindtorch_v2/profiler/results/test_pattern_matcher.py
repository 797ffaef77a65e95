"""`profiler._pattern_matcher`: habits that cost time."""

from __future__ import annotations

import json

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.profiler import _pattern_matcher as patterns
from mindtorch_v2.profiler import profile


def profiled(body, **flags):
    with profile(with_stack=True, record_shapes=True, **flags) as prof:
        body()
    return prof


def count(pattern, body):
    return len(pattern(profiled(body)).matched_events())


def test_around_an_event():
    prof = profiled(lambda: (torch.ones(2), torch.zeros(2), torch.ones(3)))
    pattern = patterns.Pattern(prof)
    tops = patterns.NamePattern(prof, "aten::(ones|zeros)$").matched_events()
    assert [e.name for e in tops] == ["aten::ones", "aten::zeros", "aten::ones"]
    assert pattern.next_of(tops[0].children[0]) is tops[0].children[1] and pattern.prev_of(tops[0].children[0]) is None
    assert pattern.root_of(tops[1]) is pattern.event_tree[0] or pattern.root_of(tops[1]) in pattern.event_tree
    assert pattern.siblings_of(tops[0].children[0]) == ([], tops[0].children[1:])
    assert pattern.go_up_until(tops[0].children[0], lambda e: e.name == "aten::ones") is tops[0]


def test_loops_over_elements():
    x = torch.ones(20, 20)

    def sets():
        for i in range(20):
            x[i] = i

    def sums():
        y = 0
        for i in range(20):
            y += x[i]

    def products():
        y = x
        for _ in range(20):
            y = y @ x

    assert [count(patterns.ForLoopIndexingPattern, body) for body in (sets, sums, products)] == [1, 1, 0]


def test_zeros_instead_of_none():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def trained(clear):
        def body():
            model(torch.ones(3, 4)).sum().backward()
            clear()

        return body

    clears = (
        optimizer.zero_grad,
        model.zero_grad,
        lambda: optimizer.zero_grad(set_to_none=False),
        lambda: model.zero_grad(set_to_none=False),
    )
    assert [count(patterns.GradNotSetToNonePattern, trained(clear)) for clear in clears] == [0, 0, 1, 1]


def test_bias_in_front_of_batch_norm():
    x = torch.ones(1, 3, 8, 8)
    models = (
        nn.Sequential(nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)),
        nn.Sequential(nn.Conv2d(3, 3, 3, bias=False), nn.BatchNorm2d(3)),
        nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU(), nn.BatchNorm2d(3)),
    )
    pattern = patterns.Conv2dBiasFollowedByBatchNorm2dPattern
    assert [count(pattern, lambda m=m: m(x)) for m in models] == [1, 0, 0]


def test_data_loaded_by_who_waits_for_it():
    loader = torch.utils.data.DataLoader(torch.ones(8, 2), batch_size=2)
    assert count(patterns.SynchronizedDataLoaderPattern, lambda: list(loader)) == 1


def test_half_precision_products_of_odd_sizes():
    cases = (torch.ones(9, 9, dtype=torch.float16), torch.ones(8, 8, dtype=torch.float16), torch.ones(9, 9))
    assert [count(patterns.MatMulDimInFP16Pattern, lambda x=x: x @ x) for x in cases] == [1, 0, 0]


def test_patterns_of_other_devices_are_skipped():
    prof = profiled(lambda: torch.ones(2))
    for pattern in (patterns.FP32MatMulPattern, patterns.ExtraCUDACopyPattern):
        assert pattern(prof).skip and pattern(prof).matched_events() == []


def test_report(tmp_path, capsys):
    model, x = nn.Sequential(nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3)), torch.ones(1, 3, 8, 8)
    prof = profiled(lambda: model(x))
    patterns.report_all_anti_patterns(prof, json_report_dir=str(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == lines[-1] == "-" * 40 + "TorchTidy Report" + "-" * 40
    assert (
        lines[1] == "Matched Events:"
        and "Enabling Bias in Conv2d Followed By BatchNorm Pattern: 1 events matched." in lines
    )
    patterns.report_all_anti_patterns(prof, print_enable=False, json_report_dir=str(tmp_path))
    report = json.loads((tmp_path / "torchtidy_report.json").read_text())
    (entries,) = (found for file, found in report.items() if file.endswith("test_pattern_matcher.py"))
    assert [sorted(entry) for entry in entries] == [["line_number", "message", "name", "url"]] * 2
    assert capsys.readouterr().out == ""


def test_a_profile_that_has_not_run():
    with pytest.raises(AssertionError, match="initialized"):
        patterns.Pattern(profile())
