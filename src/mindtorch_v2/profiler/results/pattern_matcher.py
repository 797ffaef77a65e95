"""Habits that cost time, found in the event tree of a profile: `torch.profiler._pattern_matcher`.

Most patterns need `with_stack=True`, some `record_shapes=True`; without what they need they are skipped.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..record.enums import _EventType
from .event_fields import _TensorMetadata
from .event_tree import _ProfilerEvent
from .event_walk import traverse_bfs, traverse_dfs
from .pattern import Pattern, is_of_package, source_code_location

if TYPE_CHECKING:
    from ..profiler import profile

_GUIDE = "https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
_LEAST_REPEATS = 10  # so many equal rounds make a loop


class ExtraCUDACopyPattern(Pattern):
    """A tensor is filled on the CPU and moved to a device at once."""

    def __init__(self, prof: profile, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self.name = "Extra CUDA Copy Pattern"
        self.description = "Filled a CPU tensor and immediately moved it to GPU. Please initialize it on GPU."
        self.url = f"{_GUIDE}#create-tensors-directly-on-the-target-device"
        self._creators = ("aten::fill_", "aten::zero_", "aten::normal_", "aten::uniform_", "aten::random_")

    @property
    def skip(self) -> bool:
        return not self.prof.with_stack or not self.prof.record_shapes or self.prof.use_device is None

    def match(self, event: _ProfilerEvent) -> bool:
        """A copy to a device whose event directly follows the one that filled the tensor."""
        if event.name != "aten::to" or not any(child.name == "aten::_to_copy" for child in event.children):
            return False
        if not any(node.tag is _EventType.Kineto for node in traverse_dfs([event])):
            return False
        before = self.prev_of(event)
        return before is not None and any(node.name in self._creators for node in traverse_dfs([before]))


class ForLoopIndexingPattern(Pattern):
    """A loop takes or sets one element after the other; one match per loop."""

    def __init__(self, prof: profile, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self.name = "For Loop Indexing Pattern"
        self.description = "For loop indexing detected. Vectorization recommended."
        self._looked_at: set[int] = set()

    def matched_events(self) -> list[_ProfilerEvent]:
        self._looked_at.clear()
        return super().matched_events()

    def eventTreeTraversal(self) -> Iterator[_ProfilerEvent]:
        yield from traverse_bfs(self.event_tree)

    def match(self, event: _ProfilerEvent) -> bool:
        """The first `select` of a series in which the same operators come again and again under one function of the
        program.
        """
        if event.name != "aten::select" or event.id in self._looked_at:
            return False
        calls = self._operators_around(event)
        selects = [i for i, call in enumerate(calls) if call.name == "aten::select"]
        self._looked_at.update(calls[i].id for i in selects)
        rounds = [[call.name for call in calls[a:b]] for a, b in zip(selects, selects[1:])]
        longest = run = 1
        for one, other in zip(rounds, rounds[1:]):
            run = run + 1 if one == other else 1
            longest = max(longest, run)
        return len(rounds) >= _LEAST_REPEATS and longest >= _LEAST_REPEATS

    def _operators_around(self, event: _ProfilerEvent) -> list[_ProfilerEvent]:
        """The operators that the function around an event called itself.

        Frames of this package do not count as functions.
        """

        def is_users(node: _ProfilerEvent) -> bool:
            return node.tag is _EventType.PyCall and not is_of_package(node)

        around = self.go_up_until(event.parent, is_users)
        below = around.children if around is not None else self.tid_root[event.start_tid]
        return [
            node
            for node in traverse_dfs(below, lambda n: [] if n.tag is _EventType.TorchOp or is_users(n) else n.children)
            if node.tag is _EventType.TorchOp
        ]


class FP32MatMulPattern(Pattern):
    """Products in full float32 on a GPU that could use TF32; no device here has it."""

    def __init__(self, prof: profile, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self.name = "FP32 MatMul Pattern"
        self.description = (
            "You are currently using GPU that supports TF32. Please enable TF32 by setting "
            "'torch.backends.cuda.matmul.allow_tf32 = True'"
        )
        self.url = "https://pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-devices"

    @property
    def skip(self) -> bool:
        return True

    def match(self, event: _ProfilerEvent) -> bool:
        return False


class OptimizerSingleTensorPattern(Pattern):
    """An optimizer goes through its parameters one by one."""

    def __init__(self, prof: profile, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self.name = "Optimizer Single Tensor Pattern"
        self.optimizers_with_foreach = ["adam", "sgd", "adamw"]
        self.description = (
            "Detected optimizer running with single tensor implementation. Please enable multi tensor implementation "
            "by passing 'foreach=True' into optimizer."
        )

    def match(self, event: _ProfilerEvent) -> bool:
        found = re.fullmatch(r"Optimizer\.step#(\w+)\.step", event.name)
        if found is None or found[1].lower() not in self.optimizers_with_foreach:
            return False
        ops = [node.name for node in traverse_dfs(event.children) if node.name.startswith("aten::")]
        return bool(ops) and not any(name.startswith(("aten::_foreach_", "aten::_fused_")) for name in ops)


class SynchronizedDataLoaderPattern(Pattern):
    """Batches are made on the thread that waits for them; one match per pass over the data."""

    def __init__(self, prof: profile, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self.name = "Synchronized DataLoader Pattern"
        self.description = (
            "Detected DataLoader running with synchronized implementation. Please enable asynchronous dataloading by "
            "setting num_workers > 0 when initializing DataLoader."
        )
        self.url = f"{_GUIDE}#enable-async-data-loading-and-augmentation"
        self._passes: set[tuple[int, str]] = set()

    def matched_events(self) -> list[_ProfilerEvent]:
        self._passes.clear()
        return super().matched_events()

    def match(self, event: _ProfilerEvent) -> bool:
        """The first batch that a loop takes; the loop is told by the Python call that it is in."""
        if event.name != "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__":
            return False
        around = self.go_up_until(event.parent, lambda node: node.tag is _EventType.PyCall and not is_of_package(node))
        loop = (event.start_tid, str(around.id) if around is not None else "")
        is_first = loop not in self._passes
        self._passes.add(loop)
        return is_first


class GradNotSetToNonePattern(Pattern):
    """Gradients are filled with zeros instead of being dropped."""

    def __init__(self, prof: profile, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self.name = "Gradient Set To Zero Instead of None Pattern"
        self.description = (
            "Detected gradient set to zero instead of None. Please add 'set_to_none=True' when calling zero_grad()."
        )
        self.url = f"{_GUIDE}#disable-gradient-calculation-for-validation-or-inference"

    def match(self, event: _ProfilerEvent) -> bool:
        if not (event.name.endswith(": zero_grad") or event.name.startswith("Optimizer.zero_grad#")):
            return False
        if (
            event.parent is not None
            and self.go_up_until(event.parent, lambda node: "zero_grad" in node.name) is not None
        ):
            return False  # the call around it has been counted
        return any(
            node.name in ("aten::zero_", "aten::_foreach_zero_")
            and (node.parent is None or node.parent.name != "aten::zeros")
            for node in traverse_dfs(event.children)
        )


class Conv2dBiasFollowedByBatchNorm2dPattern(Pattern):
    """A convolution adds a bias that the batch normalisation after it takes away again."""

    def __init__(self, prof: profile, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self.name = "Enabling Bias in Conv2d Followed By BatchNorm Pattern"
        self.description = (
            "Detected bias enabled in Conv2d that is followed by BatchNorm2d. Please set 'bias=False' in Conv2d."
        )
        self.url = f"{_GUIDE}#disable-bias-for-convolutions-directly-followed-by-a-batch-norm"

    @property
    def skip(self) -> bool:
        return not self.prof.record_shapes or super().skip

    def match(self, event: _ProfilerEvent) -> bool:
        if event.name != "aten::conv2d":
            return False
        inputs = event.extra_fields.inputs
        if len(inputs) < 3 or not isinstance(inputs[2], _TensorMetadata):
            return False
        following = self._following(
            self.go_up_until(event, lambda node: node.name.startswith("nn.Module: Conv2d")) or event
        )
        return following is not None and (
            following.name.startswith("nn.Module: BatchNorm2d") or following.name == "aten::batch_norm"
        )

    def _following(self, event: _ProfilerEvent) -> _ProfilerEvent | None:
        """What comes next: the next module, or the next operator other than the counting of batches."""
        for node in self.siblings_of(event)[1]:
            if node.name.startswith("nn.Module:") or (node.name.startswith("aten::") and node.name != "aten::add_"):
                return node
        return None


class MatMulDimInFP16Pattern(Pattern):
    """Products of half precision with sizes that are not multiples of 8, for which devices have slower kernels."""

    def __init__(self, prof: profile, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self.name = "Matrix Multiplication Dimension Not Aligned Pattern"
        self.description = "Detected matmul with dimension not aligned. Please use matmul with aligned dimension."
        self.url = f"{_GUIDE}#use-mixed-precision-and-amp"

    @property
    def skip(self) -> bool:
        return not self.prof.with_stack or not self.prof.record_shapes

    def match(self, event: _ProfilerEvent) -> bool:
        if event.name not in ("aten::mm", "aten::bmm", "aten::addmm"):
            return False
        tensors = [x for x in event.extra_fields.inputs if isinstance(x, _TensorMetadata)]
        is_half = any(getattr(t.dtype, "name", None) in ("float16", "bfloat16") for t in tensors)
        return is_half and any(size % 8 for t in tensors for size in t.sizes[-2:])


def report_all_anti_patterns(
    prof: profile, should_benchmark: bool = False, print_enable: bool = True, json_report_dir: str | None = None
) -> None:
    """Looks for all patterns, prints what was found and, with `json_report_dir`, adds it to `torchtidy_report.json`
    there: for each file a list of `{"line_number", "name", "url", "message"}`.
    """
    patterns = [
        ExtraCUDACopyPattern(prof, should_benchmark),
        FP32MatMulPattern(prof, should_benchmark),
        OptimizerSingleTensorPattern(prof, should_benchmark),
        SynchronizedDataLoaderPattern(prof, should_benchmark),
        GradNotSetToNonePattern(prof, should_benchmark),
        Conv2dBiasFollowedByBatchNorm2dPattern(prof, should_benchmark),
        MatMulDimInFP16Pattern(prof, should_benchmark),
        ForLoopIndexingPattern(prof, should_benchmark),
    ]
    reported: set[str] = set()
    messages, summaries = [], []
    entries: dict[str, list[dict[str, Any]]] = {}
    for pattern in patterns:
        found = pattern.matched_events()
        if not found:
            continue
        summaries.append(pattern.summary(found))
        for event in found:
            message = pattern.report(event)
            if message not in reported:
                reported.add(message)
                messages.append(message)
                file, line = _file_and_line(event)
                entries.setdefault(file, []).append(
                    {"line_number": line, "name": pattern.name, "url": pattern.url, "message": pattern.description}
                )
    if json_report_dir is not None:
        _write(os.path.join(json_report_dir, "torchtidy_report.json"), entries)
    if print_enable:
        rule = f"{'-' * 40}TorchTidy Report{'-' * 40}"
        print("\n".join([rule, "Matched Events:", *messages, "Summary:", *summaries, rule]))


def _file_and_line(event: _ProfilerEvent) -> tuple[str, int]:
    found = re.match(r"(.*)\((\d+)\)", source_code_location(event))
    return (found[1], int(found[2])) if found else ("", 0)


def _write(path: str, entries: dict[str, list[dict[str, Any]]]) -> None:
    """Adds to what an earlier report left in the file."""
    known: dict[str, list[dict[str, Any]]] = {}
    if os.path.exists(path):
        with open(path) as file:
            known = json.load(file)
    for name, found in entries.items():
        known.setdefault(name, []).extend(found)
    with open(path, "w") as file:
        json.dump(known, file, indent=4)
