"""A loop: `torch.while_loop`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: tuple[Any, ...] | list[Any]
) -> tuple[Any, ...]:
    """What `body_fn` makes of the inputs, again and again while `cond_fn` of them holds.

    >>> torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.tensor(1.0)))
    (tensor(3), tensor(8.))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError(f"Expect cond_fn and body_fn to be callable, but got {cond_fn!r} and {body_fn!r}.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or list, but got {type(carried_inputs)}")
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        following = body_fn(*carried)
        if not isinstance(following, (tuple, list)) or len(following) != len(carried):
            raise RuntimeError(f"body_fn should return as many values as it is given ({len(carried)}), got {following}")
        carried = tuple(following)
    return carried
