"""`profiler._utils`: walks over trees, self time, and what keeps a device waiting."""

from __future__ import annotations

from types import SimpleNamespace

import mindtorch_v2 as torch
from mindtorch_v2.profiler import _utils, profile
from mindtorch_v2.profiler.record.enums import DeviceType


def tree(spec):
    return [SimpleNamespace(name=name, children=tree(below)) for name, below in spec.items()]


def test_walks():
    trees = tree({"a": {"b": {"c": {}}, "d": {}}, "e": {"f": {}}})
    assert [n.name for n in _utils.traverse_dfs(trees)] == list("abcdef")
    assert [n.name for n in _utils.traverse_bfs(trees)] == list("aebdfc")
    assert [n.name for n in _utils.traverse_dfs(trees, reverse=True)] == list("efadbc")


class Node:
    def __init__(self, name, number, start, length):
        self.name, self.id, self.start_time_ns, self.duration_time_ns = name, number, start, length
        self.end_time_ns, self.children, self.parent = start + length, [], None


class Work:
    def __init__(self, name, start, length, link, on_device):
        self._facts = (name, start, length, link, on_device)

    def name(self):
        return self._facts[0]

    def start_ns(self):
        return self._facts[1]

    def duration_ns(self):
        return self._facts[2]

    def linked_correlation_id(self):
        return self._facts[3]

    def device_type(self):
        return DeviceType.NPU if self._facts[4] else DeviceType.CPU


def evaluation(nodes, work):
    results = SimpleNamespace(events=lambda: work, experimental_event_tree=lambda: nodes)
    return _utils.BasicEvaluation(SimpleNamespace(kineto_results=results))


def test_the_queue_fills_with_launches_and_empties_with_kernels():
    work = [Work("aclrtLaunchKernel", 10 * i, 5, i, False) for i in range(1, 4)] + [
        Work("k", 100 + 10 * i, 10, i, True) for i in range(1, 4)
    ]
    found = evaluation([Node("before", 1, 0, 9), Node("during", 2, 25, 10), Node("late", 3, 125, 40)], work)
    assert [interval.queue_depth for interval in found.queue_depth_list] == [1, 2, 3, 2, 1, 0]
    assert [found.metrics[key].queue_depth for key in found.event_keys] == [0, 2, 1]
    # Idle until the first launch at 10, and from the end of the last kernel at 140 to the end of the last event at 165.
    assert [found.metrics[key].idle_time_ns for key in found.event_keys] == [9, 0, 25]


def test_what_ran_while_a_full_queue_ran_empty_comes_first():
    work = [Work("aclrtLaunchKernel", i, 1, i, False) for i in range(1, 6)] + [
        Work("k", 100 * i, 10, i, True) for i in range(1, 6)
    ]
    guilty, other = Node("copy", 1, 50, 600), Node("early", 2, 0, 5)
    found = evaluation([other, guilty], work)
    assert [key.event.name for key in found.rank_events(2)] == ["copy"]
    assert [key.event.name for key in found.get_optimizable_events(2, print_enable=False)] == ["copy"]


def test_overlap_counts_time_once():
    key = _utils.EventKey(Node("e", 1, 5, 5))
    assert key.intervals_overlap([_utils.Interval(*pair) for pair in ((0, 9), (1, 2), (8, 12))]) == 5
    assert key.intervals_overlap([]) == 0 and key.intervals_overlap([_utils.Interval(10, 20)]) == 0


def test_self_times_of_a_real_profile_and_nothing_to_optimise(capsys):
    with profile() as prof:
        torch.ones(4, 4) @ torch.ones(4, 4)
    found = _utils.BasicEvaluation(prof.profiler)
    for key, metrics in found.metrics.items():
        assert metrics.self_time_ns == key.event.duration_time_ns - sum(c.duration_time_ns for c in key.event.children)
    assert found.compute_queue_depth() == [] and found.get_optimizable_events(2) == []
    assert capsys.readouterr().out == "No events to optimize\n\n"


def test_searches():
    assert _utils.index_of_first_match([3, 1, 2], lambda x: x < 3) == 1
    assert _utils.index_of_first_match([3, 1], lambda x: x > 3) is None
    assert _utils.argmax([1, 5, 5, 2]) == 1 and _utils.argmax([1, 5, 7], end=2) == 1 and _utils.argmax([]) is None
