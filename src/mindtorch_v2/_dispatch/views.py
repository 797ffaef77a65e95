"""Views: tensors that share the storage of another, on any device."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .._keys import DEVICES, GRAD
from .._ops.table import Op
from .._storage import Storage, native
from .._tensor import Tensor, wrap
from .casting import unwrapper

Boxed = Callable[..., Any]


def share_storage(view: Tensor, source: Tensor, tracked: bool = True) -> Tensor:
    """Ties a fresh view to the storage of what it views, and if autograd is to know it as a view, to its base."""
    if source._storage is None:
        source._storage = Storage()
    view._storage = source._storage
    if tracked:
        view._base = source if source._base is None else source._base
        view._view_version = source._storage.version
        if native is None:
            _note_view(view, source._storage)
    if source._device is not None:
        view._device = source._device
    return view


def _note_view(view: Tensor, storage: Storage) -> None:
    """Keeps a weak reference to the view, for `mark_views`. The native core has a list of all tensors.

    References of dead views go when the list has doubled: a callback for each would be a call in profiles with stacks.
    """
    views = storage.views
    if views is None:
        views = storage.views = []
    elif len(views) >= 16 and not len(views) & (len(views) - 1):
        views[:] = [view for view in views if view() is not None]
    views.append(weakref.ref(view))


def _mark_noted(base: Tensor) -> None:
    """Views that live require a gradient since their base does."""
    views = base._storage.views if base._storage is not None else None
    for reference in views or ():
        view = reference()
        if view is not None and view._base is base and view.dtype.inexact:
            view._keys |= GRAD


mark_views: Callable[[Tensor], None] = _mark_noted if native is None else native.mark_views


def box_view(op: Op, kernel: Boxed) -> Boxed:
    """A function that makes views with a numpy kernel, on whatever device the viewed tensor is."""
    unwrap = unwrapper(op)
    tracked = op.no_grad is None  # what leaves the graph, as detach does, is not a view for autograd

    def boxed(*args: Any) -> Any:
        source = args[0]
        key = source._keys & DEVICES
        result = kernel(*unwrap(args))
        if result.__class__ is list or result.__class__ is tuple:
            return tuple([share_storage(wrap(r, None, key), source, tracked) for r in result])
        return share_storage(wrap(result, None, key), source, tracked)

    return boxed
