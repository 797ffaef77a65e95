"""A line search whose result satisfies the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dispatch import aten
from .._tensor import Tensor

DECREASE, CURVATURE = 1e-4, 0.9
TOLERANCE = 1e-9
Probe = Callable[[Any], tuple[float, Tensor]]


def cubic_minimum(x1: Any, f1: float, g1: Any, x2: Any, f2: float, g2: Any, low: Any, high: Any) -> Any:
    """The minimum of the cubic through two points with known slopes, kept within bounds."""
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square**0.5
    if x1 <= x2:
        at = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        at = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(at, low), high)


class _Point:
    """A point on the line: position, loss, gradient, slope."""

    __slots__ = ("t", "f", "g", "slope")

    def __init__(self, t: Any, f: float, g: Tensor, slope: Tensor) -> None:
        self.t, self.f, self.g, self.slope = t, f, g, slope


def strong_wolfe(
    probe: Probe, t: Any, direction: Tensor, f: float, g: Tensor, slope: Tensor, most: int
) -> tuple[float, Tensor, Any, int]:
    """Searches from loss `f`, gradient `g` and slope at 0 in at most `most` steps; returns loss, gradient, position
    and the count of evaluations. Slopes, and so positions between two points, are tensors: they have the
    parameters' precision.
    """
    start = _Point(0.0, f, g, slope)
    size = float(direction.abs().max())

    def at(position: Any) -> _Point:
        loss, grad = probe(position)
        return _Point(position, loss, aten.clone(grad), aten.dot(grad, direction))

    bracket, used, steps = _bracket(at, start, t, most)
    best, used = _zoom(at, start, bracket, used, steps, size, most)
    return best.f, best.g, best.t, used


def _good(p: _Point, start: _Point) -> bool:
    return bool(abs(p.slope) <= -CURVATURE * start.slope)


def _bracket(at: Callable[[Any], _Point], start: _Point, t: Any, most: int) -> tuple[list[_Point], int, int]:
    """Grows the step until an interval holds a good point (or is one)."""
    before, now, used, steps = start, at(t), 1, 0
    while steps < most:
        if now.f > start.f + DECREASE * now.t * start.slope or (steps > 1 and now.f >= before.f):
            return [before, now], used, steps
        if _good(now, start):
            return [now], used, steps
        if now.slope >= 0:
            return [before, now], used, steps
        low, high = now.t + 0.01 * (now.t - before.t), now.t * 10
        further = cubic_minimum(before.t, before.f, before.slope, now.t, now.f, now.slope, low, high)
        before, now = now, at(further)
        used += 1
        steps += 1
    return [start, now], used, steps


def _zoom(
    at: Callable[[Any], _Point], start: _Point, bracket: list[_Point], used: int, steps: int, size: float, most: int
) -> tuple[_Point, int]:
    """Shrinks the interval until its lower end is a good point."""
    stuck = False
    low, high = (0, len(bracket) - 1) if bracket[0].f <= bracket[-1].f else (1, 0)
    while len(bracket) == 2 and steps < most:
        width = abs(bracket[1].t - bracket[0].t)
        if width * size < TOLERANCE:
            break
        left, right = sorted(p.t for p in bracket)
        a, b = bracket
        t = cubic_minimum(a.t, a.f, a.slope, b.t, b.f, b.slope, left, right)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            # Too close to an end twice in a row, or outside: step a tenth inwards.
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        now = at(t)
        used += 1
        steps += 1
        if now.f > start.f + DECREASE * t * start.slope or now.f >= bracket[low].f:
            bracket[high] = now
            low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
        else:
            done = _good(now, start)
            if not done and now.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = now
            if done:
                break
    return bracket[low] if len(bracket) == 2 else bracket[0], used
