"""Whether two runs differ: medians over steps, with intervals from resampling blocks of steps.

Steps near each other in time resemble each other (the machine's load changes slowly), so blocks are drawn, not single
steps. A machine that is slower as a whole makes everything slower alike; that common factor is estimated from all
parts of the program and taken out. What other work on the machine may have done to a run is given as a factor, its
`disturbance`, by which intervals are widened.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

CONFIDENCE = 0.99
RESAMPLES = 600
_MOST_STEPS = 300  # of one resample; longer runs are resampled in part, and their intervals narrowed accordingly
_SMALLEST_EFFECT = 0.01  # relative; below this nothing is called a difference
_ELEMENTS = 1 << 20  # that are resampled at once
_FEWEST_STEPS = 4
_QUICK = 0.25  # the quantile of the quicker steps
_FEWEST_PARTS = 4  # from which a common factor is estimated
_PART_SHARE = 0.004  # of the step: parts smaller than this say nothing about the machine
_QUICKEST = 0.05  # the quantile of steps that other work on the machine hardly touched
_RUNS_APART = 1.03  # by which quick steps of the same program differ from run to run, beside what the interval says
_TAIL = round((1 - CONFIDENCE) / 2 * RESAMPLES)  # resamples beyond each end of an interval
_BEST = 0.02  # of steps that it did not touch
_UNEVEN = 0.05  # of what a disturbed run is slower by: how much more that may be than its parts are


class Difference(NamedTuple):
    """The relative change of medians, without the common factor: `change` in [low, high] with the confidence above;
    0.1 is 10% more. `verdict` is "slower", "faster" or "no evidence"."""

    before: float
    after: float
    change: float
    low: float
    high: float
    verdict: str


class Effort(NamedTuple):
    """What steps cost, in processor time or else as they are, and what a fixed piece of work cost between them."""

    step_ns: np.ndarray
    work_ns: np.ndarray
    is_processor_time: bool


class Comparison(NamedTuple):
    """The differences of all columns, and the factor by which everything changed alike."""

    differences: list[Difference]
    common: float


def compare_whole(
    before: np.ndarray, after: np.ndarray, disturbance: tuple[float, float] = (1.0, 1.0), seed: int = 0
) -> Difference:
    """Compares steps (a vector of times of each run) with what is common to all parts left in. `disturbance`: how many
    times as long as alone each run may have taken because of other work on the machine (1 where there was none). The
    interval is that of the median, of the quicker and of the quickest steps together, for all disturbances so large.
    """
    middles = float(np.median(before)), float(np.median(after))
    ratio = float(_ratio(*map(np.asarray, middles)))
    if min(len(before), len(after)) < _FEWEST_STEPS:
        return Difference(*middles, ratio - 1, -1.0, np.inf, "no evidence")
    generator = np.random.default_rng(seed)
    columns = before[:, None], after[:, None]
    found = [_interval(*columns, None, quantile, generator) for quantile in (0.5, _QUICK, _QUICKEST)]
    low = min(float(one[0]) for one, _ in found) / disturbance[1]
    high = max(float(two[0]) for _, two in found) * disturbance[0]
    verdict = _verdict(ratio - 1, low - 1, high - 1)
    return Difference(*middles, ratio - 1, min(low, ratio) - 1, max(high, ratio) - 1, verdict)


def compare_effort(before: Effort, after: Effort, seed: int = 0) -> Difference:
    """Compares what steps cost where other work on the machine hardly touched them. A machine that ran slower as a
    whole made the fixed work slower, too; how much of that reached the steps depends on what they do. So the interval
    is that of the steps' quickest quantiles together with those divided by the fixed work's."""
    generator = np.random.default_rng(seed)
    work = _quantile_ratios(before.work_ns, after.work_ns, _QUICK, generator)
    lows, highs, found = [], [], []
    for quantile in (_QUICKEST, _BEST):
        steps = _quantile_ratios(before.step_ns, after.step_ns, quantile, generator)
        for ratios in (steps, steps / work):
            # The ratio itself comes first. Resamples of a run with few undisturbed steps may miss all of those.
            found.append(float(ratios[0]))
            ordered = np.sort(ratios[1:])
            lows.append(min(float(ordered[_TAIL]), found[-1]))
            highs.append(max(float(ordered[-1 - _TAIL]), found[-1]))
    low, high = min(lows) / _RUNS_APART, max(highs) * _RUNS_APART
    change = float(np.exp(np.mean(np.log(found)))) - 1
    middles = float(np.median(before.step_ns)), float(np.median(after.step_ns))
    return Difference(*middles, change, low - 1, high - 1, _verdict(change, low - 1, high - 1))


def _quantile_ratios(
    before: np.ndarray, after: np.ndarray, quantile: float, generator: np.random.Generator
) -> np.ndarray:
    """The ratio of a quantile of two vectors, and that of their resamples."""
    drawn = []
    for values in (before, after):
        itself = np.sort(values)[int(quantile * (len(values) - 1))]
        drawn.append(np.append(itself, _resampled_quantiles(values[:, None], quantile, generator)[:, 0]))
    return np.maximum(_ratio(*drawn), 1e-9)


def compare(
    before: np.ndarray,
    after: np.ndarray,
    parts: np.ndarray,
    adjust: bool = True,
    seed: int = 0,
    disturbance: tuple[float, float] = (1.0, 1.0),
    interruption: float = 1.0,
) -> Comparison:
    """Compares columns of times, one row per step. `parts` is the mask of columns that are parts of the program
    which both runs share, and which do not contain each other; column 0 is the whole step. `disturbance` is as in
    `compare_whole`; where the common factor is taken out, little of it is left in the step. The exception are waits in
    the midst of steps, which are in few of the parts: they may make steps `interruption` times as long.
    """
    generator = np.random.default_rng(seed)
    middles = np.median(before, 0), np.median(after, 0)
    few = min(len(before), len(after)) < _FEWEST_STEPS
    useful = parts & (middles[0] > _PART_SHARE * max(middles[0][0], 1)) & (middles[1] > 0)
    adjust = adjust and not few and int(useful.sum()) >= _FEWEST_PARTS
    common = float(_common(middles[0][useful], middles[1][useful])) if adjust else 1.0
    ratio = _ratio(middles[0], middles[1]) / common
    if few:
        rows = [Difference(b, a, r - 1, -1.0, np.inf, "no evidence") for b, a, r in zip(*middles, ratio)]
        return Comparison(rows, common)
    low, high = _interval(before, after, useful if adjust else None, 0.5, generator)
    # A machine that stalls now and then moves medians, but not the quicker steps: a change of the program moves both.
    quick_low, quick_high = _interval(before, after, useful if adjust else None, _QUICK, generator)
    margin = max(_noise(ratio, useful), _SMALLEST_EFFECT) - _SMALLEST_EFFECT if adjust else 0.0
    uneven = max(_UNEVEN * (max(disturbance) - 1), interruption - 1) if adjust else interruption - 1
    # of many parts some would differ by chance
    margins = np.where(np.arange(len(ratio)) == 0, margin + uneven, 2 * margin)
    # no part can lose more than all of its time, so 0 is the least a ratio can be
    low, high = np.maximum(np.minimum(low, quick_low) - margins, 0.0), np.maximum(high, quick_high) + margins
    rows = [
        Difference(
            float(b),
            float(a),
            float(r - 1),
            float(min(one, r) - 1),
            float(max(two, r) - 1),
            _verdict(r - 1, one - 1, two - 1),
        )
        for b, a, r, one, two in zip(*middles, ratio, low, high)
    ]
    return Comparison(rows, common)


def _interval(
    before: np.ndarray, after: np.ndarray, useful: np.ndarray | None, quantile: float, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The interval of the ratio of a quantile, per column, without the common factor of the `useful` columns."""
    drawn_before, drawn_after = (
        _resampled_quantiles(before, quantile, generator),
        _resampled_quantiles(after, quantile, generator),
    )
    ratios = _ratio(drawn_before, drawn_after)
    if useful is not None:
        ratios /= _common(drawn_before[:, useful], drawn_after[:, useful])[:, None]
    ratios = np.sort(ratios, axis=0)
    tail = np.where(np.arange(ratios.shape[1]) == 0, _TAIL, 0)
    columns = np.arange(ratios.shape[1])
    return ratios[tail, columns], ratios[-1 - tail, columns]


def _verdict(change: float, low: float, high: float) -> str:
    if low > 0 and change >= _SMALLEST_EFFECT:
        return "slower"
    return "faster" if high < 0 and change <= -_SMALLEST_EFFECT else "no evidence"


def _ratio(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """after / before; 1 where both are nothing, infinite where only `before` is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        made = after / before
    return np.where(before > 0, made, np.where(after > 0, np.inf, 1.0))


def _noise(ratio: np.ndarray, useful: np.ndarray) -> float:
    """How far the parts of the program differ from each other: what one run differs from another by, beside its
    steps. The median is not moved by the few parts that really changed."""
    away = np.abs(np.log(ratio[useful]))
    return float(np.expm1(np.median(away))) if len(away) else 0.0


def _common(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The median of the parts' ratios, over the last axis: most parts did not change, so that is what the machine
    did.
    """
    return np.maximum(np.median(after / np.maximum(before, 1e-9), axis=-1), 1e-9)


def _resampled_quantiles(values: np.ndarray, quantile: float, generator: np.random.Generator) -> np.ndarray:
    """A quantile of resamples, each made of blocks of neighbouring steps."""
    count = len(values)
    size = min(count, _MOST_STEPS)
    block = max(1, round(count**0.5 / 2))
    blocks = -(-size // block)
    rank = int(quantile * (size - 1))
    made = np.empty((RESAMPLES, values.shape[1]))
    at_once = max(1, _ELEMENTS // (size * values.shape[1]))
    for first in range(0, RESAMPLES, at_once):
        last = min(first + at_once, RESAMPLES)
        starts = generator.integers(0, count, (last - first, blocks, 1))
        rows = (starts + np.arange(block)).reshape(last - first, -1)[:, :size] % count
        made[first:last] = np.partition(values[rows], rank, axis=1)[:, rank]
    middle = np.sort(values, 0)[int(quantile * (count - 1))]
    return np.maximum(middle + (made - middle) * (size / count) ** 0.5, 0)
