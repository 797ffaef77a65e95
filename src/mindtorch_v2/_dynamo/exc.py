"""Errors of PyTorch's compiler, by the names that programs catch."""

from __future__ import annotations


class TorchDynamoException(RuntimeError):
    """The base of them."""


class InvalidBackend(TorchDynamoException):
    """`torch.compile` was given a backend that is not known."""


class Unsupported(TorchDynamoException):
    """A program that cannot become a graph. Never raised here: there are no graphs."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend that failed. Never raised here: there are none."""


class InternalTorchDynamoError(TorchDynamoException):
    """An error inside the compiler. Never raised here."""


class UserError(Unsupported):
    """A program that uses the compiler wrongly. Never raised here."""


class TorchRuntimeError(TorchDynamoException):
    """An operator that failed while a graph was made. Never raised here."""
