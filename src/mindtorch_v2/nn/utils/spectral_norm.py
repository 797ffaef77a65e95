"""`spectral_norm` of older programs: a weight divided by its largest singular value, set before every call of the
module.

The module keeps the parameter `weight_orig` and the buffers `weight_u` and `weight_v`, the singular vectors as far as
they are known: every call in training improves them by a few steps of power iteration.
"""

from __future__ import annotations

from typing import Any

from ..._autograd.grad_mode import no_grad
from ..._dispatch.namespace import public as torch
from ..._tensor import Tensor
from ..parameter import Parameter, is_lazy

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]


def _unit(vector: Tensor, eps: float) -> Tensor:
    """The vector at length 1."""
    from ..functional import normalize  # the functions need this package

    return normalize(vector, dim=0, eps=eps)


class SpectralNorm:
    """The hook that computes the weight from its parameter and the two vectors."""

    _version: int = 1  # of what a checkpoint holds: 1 has the vector v

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with `dim` as rows and everything else as columns."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """weight_orig / sigma. Power iterations write into the module's vectors, so that replicas on other threads see
        them."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(_unit(torch.mv(matrix.t(), u), self.eps))
                    u.copy_(_unit(torch.mv(matrix, v), self.eps))
                u, v = u.clone(), v.clone()  # the next call must not change what backward needs
        return weight / torch.dot(u, torch.mv(matrix, v))

    def remove(self, module: Any) -> None:
        """Makes the weight, as it is, the parameter."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for part in ("u", "v", "orig"):
            delattr(module, f"{self.name}_{part}")
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, sigma: Tensor) -> Tensor:
        """The v for which u and v give exactly sigma, by the pseudo-inverse: checkpoints without v are completed by
        it."""
        v = matrix.t().mm(matrix).pinverse().mv(matrix.t().mv(u))
        return v.mul_(sigma / torch.dot(u, torch.mv(matrix, v)))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Splits the parameter of a module and registers the hook, which it returns."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters.get(name)
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. "
                "Make sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad():
            rows, columns = made.reshape_weight_to_matrix(weight).shape
            u = _unit(weight.new_empty(rows).normal_(0, 1), eps)
            v = _unit(weight.new_empty(columns).normal_(0, 1), eps)
        del module._parameters[name]
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)  # a plain tensor until the first call
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(SpectralNormStateDictHook(made))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(made))
        return made


class SpectralNormStateDictHook:
    """Writes into a checkpoint's metadata that it holds v."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


class SpectralNormLoadStateDictPreHook:
    """Completes checkpoints from before v was kept: they have the weight as it was used, from which sigma and v
    follow."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        fn = self.fn
        key = prefix + fn.name
        version = local_metadata.get("spectral_norm", {}).get(f"{fn.name}.version")
        if version is not None and version >= 1:
            return
        if (
            version is None
            and f"{key}_v" in state_dict
            and all(f"{key}_{part}" in state_dict for part in ("orig", "u"))
        ):
            state_dict.pop(key, None)
            return  # complete although no metadata says so
        missing = [f"{key}{suffix}" for suffix in ("_orig", "", "_u") if f"{key}{suffix}" not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with no_grad():
            used, original = state_dict.pop(key), state_dict[f"{key}_orig"]
            sigma = (original / used).mean()
            matrix = fn.reshape_weight_to_matrix(original)
            state_dict[f"{key}_v"] = fn._solve_v_and_rescale(matrix, state_dict[f"{key}_u"], sigma)


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides a weight by its largest singular value. `dim` is the dimension of the outputs: 0, or 1 in transposed
    convolutions.

    Returns the module. `torch.nn.utils.parametrizations.spectral_norm` is the newer form.

    >>> layer = nn.utils.spectral_norm(nn.Linear(2, 3))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight_orig']
    """
    if dim is None:
        from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d

        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undoes `spectral_norm`: the weight is a parameter again, as large as it was used. Returns the module.

    >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 3)))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    _drop(module._state_dict_hooks, SpectralNormStateDictHook, name)
    _drop(module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook, name)
    return module


def _drop(hooks: dict[int, Any], kind: type, name: str) -> None:
    for key, hook in list(hooks.items()):
        inner = getattr(hook, "hook", hook)
        if isinstance(inner, kind) and inner.fn.name == name:  # type: ignore[attr-defined]
            del hooks[key]
