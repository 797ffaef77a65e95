"""`utils.benchmark`: how long statements take. Clocks are made up; the texts are PyTorch's."""

from __future__ import annotations

import pickle
import textwrap

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils import benchmark
from mindtorch_v2.utils.benchmark import Compare, Measurement, TaskSpec, Timer


class Clock:
    """Stands for `timeit.Timer`: reading it costs 0.1 us, a run what `cost` says, in turn."""

    costs = (1e-3,)

    def __init__(self, stmt, setup, timer, globals):
        self.code, self.taken = (stmt, setup), []

    def timeit(self, number):
        cost = self.costs[len(self.taken) % len(self.costs)]
        self.taken.append(number)
        return 1e-7 + number * cost


def timer(*costs, **options):
    clock = type("Made", (Clock,), {"costs": costs})
    return type("Fake", (Timer,), {"_timer_cls": clock})("x", **options)


def task(**changes):
    return TaskSpec(**({"stmt": "x", "setup": "pass"} | changes))


def text(value):
    return str(value).replace(object.__repr__(value), "<>")


def test_timeit_warms_up_and_measures_once():
    made = timer(1e-3)
    found = made.timeit(500)
    assert made._timer.taken == [5, 500] and found.number_per_run == 500 and found.raw_times == [0.5 + 1e-7]
    assert found.median == found.mean == pytest.approx(1e-3, rel=1e-6)


@pytest.mark.parametrize("cost, number", [(1e-9, 1_000_000), (1e-6, 1000), (1e-4, 10), (0.01, 1), (1.0, 1)])
def test_blocks_are_long_enough_for_the_clock(cost, number):
    """Reading the clock takes 0.1 us, a ten-thousandth of 1 ms."""
    assert timer(cost)._estimate_block_size(min_run_time=0.2) == number


def test_blocked_autorange_runs_for_the_time_asked():
    told = []
    found = timer(0.01).blocked_autorange(callback=lambda number, taken: told.append(number), min_run_time=0.1)
    assert found.number_per_run == 1 and len(found.raw_times) == 10 == len(told)


def test_adaptive_autorange_ends_when_results_agree():
    assert len(timer(0.1).adaptive_autorange().raw_times) == 4
    noisy = timer(0.1, 0.5, 0.9).adaptive_autorange(max_run_time=3.0)
    assert sum(noisy.raw_times) > 3.0 and not noisy.meets_confidence()


def test_code_threads_and_names():
    made = timer(
        1e-3,
        setup="""
        a = 1
        b = 2""",
    )
    assert made._timer.code == ("x", "a = 1\nb = 2")
    space = {"x": 3}
    assert Timer("torch.ones(x)", globals=space).timeit(2).number_per_run == 2 and space == {"x": 3}
    before = torch.get_num_threads()
    seen = []
    Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=2).timeit(1)
    assert set(seen) == {2} and torch.get_num_threads() == before


def test_what_is_refused():
    with pytest.raises(ValueError, match="only a `str` stmt"):
        Timer(3)
    with pytest.raises(NotImplementedError, match="language='cpp'"):
        Timer(language="cpp")
    with pytest.raises(ValueError, match="global_setup is C"):
        Timer(global_setup="x")
    for method in (Timer().repeat, Timer().autorange, Timer().collect_callgrind):
        with pytest.raises(NotImplementedError):
            method()


@pytest.mark.parametrize(
    "times, lines, figures",
    [
        ([2.0], ["  2.00 s", "  1 measurement, 1 runs , 1 thread"], 4),
        ([1.0, 1.1, 1.2], ["  Median: 1.10 s", "  3 measurements, 1 runs per measurement, 1 thread"], 1),
        (
            [1.0, 1.25, 1.125, 1.375],
            [
                "  Median: 1.19 s",
                "  IQR:    0.19 s (1.09 to 1.28)",
                "  4 measurements, 1 runs per measurement, 1 thread",
                "  WARNING: Interquartile range is 15.8% of the median measurement.",
                "           This could indicate system fluctuation.",
            ],
            1,
        ),
        (
            [1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3],
            [
                "  Median: 3.50 ms",
                "  IQR:    2.50 ms (2.25 to 4.75)",
                "  6 measurements, 1 runs per measurement, 1 thread",
                "  WARNING: Interquartile range is 71.4% of the median measurement.",
                "           This suggests significant environmental influence.",
            ],
            1,
        ),
    ],
)
def test_measurements_as_text(times, lines, figures):
    found = Measurement(1, times, task())
    assert text(found).splitlines() == ["<>", "x", *lines] and found.significant_figures == figures
    assert found.has_warnings == any("WARNING" in line for line in lines)


def test_names_as_text():
    spec = task(stmt="a\nb", setup="c\nd", sub_label="sub", description="why", num_threads=4)
    assert spec.summarize() == "stmt: (sub)\n  a\n  b\n\nwhy\nsetup:\n  c\n  d\n"
    assert task(label="l", sub_label="s").title == "l: s" and task(setup="y = 1").summarize() == "x\nsetup: y = 1"
    assert (
        Measurement(1, [1.0], task(sub_label="s")).as_row_name == "s"
        and Measurement(1, [1.0], task()).as_row_name == "x"
    )


def test_merging_and_pickling():
    merged = Measurement.merge(
        [Measurement(1, [1.0], task()), Measurement(2, [4.0], task()), Measurement(1, [3.0], task(stmt="y"))]
    )
    assert [(m.number_per_run, m.raw_times, m.task_spec.stmt) for m in merged] == [
        (1, [1.0, 2.0], "x"),
        (1, [3.0], "y"),
    ]
    again = pickle.loads(pickle.dumps(merged[0]))
    assert (again.raw_times, again.task_spec) == ([1.0, 2.0], task())


def results():
    return [
        Measurement(
            1,
            [x * scale for x in (1e-6, 1.01e-6, 1.02e-6, 0.99e-6)],
            task(label="lab", sub_label=name, description=column, num_threads=threads),
        )
        for name, factor in (("one", 1), ("two", 3))
        for column, scale in (("a", factor), ("b", 120.0 * factor))
        for threads in (1, 2)
    ]


def test_compare():
    compare = Compare(results())
    assert [line.rstrip() for line in str(compare).splitlines()] == textwrap.dedent("""\
        [---------- lab ----------]
                   |   a   |    b
        1 threads: ----------------
              one  |  1.0  |  120.6
              two  |  3.0  |  361.8
        2 threads: ----------------
              one  |  1.0  |  120.6
              two  |  3.0  |  361.8

        Times are in microseconds (us).
        """).splitlines()
    compare.trim_significant_figures()
    assert str(compare).splitlines()[3] == "      one  |  1  |  120"
    compare.colorize()
    assert str(compare).splitlines()[3:5] == [
        "      one  |  \033[92m\033[1m1\033[0m\033[0m  |  \033[92m\033[1m120\033[0m\033[0m",
        "      two  |  \033[2m\033[91m3\033[0m\033[0m  |  \033[2m\033[91m360\033[0m\033[0m",
    ]
    compare.colorize(rowwise=True)
    assert str(compare).splitlines()[3].endswith("|  \033[31m\033[1m120\033[0m\033[0m")
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        compare.extend_results([3])


def test_compare_environments_and_warnings(capsys):
    compare = Compare(
        [
            Measurement(1, [1e-6, 2e-6, 3e-6, 4e-6], task(env="A", description="d")),
            Measurement(1, [2e-6] * 4, task(env="B", description="d")),
        ]
    )
    compare.highlight_warnings()
    compare.print()
    lines = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in lines[3:5]] == ["(A)  x  |  2.5 (! 60%)", "(B)  x  |  2.0"]
    assert lines[7] == "(! XX%) Measurement has high variance, where XX is the IQR / median * 100."


def test_units_and_figures():
    assert [benchmark.select_unit(t)[0] for t in (2e-9, 2e-6, 2e-3, 2.0, 200.0)] == ["ns", "us", "ms", "s", "s"]
    assert benchmark.unit_to_english("us") == "microsecond" and benchmark.trim_sigfig(0.0123456, 3) == pytest.approx(
        0.0123, rel=1e-12
    )
    assert benchmark.ordered_unique([3, 1, 3]) == [3, 1]


def test_fuzzer_repeats_itself_and_keeps_its_bounds():
    def draws():
        fuzzer = benchmark.Fuzzer(
            parameters=[
                benchmark.FuzzedParameter("n", 1, 16, distribution="loguniform"),
                benchmark.FuzzedParameter("k", distribution={4: 0.5, 8: 0.5}),
                benchmark.FuzzedParameter("d", distribution={1: 0.3, 2: 0.7}),
            ],
            tensors=[benchmark.FuzzedTensor("x", size=("n", "k"), min_elements=4, max_elements=64, dim_parameter="d")],
            seed=3,
        )
        return [(tuple(t["x"].shape), t["x"].sum().item(), q["x"]["is_contiguous"], p) for t, q, p in fuzzer.take(20)]

    first = draws()
    assert first == draws()
    for shape, _, _, params in first:
        assert shape == (params["n"], params["k"])[: params["d"]] and 4 <= torch.Size(shape).numel() <= 64
    assert {contiguous for *_, contiguous, _ in first} == {True, False}


def test_fuzzed_values_are_pytorchs():
    fuzzer = benchmark.Fuzzer(
        [benchmark.FuzzedParameter("n", minval=1, maxval=16, distribution="loguniform")],
        [benchmark.FuzzedTensor("x", size=("n",))],
        seed=0,
    )
    found = [[round(v, 4) for v in tensors["x"].tolist()] for tensors, _, _ in fuzzer.take(2)]
    assert found == [[0.7821, 0.0536, 0.9888, 0.1949, 0.5242, 0.1987, 0.5094], [0.7166, 0.5961, 0.8303, 0.005]]
