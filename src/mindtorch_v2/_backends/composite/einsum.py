"""Einsum: every operand gets one dimension per label, then operands are contracted pair by pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import prod
from typing import Any, NamedTuple

from ..._dispatch import aten
from ..._dispatch.registry import composite

Shape = tuple[int, ...]
ELLIPSIS = "..."


class _Equation:
    """The labels of each operand and of the output. An ellipsis is one item in a list of labels."""

    def __init__(self, equation: str, count: int) -> None:
        self.text = equation
        arrow = equation.find("->")
        left = equation if arrow < 0 else equation[:arrow]
        parts = left.split(",")
        starts = [sum(len(p) + 1 for p in parts[:i]) for i in range(len(parts))]
        self.operands = [self._read(p, start, f"operand {i}", "") for i, (p, start) in enumerate(zip(parts, starts))]
        self.given = None if arrow < 0 else (equation[arrow + 2 :], arrow + 2)
        if count < len(parts):
            raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
        if count > len(parts):
            raise RuntimeError("einsum(): more operands were provided than specified in the equation")

    @cached_property
    def output(self) -> list[str]:
        return self._implicit_output() if self.given is None else self._explicit_output(*self.given)

    def _read(self, text: str, start: int, where: str, dots: str) -> list[str]:
        labels: list[str] = []
        i = 0
        while i < len(text):
            c = text[i]
            if c == " ":
                i += 1
            elif c == ".":
                if ELLIPSIS in labels:
                    raise RuntimeError(f"einsum(): found '.' for {where} for which an ellipsis was already found")
                if text[i : i + 3] != ELLIPSIS:
                    raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis{dots}")
                labels.append(ELLIPSIS)
                i += 3
            elif c.isascii() and c.isalpha():
                labels.append(c)
                i += 1
            else:
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {start + i} in the equation string, subscripts "
                    "must be in [a-zA-Z]"
                )
        return labels

    def _explicit_output(self, text: str, start: int) -> list[str]:
        labels = self._read(text, start, "output", " (...)")
        known = {label for operand in self.operands for label in operand}
        for label in labels:
            if label != ELLIPSIS and labels.count(label) > 1:
                raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
            if label != ELLIPSIS and label not in known:
                raise RuntimeError(
                    f"einsum(): output subscript {label} does not appear in the equation for any input operand"
                )
        return labels

    def _implicit_output(self) -> list[str]:
        """Without an arrow: what the ellipsis covers, then the labels that occur once, in alphabetical order."""
        counts = Counter(label for operand in self.operands for label in operand)
        return [ELLIPSIS] + sorted(label for label, n in counts.items() if n == 1 and label != ELLIPSIS)


_parsed = lru_cache(maxsize=256)(_Equation)


def _spread(labels: Sequence[str], covered: int, total: int) -> list[str]:
    """Labels with the ellipsis replaced by one name per dimension that it covers; names are aligned at the right."""
    out: list[str] = []
    for label in labels:
        out.extend(f".{total - covered + i}" for i in range(covered)) if label == ELLIPSIS else out.append(label)
    return out


def _diagonals(operand: Any, labels: list[str]) -> Any:
    """The operand with repeated labels as one: its diagonal."""
    seen: list[str] = []
    for label in labels:
        if label not in seen:
            seen.append(label)
            continue
        first, second = seen.index(label), len(seen)
        operand = aten.movedim(aten.diagonal(operand, 0, first, second), -1, first)
    return operand


def _check_sizes(shapes: Sequence[Shape], labels: Sequence[Sequence[str]]) -> None:
    known: dict[str, int] = {}
    for i, (shape, names) in enumerate(zip(shapes, labels)):
        mine: dict[str, int] = {}
        for label, n in zip(names, shape):
            if label in mine and mine[label] != n:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {i} but the sizes don't match, "
                    f"{n} != {mine[label]}"
                )
            mine[label] = n
        for label, n in mine.items():
            if n != 1 and known.get(label, 1) not in (1, n):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {n} for operand {i} which does not broadcast with "
                    f"previously seen size {known[label]}"
                )
            known[label] = max(n, known.get(label, 1)) if n else n


def _labels_of(parsed: _Equation, shapes: Sequence[Shape]) -> tuple[list[list[str]], int]:
    """One name per dimension of each operand, and how many dimensions the widest ellipsis covers."""
    covered = []
    for i, (names, shape) in enumerate(zip(parsed.operands, shapes)):
        rest = len(shape) - len(names) + (ELLIPSIS in names)
        if (ELLIPSIS not in names and rest != 0) or rest < 0:
            more = "" if ELLIPSIS in names else " and no ellipsis was given"
            verb = "is more than" if ELLIPSIS in names else "does not match"
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(names) - (ELLIPSIS in names)}) {verb} "
                f"the number of dimensions ({len(shape)}) for operand {i}{more}"
            )
        covered.append(rest if ELLIPSIS in names else 0)
    widest = max(covered, default=0)
    return [_spread(names, c, widest) for names, c in zip(parsed.operands, covered)], widest


@lru_cache(maxsize=1024)
def _arranged(equation: str, shapes: tuple[Shape, ...]) -> tuple[list[tuple[list[str] | None, int, list[int]]], int]:
    """What brings each operand into the common order of dimensions (its labels if some are repeated, how many
    dimensions it lacks, a permutation), and how many of these dimensions the output keeps: the first ones.
    """
    parsed = _parsed(equation, len(shapes))
    labels, widest = _labels_of(parsed, shapes)
    _check_sizes(shapes, labels)
    output = _spread(parsed.output, widest, widest)
    everything = dict.fromkeys(label for names in labels for label in names)
    order = [*output, *(label for label in everything if label not in output)]
    steps = []
    for names in labels:
        once = list(dict.fromkeys(names))
        missing = [label for label in order if label not in once]
        have = [*once, *missing]
        steps.append((names if len(once) < len(names) else None, len(missing), [have.index(label) for label in order]))
    return steps, len(output)


@composite("einsum")
def einsum(equation: str, tensors: Sequence[Any], path: Sequence[int] | None) -> Any:
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    steps, kept = _arranged(equation, tuple([tuple(t.shape) for t in tensors]))
    operands = []
    for t, (repeated, missing, permutation) in zip(tensors, steps):
        if repeated is not None:
            t = _diagonals(t, repeated)
        for _ in range(missing):
            t = aten.unsqueeze(t, -1)
        operands.append(aten.permute(t, permutation.copy()))
    return _contract(operands, kept, path)


def _contract(operands: list[Any], kept: int, path: Sequence[int] | None) -> Any:
    """Multiplies all operands and sums over the dimensions from `kept` on."""
    rank = operands[0].dim()
    if len(operands) == 1:
        return aten.sum(operands[0], list(range(kept, rank))) if kept < rank else operands[0]
    holders = [0] * rank
    for t in operands:
        for d, n in enumerate(tuple(t.shape)):
            holders[d] += n != 1
    steps = list(path) if path is not None else [0, 1] * (len(operands) - 1)
    for i in range(0, len(steps), 2):
        low, high = sorted(steps[i : i + 2])
        b, a = operands.pop(high), operands.pop(low)
        product = _contract_pair(a, b, kept, holders)
        operands.append(product) if path is not None else operands.insert(0, product)
    return aten.view(operands[0], list(operands[0].shape[:kept])) if kept < rank else operands[0]


def _contract_pair(a: Any, b: Any, kept: int, holders: list[int]) -> Any:
    """The product of two operands, summed over what no other operand holds; `holders` is brought up to date."""
    both: list[int] = []
    only_a: list[int] = []
    only_b: list[int] = []
    sizes_a, sizes_b = tuple(a.shape), tuple(b.shape)
    for d in range(kept, len(sizes_a)):
        in_a, in_b = sizes_a[d] != 1, sizes_b[d] != 1
        if in_a and in_b:
            holders[d] -= 1
            if holders[d] == 1:
                both.append(d)
                holders[d] = 0
        elif holders[d] == 1 and (in_a or in_b):
            (only_a if in_a else only_b).append(d)
            holders[d] = 0
    if only_a:
        a = aten.sum(a, only_a, keepdim=True)
    if only_b:
        b = aten.sum(b, only_b, keepdim=True)
    return sum_product_pair(a, b, both) if both else aten.mul(a, b)


class _Pair(NamedTuple):
    """How a sum of products of two operands becomes one batched matrix product."""

    swapped: bool  # the operands, so that the product comes out in order
    permutations: tuple[list[int], list[int]]  # of each operand, before it becomes a batch of matrices
    batches: tuple[Shape, Shape]
    product: list[int]  # the shape of the product
    order: list[int]  # and the permutation that brings its dimensions where they were


@lru_cache(maxsize=1024)
def _pair(left: Shape, right: Shape, sums: tuple[int, ...]) -> _Pair:
    rank = len(left)
    shared, left_only, right_only = [], [], []
    for d in range(rank):
        if d in sums:
            continue
        if left[d] != 1 and right[d] != 1:
            shared.append(d)
        elif left[d] != 1:
            left_only.append(d)
        else:
            right_only.append(d)
    swapped = bool(left_only and right_only and right_only[-1] < left_only[-1])
    if swapped:
        left, right, left_only, right_only = right, left, right_only, left_only

    def size(shape: Shape, dims: Sequence[int]) -> int:
        return prod(shape[d] for d in dims)

    order = [*shared, *left_only, *sums, *right_only]
    return _Pair(
        swapped,
        (order, [*shared, *sums, *right_only, *left_only]),
        (
            (size(left, shared), size(left, left_only), size(left, sums)),
            (size(left, shared), size(left, sums), size(right, right_only)),
        ),
        [left[d] for d in (*shared, *left_only)] + [1] * len(sums) + [right[d] for d in right_only],
        [order.index(d) for d in range(rank)],
    )


def sum_product_pair(left: Any, right: Any, sum_dims: Sequence[int]) -> Any:
    """`sum(left * right, sum_dims, keepdim=True)` as one batched matrix product."""
    pair = _pair(tuple(left.shape), tuple(right.shape), tuple(sum_dims))
    if pair.swapped:
        left, right = right, left
    first, second = pair.permutations
    a = aten.reshape(aten.permute(left, first.copy()), pair.batches[0])
    b = aten.reshape(aten.permute(right, second.copy()), pair.batches[1])
    return aten.permute(aten.view(aten.bmm(a, b), pair.product.copy()), pair.order.copy())
