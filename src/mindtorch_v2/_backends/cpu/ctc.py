"""Connectionist temporal classification, all samples of a batch at once, one time step after another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._dispatch.registry import kernel
from .errors import not_implemented

_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


def _check(
    log_probs: np.ndarray, targets: np.ndarray, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int
) -> None:
    steps, batch, classes = log_probs.shape
    if not log_probs.size:
        raise RuntimeError("log_probs tensor must not be empty")
    if log_probs.dtype not in (np.float32, np.float64):
        raise not_implemented("ctc_loss_cpu", log_probs)
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    for n in target_lengths:
        if n < 0:
            raise RuntimeError(f"Expected target_lengths to have value at least 0, but got value {n} {_WHERE}")
    for n in input_lengths:
        if n > steps:
            raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value {n} {_WHERE}")
    if targets.ndim > 1 and batch and targets.shape[1] < max(target_lengths, default=0):
        raise RuntimeError(
            f"Expected tensor to have size at least {max(target_lengths)} at dimension 1, but got size "
            f"{targets.shape[1]} for argument #2 'targets' {_WHERE}"
        )


def _with_blanks(targets: np.ndarray, lengths: Sequence[int], blank: int) -> np.ndarray:
    """(batch, 2 * longest + 1): each target with a blank before, between and after its labels, padded with blanks."""
    longest = max(lengths, default=0)
    out = np.full((len(lengths), 2 * longest + 1), blank, np.int64)
    start = 0
    for i, n in enumerate(lengths):
        out[i, 1 : 2 * n : 2] = targets[start : start + n] if targets.ndim == 1 else targets[i, :n]
        start += n
    return out


def _paths(log_probs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(steps, batch, positions): log probability of each position's label, and the cost of entering it from two back:
    nothing if the labels differ, all probability if it would skip a blank between equal labels.
    """
    steps, batch, _ = log_probs.shape
    emitted = np.take_along_axis(log_probs, np.broadcast_to(labels, (steps, *labels.shape)), axis=2)
    skip = np.full(labels.shape, -np.inf, log_probs.dtype)
    skip[:, 2:][labels[:, 2:] != labels[:, :-2]] = 0
    return emitted, skip


def _log_sum(*terms: np.ndarray) -> np.ndarray:
    """log(sum(exp(terms))), also where all are -inf."""
    top = terms[0]
    for t in terms[1:]:
        top = np.maximum(top, t)
    safe = np.where(np.isneginf(top), 0, top)
    total = np.exp(terms[0] - safe)
    for t in terms[1:]:
        total = total + np.exp(t - safe)
    return np.log(total) + safe


def _shift(a: np.ndarray, by: int) -> np.ndarray:
    out = np.full_like(a, -np.inf)
    out[:, by:] = a[:, : a.shape[1] - by]
    return out


def _alpha(log_probs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(batch, steps, positions): log probability of all paths from the start that are at a position after a step."""
    steps, batch, _ = log_probs.shape
    emitted, skip = _paths(log_probs, labels)
    alpha = np.full((batch, steps, labels.shape[1]), -np.inf, log_probs.dtype)
    if not steps:
        return alpha
    alpha[:, 0, :2] = emitted[0, :, :2]
    for t in range(1, steps):
        before = alpha[:, t - 1]
        alpha[:, t] = _log_sum(before, _shift(before, 1), _shift(before, 2) + skip) + emitted[t]
    return alpha


def _ends(alpha: np.ndarray, input_lengths: np.ndarray, target_lengths: np.ndarray) -> np.ndarray:
    """Minus the log probability of being at the last label or the blank after it when the input ends."""
    each = np.arange(alpha.shape[0])
    last = np.maximum(input_lengths - 1, 0)
    at_blank = alpha[each, last, 2 * target_lengths]
    at_label = np.where(target_lengths > 0, alpha[each, last, np.maximum(2 * target_lengths - 1, 0)], -np.inf)
    loss = -_log_sum(at_blank, at_label)
    nothing = np.where(target_lengths == 0, 0, np.inf)
    return np.where(input_lengths == 0, nothing, loss).astype(alpha.dtype)


@kernel("_ctc_loss")
def ctc_loss(
    log_probs: np.ndarray,
    targets: np.ndarray,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int,
    zero_infinity: bool,
) -> tuple[np.ndarray, np.ndarray]:
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    labels = _with_blanks(targets, target_lengths, blank)
    alpha = _alpha(log_probs, labels)
    return _ends(alpha, np.array(input_lengths, np.int64), np.array(target_lengths, np.int64)), alpha


@kernel("_ctc_loss_backward")
def ctc_loss_backward(
    grad: np.ndarray,
    log_probs: np.ndarray,
    targets: np.ndarray,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    neg_log_likelihood: np.ndarray,
    log_alpha: np.ndarray,
    blank: int,
    zero_infinity: bool,
) -> np.ndarray:
    loss = neg_log_likelihood
    labels = _with_blanks(targets, target_lengths, blank)
    out = np.zeros_like(log_probs)
    for i in range(log_probs.shape[1]):  # lengths differ, so that the way back starts elsewhere in each sample
        n, width = input_lengths[i], 2 * target_lengths[i] + 1
        if zero_infinity and np.isinf(loss[i]) or not n:
            continue
        out[:n, i] = grad[i] * _sample_grad(log_probs[:n, i], log_alpha[i, :n, :width], labels[i, :width], loss[i])
    return out


def _sample_grad(probs: np.ndarray, alpha: np.ndarray, labels: np.ndarray, loss: np.floating) -> np.ndarray:
    """exp(log_probs) minus the share of the paths through each class at each step."""
    # The way back is the way forward of the reversed sample.
    beta = _alpha(probs[::-1, None], labels[None, ::-1])[0, ::-1, ::-1]
    through = alpha + beta
    classes = np.full(probs.shape, -np.inf, probs.dtype)
    for position, label in enumerate(labels):
        classes[:, label] = np.logaddexp(classes[:, label], through[:, position])
    return np.exp(probs) - np.exp(classes + loss - probs)
