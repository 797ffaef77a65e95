"""Batch normalisation."""

from __future__ import annotations

from typing import Any

from ... import _dtype as dt
from ..._dispatch import aten
from ..._lazy_parts import lazy_parts as _lazy_parts
from ..._python.creation import tensor
from ..._tensor import Parameter, Tensor
from ...autograd import grad_mode
from .. import functional as F
from .. import init
from .module import Module

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"]


class _NormBase(Module):
    """Per-channel weight and bias, and running statistics, of batch and instance normalisation."""

    _version = 2
    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        options = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(aten.empty((num_features,), **options)) if affine else None)
        self.register_parameter("bias", Parameter(aten.empty((num_features,), **options)) if affine and bias else None)
        if track_running_stats:
            self.register_buffer("running_mean", aten.zeros((num_features,), **options))
            self.register_buffer("running_var", aten.ones((num_features,), **options))
            self.register_buffer("num_batches_tracked", tensor(0, dtype=dt.int64, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forgets what was seen: mean 0, variance 1."""
        if self.track_running_stats:
            assert (
                self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None
            )
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, and no statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)  # type: ignore[arg-type]
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            key = prefix + "num_batches_tracked"  # states saved before version 2 do not have it
            if key not in state_dict:
                have = self.num_batches_tracked
                state_dict[key] = have if have is not None and not have.is_meta else tensor(0, dtype=dt.int64)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the running statistics are plain means over all batches
                factor = 1.0 / float(self.num_batches_tracked)
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            use_batch,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """(x - mean) / sqrt(var + eps) * weight + bias per channel of (N, C) or (N, C, L).

    In training, mean and (biased) variance are the batch's, and the running statistics move towards them by
    `momentum`; in evaluation the running statistics are used.

    >>> nn.BatchNorm1d(2)(torch.tensor([[0., 1.], [2., 5.]]))
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]], grad_fn=<NativeBatchNormBackward0>)
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W); see BatchNorm1d.

    >>> nn.BatchNorm2d(16)(torch.randn(4, 16, 8, 8)).shape
    torch.Size([4, 16, 8, 8])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W); see BatchNorm1d.

    >>> nn.BatchNorm3d(2)(torch.randn(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all processes of a group.

    In one process it is BatchNorm of any count of dimensions.

    >>> nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(3)))[0].num_features
    3
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() >= 2 and input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")
        uses_batch = self.training or (self.running_mean is None and self.running_var is None)
        if uses_batch and self._processes() > 1:
            self._check_input_dim(input)
            return self._over_processes(input)
        return super().forward(input)

    def _processes(self) -> int:
        """How many processes' batches are normalised together; 1 where no group was formed."""
        from ... import distributed

        return distributed.get_world_size(self.process_group) if distributed.is_initialized() else 1

    def _over_processes(self, input: Tensor) -> Tensor:
        """Mean and variance of the batches of all processes; gradients pass through both."""
        from ...distributed.nn.functional import all_reduce

        dims = [d for d in range(input.dim()) if d != 1]
        shape = [1, -1] + [1] * (input.dim() - 2)
        own = input.numel() // input.shape[1]
        sums = aten.cat([input.sum(dims), input.new_full((1,), float(own))])
        sums = all_reduce(sums, group=self.process_group)
        count = sums[-1].detach()
        mean = (sums[:-1] / count).view(shape)
        centred = input - mean
        variance = all_reduce((centred * centred).sum(dims), group=self.process_group) / count
        if self.training and self.track_running_stats:
            self._track(mean.detach().flatten(), variance.detach() * (count / (count - 1)))
        made = centred * (variance + self.eps).rsqrt().view(shape)
        if self.weight is not None and self.bias is not None:
            made = made * self.weight.view(shape) + self.bias.view(shape)
        return made

    def _track(self, mean: Tensor, variance: Tensor) -> None:
        """Takes the statistics of a batch into the running ones."""
        assert self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        factor = 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        with grad_mode.no_grad():
            self.running_mean.mul_(1 - factor).add_(mean, alpha=factor)
            self.running_var.mul_(1 - factor).add_(variance, alpha=factor)

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """A module whose batch normalisations, at any depth, are of this class, with the parameters and statistics
        that they had.
        """
        made = module
        if isinstance(module, _BatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            if module.affine:
                made.weight, made.bias = module.weight, module.bias
            made.running_mean, made.running_var = module.running_mean, module.running_var
            made.num_batches_tracked, made.training = module.num_batches_tracked, module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


# PyTorch has these here, and pickles of its modules say so.
_ELSEWHERE = ("LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d")
__getattr__, __dir__ = _lazy_parts(__name__, names=dict.fromkeys(_ELSEWHERE, "nn.modules._lazy_layers"))
