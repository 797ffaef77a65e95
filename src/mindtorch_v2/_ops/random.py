"""Declarations of the ops that draw random numbers."""

from __future__ import annotations

from typing import Any

from .. import _dtype as dt
from .._shape import broadcast_shapes
from .rules import Spec, like
from .table import op

NO_INPUT = "no tensor goes in"
DRAWN = "the result is drawn, not computed"
_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_LIKE_OPTIONS = f"{_OPTIONS}, MemoryFormat? memory_format=None"
_GENERATOR = "Generator? generator=None"


def _permutation(n: int, generator: Any, dtype: dt.dtype | None, *rest: Any) -> Spec:
    return Spec((n,), dtype or dt.int64)


def _samples(self: Any, num_samples: int, *rest: Any) -> Spec:
    return Spec((*self.shape[:-1], num_samples), dt.int64)


def _normal_of(mean: Any, std: Any, *rest: Any) -> Spec:
    tensors = [x for x in (mean, std) if hasattr(x, "dtype")]
    return Spec(broadcast_shapes(*(tuple(x.shape) for x in tensors)), tensors[0].dtype)


# --- fresh tensors
op(f"rand.generator(SymInt[] size, *, {_GENERATOR}, {_OPTIONS}) -> Tensor", method=False)
op(f"randn.generator(SymInt[] size, *, {_GENERATOR}, {_OPTIONS}) -> Tensor", method=False)
op(f"randint.generator(SymInt high, SymInt[] size, *, {_GENERATOR}, {_OPTIONS}) -> Tensor", method=False)
op(
    f"randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, {_GENERATOR}, {_OPTIONS}) -> Tensor",
    method=False,
)
op(
    f"randperm.generator(SymInt n, *, {_GENERATOR}, {_OPTIONS}) -> Tensor",
    meta=_permutation,
    method=False,
    no_grad=NO_INPUT,
)
op(f"rand_like.generator(Tensor self, *, {_GENERATOR}, {_LIKE_OPTIONS}) -> Tensor", method=False)
op(f"randn_like.generator(Tensor self, *, {_GENERATOR}, {_LIKE_OPTIONS}) -> Tensor", method=False)
op(f"randint_like.generator(Tensor self, SymInt high, *, {_GENERATOR}, {_LIKE_OPTIONS}) -> Tensor", method=False)
op(
    f"randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, {_GENERATOR}, {_LIKE_OPTIONS}) -> "
    "Tensor",
    method=False,
)
op(
    f"normal.Tensor_float(Tensor mean, float std=1, *, {_GENERATOR}) -> Tensor",
    meta=_normal_of,
    method=False,
    out="cast",
)
op(f"normal.float_Tensor(float mean, Tensor std, *, {_GENERATOR}) -> Tensor", meta=_normal_of, method=False, out="cast")
op(
    f"normal.Tensor_Tensor(Tensor mean, Tensor std, *, {_GENERATOR}) -> Tensor",
    meta=_normal_of,
    method=False,
    out="cast",
)
op(f"normal.float_float(float mean, float std, SymInt[] size, *, {_GENERATOR}, {_OPTIONS}) -> Tensor", method=False)

# --- draws into a tensor
op(f"uniform_(Tensor(a!) self, float from=0, float to=1, *, {_GENERATOR}) -> Tensor(a!)", function=False)
op(f"normal_(Tensor(a!) self, float mean=0, float std=1, *, {_GENERATOR}) -> Tensor(a!)", function=False)
op(f"random_.from(Tensor(a!) self, int from, int? to, *, {_GENERATOR}) -> Tensor(a!)", function=False)
op(f"random_.to(Tensor(a!) self, int to, *, {_GENERATOR}) -> Tensor(a!)", function=False)
op(f"random_(Tensor(a!) self, *, {_GENERATOR}) -> Tensor(a!)", function=False)
op(f"exponential_(Tensor(a!) self, float lambd=1, *, {_GENERATOR}) -> Tensor(a!)", function=False)
op(f"geometric_(Tensor(a!) self, float p, *, {_GENERATOR}) -> Tensor(a!)", function=False)
op(f"cauchy_(Tensor(a!) self, float median=0, float sigma=1, *, {_GENERATOR}) -> Tensor(a!)", function=False)
op(f"log_normal_(Tensor(a!) self, float mean=1, float std=2, *, {_GENERATOR}) -> Tensor(a!)", function=False)
op(f"bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, {_GENERATOR}) -> Tensor(a!)", function=False)
op(f"bernoulli_.float(Tensor(a!) self, float p=0.5, *, {_GENERATOR}) -> Tensor(a!)", function=False)

# --- draws that depend on a tensor
op(f"bernoulli(Tensor self, *, {_GENERATOR}) -> Tensor", out="cast")
op(f"bernoulli.p(Tensor self, float p, *, {_GENERATOR}) -> Tensor", no_grad=DRAWN)
op(
    f"multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, {_GENERATOR}) -> Tensor",
    meta=_samples,
    out=True,
    no_grad="the result is made of positions",
)
op("poisson(Tensor self, Generator? generator=None) -> Tensor", meta=like(), method=False)

# --- dropout
for _name in ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"):
    op(f"{_name}(Tensor input, float p, bool train) -> Tensor", method=False)
    op(f"{_name}_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", method=False)
op("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", method=False)
op("native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor", function=False, method=False)
