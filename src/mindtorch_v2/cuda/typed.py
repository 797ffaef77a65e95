"""`torch.cuda.FloatTensor` and the like: types that can be named and compared, of which no tensor is an instance."""

from __future__ import annotations

from typing import Any, NoReturn

from .. import _dtype as dt

_DTYPES = {
    "Float": dt.float32,
    "Double": dt.float64,
    "Half": dt.float16,
    "Byte": dt.uint8,
    "Char": dt.int8,
    "Short": dt.int16,
    "Int": dt.int32,
    "Long": dt.int64,
    "Bool": dt.bool_,
}
if hasattr(dt, "bfloat16"):
    _DTYPES["BFloat16"] = dt.bfloat16


class _TypedMeta(type):
    """Calling the class is refused; its instances do not exist."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")


def _make(word: str, dtype: dt.dtype) -> type:
    return _TypedMeta(
        f"{word}Tensor",
        (),
        {
            "__module__": "torch.cuda",
            "dtype": dtype,
            "is_cuda": True,
            "__doc__": "The type of tensors on a CUDA device: TypeError when called.",
        },
    )


TYPED = {f"{word}Tensor": _make(word, dtype) for word, dtype in _DTYPES.items()}
