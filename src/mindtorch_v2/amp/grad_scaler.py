"""Scaling of the loss, so that small gradients do not vanish in float16."""

from __future__ import annotations

import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from .. import _device
from .. import _dtype as dt
from .._dispatch import aten, modes
from .._tensor import Tensor

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """How far an optimizer is since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class _PerDevice:
    """A tensor of one number, copied to other devices as they turn up."""

    def __init__(self, master: Tensor) -> None:
        self.master = master
        self._copies: dict[_device.device, Tensor] = {}

    def get(self, device: _device.device) -> Tensor:
        found = self._copies.get(device)
        if found is None:
            found = self._copies[device] = self.master.to(device=device, non_blocking=True, copy=True)
        return found


class GradScaler:
    """Multiplies losses by a scale, divides gradients by it, skips steps whose gradients are not finite, and adapts
    the scale: after such a step it is multiplied by `backoff_factor`, after `growth_interval` good steps in a row by
    `growth_factor`.

        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(torch.tensor(2.0))
    tensor(16.)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled and self._is_usable(device)
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None  # made when the first loss tells the device
        self._growth_factor, self._backoff_factor, self._growth_interval = (
            growth_factor,
            backoff_factor,
            growth_interval,
        )
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: defaultdict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    @staticmethod
    def _is_usable(device: str) -> bool:
        if device != "cuda":
            return True
        warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=4)
        return False

    def _check_scale_growth_tracker(self, name: str) -> tuple[Tensor, Tensor]:
        fix = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        if self._scale is None:
            raise AssertionError(f"Attempted {name} but _scale is None.  {fix}")
        if self._growth_tracker is None:
            raise AssertionError(f"Attempted {name} but _growth_tracker is None.  {fix}")
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, where: _device.device) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = aten.full((), self._init_scale, dtype=dt.float32, device=where)
        self._growth_tracker = aten.full((), self._init_growth_tracker, dtype=dt.int32, device=where)

    # --- the loss
    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in lists and tuples, multiplied by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return self._scale_tensor(outputs, [])
        return self._scaled_all(outputs, [])

    def _scale_tensor(self, value: Tensor, shared: list[_PerDevice]) -> Tensor:
        if self._scale is None:
            self._lazy_init_scale_growth_tracker(value.device)
        if not shared:
            assert self._scale is not None
            shared.append(_PerDevice(self._scale))
        made: Tensor = value * shared[0].get(value.device)
        return made

    def _scaled_all(self, value: Any, shared: list[_PerDevice]) -> Any:
        if isinstance(value, Tensor):
            return self._scale_tensor(value, shared)
        if isinstance(value, (list, tuple)):
            made = [self._scaled_all(v, shared) for v in value]
            return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
        if isinstance(value, Iterable) and not isinstance(value, str):
            return (self._scaled_all(v, shared) for v in value)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    # --- gradients
    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[_device.device, Tensor]:
        """Multiplies an optimizer's gradients by `inv_scale`; per device a number that is not 0 where one was not
        finite.
        """
        inverse, infinite = _PerDevice(inv_scale), _PerDevice(found_inf)
        groups: defaultdict[_device.device, defaultdict[dt.dtype, list[Tensor]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if not isinstance(parameter, Tensor):
                    raise AssertionError(f"expected Tensor, but got {type(parameter)}")
                if parameter.grad is None:
                    continue
                if not allow_fp16 and parameter.grad.dtype is dt.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                groups[parameter.grad.device][parameter.grad.dtype].append(parameter.grad)
        for where, by_type in groups.items():
            for grads in by_type.values():
                modes.call_with_grad(
                    False,
                    aten._amp_foreach_non_finite_check_and_unscale_,
                    grads,
                    infinite.get(where),
                    inverse.get(where),
                )
        return infinite._copies

    def unscale_(self, optimizer: Any) -> None:
        """Divides the optimizer's gradients by the scale, once between two updates: to clip them, say, before
        `step`.
        """
        if not self._enabled:
            return
        self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        assert self._scale is not None
        inv_scale = self._scale.double().reciprocal().float()
        found_inf = aten.full((), 0.0, dtype=dt.float32, device=self._scale.device)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inv_scale, found_inf, False)
        state["stage"] = OptState.UNSCALED

    def _maybe_opt_step(self, optimizer: Any, state: dict[str, Any], *args: Any, **kwargs: Any) -> float | None:
        if any(v.item() for v in state["found_inf_per_device"].values()):
            return None
        made: float | None = optimizer.step(*args, **kwargs)
        return made

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> float | None:
        """Unscales the gradients unless that was done, and calls `optimizer.step(*args, **kwargs)` if all are
        finite; returns what that returned. Optimizers that scale themselves (`_step_supports_amp_scaling`) are given
        the scale instead.
        """
        if not self._enabled:
            made: float | None = optimizer.step(*args, **kwargs)
            return made
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_that_scales(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_that_scales(self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: Any) -> float | None:
        """A fused step divides the gradients itself and looks at `found_inf`."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near "
                "future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and "
                "let the optimizer use them directly.",
                FutureWarning,
                stacklevel=4,
            )
            made: float | None = optimizer.step(*args, **kwargs, grad_scaler=self)
            return made
        assert self._scale is not None
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        founds = [v.to(self._scale.device, non_blocking=True) for v in state["found_inf_per_device"].values()]
        optimizer.grad_scale = (
            None if state["stage"] is OptState.UNSCALED else self._scale * getattr(optimizer, "grad_scale", 1)
        )
        optimizer.found_inf = sum(founds) if founds else None
        try:
            stepped: float | None = optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale
            del optimizer.found_inf
        return stepped

    # --- the scale
    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapts the scale to what the steps since the last update found, or sets it.

        Called once at the end of an iteration.
        """
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._set_scale(scale, new_scale)
        else:
            found = [
                v.to(scale.device, non_blocking=True)
                for s in self._per_optimizer_states.values()
                for v in s["found_inf_per_device"].values()
            ]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            total = found[0]
            for more in found[1:]:
                total = total + more
            aten._amp_update_scale_(
                scale, tracker, total, self._growth_factor, self._backoff_factor, self._growth_interval
            )
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    @staticmethod
    def _set_scale(scale: Tensor, new_scale: float | Tensor) -> None:
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
            return
        if not isinstance(new_scale, Tensor) or new_scale.numel() != 1 or new_scale.requires_grad:
            raise AssertionError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                "requires_grad=False."
            )
        scale.copy_(new_scale)

    def get_scale(self) -> float:
        """The scale as a number (1.0 where the scaler is disabled)."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        return self._enabled

    # --- state
    def state_dict(self) -> dict[str, Any]:
        """The scale and how it is adapted; empty where the scaler is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state["_init_scale"], state["_init_growth_tracker"] = self.get_scale(), self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _check_inf_per_device(self, optimizer: Any) -> dict[_device.device, Tensor]:
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        neutral = aten.full((), 1.0, dtype=dt.float32, device=scale.device)
        found_inf = aten.full((), 0.0, dtype=dt.float32, device=scale.device)
        found = self._unscale_grads_(optimizer, neutral, found_inf, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> dict[_device.device, Tensor]:
        found: dict[_device.device, Tensor] = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return found
