"""The base of all optimizers: parameter groups, state, hooks, and the scopes that a profile shows."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeVar

from .. import _observer, _owners
from .._autograd.hooks import RemovableHandle
from .._dispatch import modes
from .._tensor import Tensor
from ._options import new_step

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

Closure = Callable[[], Any]
T = TypeVar("T", bound="Optimizer")
# in annotations of what an optimizer is given
ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
on_step = _observer.on_optimizer_step
_global_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_post_hooks: OrderedDict[int, Any] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Any) -> RemovableHandle:
    """Calls `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return RemovableHandle.add(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Any) -> RemovableHandle:
    """Calls `hook(optimizer, args, kwargs)` after every step of every optimizer.

    >>> steps = []
    >>> handle = torch.profiler.register_optimizer_step_post_hook(lambda optimizer, args, kwargs: steps.append(1))
    >>> torch.optim.SGD([nn.Parameter(torch.ones(1))]).step()
    >>> handle.remove()
    >>> steps
    [1]
    """
    return RemovableHandle.add(_global_post_hooks, hook)


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


@functools.cache
def _scope(optimizer: str, method: str) -> str:
    """What a profile calls it: the same object every time, which the recorder finds faster."""
    return f"Optimizer.{method}#{optimizer}.{method}"


def _in_scope(optimizer: Any, method: str, function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function inside the scope that a profile shows for a method of the optimizer."""
    observer = _observer.active
    if observer is None:
        return function(*args)
    return modes.call_in_scope(observer, _scope(type(optimizer).__name__, method), function, *args)


def _with_scope_and_hooks(step: Any) -> Any:
    """Wraps a subclass's `step`: no gradients are recorded (unless it is differentiable), hooks run, and a profile
    shows `Optimizer.step#<class>.step`."""

    @functools.wraps(step)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        differentiable = self.defaults.get("differentiable") is True
        out = _in_scope(self, "step", modes.call_with_grad, differentiable, hooked, self, args, kwargs)
        for told in on_step:
            told(self)
        return out

    def hooked(self: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if _global_pre_hooks or self._optimizer_step_pre_hooks:
            (self, *args), kwargs = _run_pre_hooks(self, args, kwargs)
        out = step(self, *args, **kwargs)
        observer = _observer.active
        if observer is not None and observer.watches_modules:
            observer.optimizer_stepped(self)
        if _global_post_hooks or self._optimizer_step_post_hooks:
            for hook in chain(list(self._optimizer_step_post_hooks.values()), list(_global_post_hooks.values())):
                hook(self, (self, *args), kwargs)
        return out

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper


def _run_pre_hooks(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of `step`, the optimizer itself first, as hooks see and may replace them."""
    args = (self, *args)
    for hook in chain(list(_global_pre_hooks.values()), list(self._optimizer_step_pre_hooks.values())):
        made = hook(self, args, kwargs)
        if made is not None:
            if not (isinstance(made, tuple) and len(made) == 2):
                raise RuntimeError(f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {made}.")
            args, kwargs = made
    return args, kwargs


class Optimizer:
    """Updates parameters from their gradients.

    params    tensors, (name, tensor) pairs, or dicts with "params" and options of their own (parameter groups).
    defaults  options for groups that do not set them.

    >>> optimizer = torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
    >>> optimizer.param_groups[0]["lr"]
    0.1
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        step = cls.__dict__.get("step")
        if step is not None and not getattr(step, "hooked", False):
            cls.step = _with_scope_and_hooks(step)  # type: ignore[method-assign]

    def __new__(cls: type[T], *args: Any, **kwargs: Any) -> T:
        made = super().__new__(cls)
        _owners.optimizers.add(made)
        return made

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._hook_tables()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + params.type()
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def _hook_tables(self) -> None:
        for kind in (
            "step_pre",
            "step_post",
            "state_dict_pre",
            "state_dict_post",
            "load_state_dict_pre",
            "load_state_dict_post",
        ):
            setattr(self, f"_optimizer_{kind}_hooks", OrderedDict())

    def __getattr__(self, name: str) -> Any:
        """Tables of hooks of wrappers that derive from this class and do not call its constructor."""
        if name.startswith("_optimizer_") and name.endswith("_hooks") and name not in self.__dict__:
            self._hook_tables()
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._hook_tables()
        for group in self.param_groups:
            for name in _FLAGS.keys() & self.defaults.keys():
                group.setdefault(name, _FLAGS[name])
            for p in group["params"]:
                kept = self.state.get(p)
                if isinstance(kept, dict) and isinstance(kept.get("step"), (int, float)):
                    kept["step"] = new_step(kept["step"])

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    # --- groups -------------------------------------------------------------------------------------------------------
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group: {"params": tensors, option: value, ...}; options left out come from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params, names = _split_names(_ordered(param_group["params"]))
        if names:
            param_group["param_names"] = names
        self._check_params(params)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        param_group["params"] = params
        if len({id(p) for p in params}) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        self._check_beside_others(params, bool(names))
        self.param_groups.append(param_group)

    def _check_params(self, params: list[Any]) -> None:
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + _type_name(p))
            if not self.defaults.get("differentiable", None) and not (p.is_leaf or p._retain):
                raise ValueError("can't optimize a non-leaf Tensor")

    def _check_beside_others(self, params: list[Any], has_names: bool) -> None:
        """Whether a new group goes with those that are there: all have names or none, and no parameter is in two."""
        for group in self.param_groups:
            if ("param_names" in group) != has_names:
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with' if has_names else 'without'} names to the optimizer"
                )
        known = {id(p) for g in self.param_groups for p in g["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets all gradients, or (set_to_none=False) sets them to zero in place."""
        _in_scope(self, "zero_grad", self._zero_grad, set_to_none)

    def _zero_grad(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                grad = p._grad
                if grad is None:
                    continue
                if set_to_none:
                    p._grad = None
                else:
                    _reset(grad)

    def step(self, closure: Closure | None = None) -> Any:
        """Updates the parameters once; `closure` recomputes and returns the loss where the method needs it."""
        raise NotImplementedError

    @staticmethod
    def _evaluate(closure: Closure | None) -> Any:
        if closure is None:
            return None
        return modes.call_with_grad(True, closure)

    # --- hooks --------------------------------------------------------------------------------------------------------
    def register_step_pre_hook(self, hook: Any) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` before each step; it may return new (args, kwargs)."""
        return RemovableHandle.add(self._optimizer_step_pre_hooks, hook)  # type: ignore[attr-defined]

    def register_step_post_hook(self, hook: Any) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` after each step."""
        return RemovableHandle.add(self._optimizer_step_post_hooks, hook)  # type: ignore[attr-defined]

    def _register(self, kind: str, hook: Any, prepend: bool) -> RemovableHandle:
        table = getattr(self, f"_optimizer_{kind}_hooks")
        handle = RemovableHandle.add(table, hook)
        if prepend:
            table.move_to_end(handle.id, last=False)
        return handle

    def register_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        return self._register("load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        return self._register("load_state_dict_post", hook, prepend)

    # --- state dicts --------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The state and the groups, with parameters replaced by their indices."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):  # type: ignore[attr-defined]
            hook(self)
        indices: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for p in group["params"]:
                indices.setdefault(id(p), len(indices))
            packed["params"] = [indices[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {(indices[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        made: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):  # type: ignore[attr-defined]
            replaced = hook(self, made)
            made = made if replaced is None else replaced
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over a saved state; ValueError if its groups do not match."""
        state_dict = dict(state_dict)
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):  # type: ignore[attr-defined]
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(self.param_groups, saved)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        by_index = dict(
            zip(
                chain.from_iterable(g["params"] for g in saved),
                chain.from_iterable(g["params"] for g in self.param_groups),
            )
        )
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in by_index:
                state[by_index[key]] = _fit(by_index[key], value)
            else:
                state[key] = value
        for group, new in zip(self.param_groups, saved):
            new["params"] = group["params"]
            if "param_names" in group and "param_names" not in new:
                new["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):  # type: ignore[attr-defined]
            hook(self)


def _reset(grad: Tensor) -> None:
    """Zeroes a gradient in place, cutting it from any graph."""
    if grad._edge is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()


def _fit(param: Tensor, value: Any, key: str | None = None) -> Any:
    """A copy of loaded state in the type and on the device of its parameter; step counters keep their own type."""
    if isinstance(value, Tensor):
        if key == "step":
            return value.clone()
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device, copy=True)
        return value.to(device=param.device, copy=True)
    if isinstance(value, dict):
        return {k: _fit(param, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_fit(param, v) for v in value)  # type: ignore[call-arg]
    return value


def _ordered(params: Any) -> list[Any]:
    """What is given as the parameters of a group, as a list."""
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    return [params] if isinstance(params, Tensor) else list(params)


def _split_names(params: list[Any]) -> tuple[list[Any], list[str]]:
    """The parameters of a group, and their names if they came as (name, parameter) pairs."""
    names = [p[0] for p in params if isinstance(p, tuple)]
    if names and len(names) != len(params):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return [p[1] if isinstance(p, tuple) else p for p in params], names


def _type_name(value: Any) -> str:
    """The type of a value as errors name it: with its module, but not for what Python brings."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


# What state dicts saved before a flag existed mean by leaving it out.
_FLAGS: dict[str, Any] = {
    "amsgrad": False,
    "capturable": False,
    "centered": False,
    "decoupled_weight_decay": False,
    "differentiable": False,
    "foreach": None,
    "fused": None,
    "maximize": False,
    "nesterov": False,
}
