"""Checkpoints that keep the results of some operators and run the others again."""

from __future__ import annotations

import enum
import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from .._tensor import Tensor
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map


class CheckpointPolicy(enum.Enum):
    """What becomes of an operator's result in a selective checkpoint. The two that only prefer are for compilers,
    which may decide otherwise; here they are obeyed.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


class SelectiveCheckpointContext:
    """What a policy function gets first: whether this is the second run, and, in the first, what the operator gave."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


_KEPT = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
# Views cost nothing to take again, and a kept one would keep the whole of its base.
_NEVER_KEPT = frozenset({"aten.detach.default"})


class _Kept:
    """A result with its version, which tells whether it was written to since."""

    def __init__(self, value: Any) -> None:
        self.version = value._version if isinstance(value, Tensor) else None
        self.value = value.detach() if isinstance(value, Tensor) else value

    def get(self, allow_mutation: bool) -> Any:
        if self.version is not None and self.value._version != self.version and not allow_mutation:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.value.detach() if self.version is not None else self.value


class _Policies:
    """Asks the policy, and takes answers of True and False for keep and run again."""

    def __init__(self, policy: Callable[..., Any]) -> None:
        self._policy = policy

    def keeps(self, is_recompute: bool, output: Any, func: Any, args: Any, kwargs: Any) -> bool:
        if str(func) in _NEVER_KEPT:
            return False
        context = SelectiveCheckpointContext(is_recompute=is_recompute, op_output=output)
        found = self._policy(context, func, *args, **kwargs)
        if found is CheckpointPolicy.MUST_CPU_OFFLOAD:
            raise NotImplementedError(
                "CheckpointPolicy.MUST_CPU_OFFLOAD is not supported; use autograd.graph.save_on_cpu"
            )
        return found in _KEPT if isinstance(found, CheckpointPolicy) else bool(found)


class _FirstRun(TorchDispatchMode):
    """Keeps the results that the policy wants, per operator in the order of its calls."""

    def __init__(self, policies: _Policies, kept: dict[Any, list[Any]]) -> None:
        super().__init__()
        self._policies, self._kept = policies, kept

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if self._policies.keeps(False, out, func, args, kwargs):
            self._kept[func].append(tree_map(_Kept, out))
        return out


class _SecondRun(TorchDispatchMode):
    """Gives kept results instead of running their operators again."""

    def __init__(self, policies: _Policies, kept: dict[Any, list[Any]], allow_mutation: bool) -> None:
        super().__init__()
        self._policies, self._kept, self._allow = policies, kept, allow_mutation

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self._policies.keeps(True, None, func, args, kwargs):
            return func(*args, **kwargs)
        results = self._kept.get(func)
        if results is None:
            raise RuntimeError(f"{func} encountered during backward, but not found in storage")
        if not results:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        return tree_map(lambda kept: kept.get(self._allow), results.pop(0))


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """The contexts of the two runs of `checkpoint`, for its `context_fn`: results of some operators are kept.

    policy_fn_or_list  the operators whose results are kept (`torch.ops.aten.mm.default`), or a function of a
                       SelectiveCheckpointContext, the operator and its arguments that returns a CheckpointPolicy.

    >>> from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> keep = lambda: create_selective_checkpoint_contexts([torch.ops.aten.mm.default])
    >>> x = torch.eye(2, requires_grad=True)
    >>> checkpoint(lambda x: (x @ x).sin().sum(), x, use_reentrant=False, context_fn=keep).backward()
    >>> x.grad
    tensor([[1.0806, 1.0000],
            [1.0000, 1.0806]])
    """
    if callable(policy_fn_or_list):
        policies = _Policies(policy_fn_or_list)
    elif isinstance(policy_fn_or_list, (list, tuple)):
        _check_overloads(policy_fn_or_list)
        policies = _Policies(functools.partial(_listed, tuple(policy_fn_or_list)))
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[Any, list[Any]] = defaultdict(list)
    return _FirstRun(policies, kept), _SecondRun(policies, kept, allow_cache_entry_mutation)


def _check_overloads(ops: Sequence[Any]) -> None:
    for op in ops:
        if not hasattr(op, "_schema"):
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. Please update the "
                "OpOverloadPacket to a specific OpOverload. For example, if you have `torch.ops.aten.mm`, change it to "
                "`torch.ops.aten.mm.default`."
            )


def _listed(ops: tuple[Any, ...], context: Any, func: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    return CheckpointPolicy.MUST_SAVE if func in ops else CheckpointPolicy.PREFER_RECOMPUTE
