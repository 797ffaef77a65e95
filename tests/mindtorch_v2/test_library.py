"""Operators that programs define."""

from __future__ import annotations

from typing import Optional

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor
from mindtorch_v2.library import Library, custom_op, infer_schema, opcheck


@custom_op("test_lib::scaled", mutates_args=())
def scaled(x: Tensor, k: float = 2.0) -> Tensor:
    return x * k


@scaled.register_fake
def _(x, k=2.0):
    return torch.empty_like(x)


scaled.register_autograd(
    lambda ctx, g: (g * ctx.k, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1])
)


def test_a_custom_operator_runs_everywhere():
    assert scaled(torch.ones(2)).tolist() == [2.0, 2.0] and torch.ops.test_lib.scaled(
        torch.ones(2), k=3.0
    ).tolist() == [3.0, 3.0]
    assert str(torch.ops.test_lib.scaled.default) == "test_lib.scaled.default"
    assert torch.ops.test_lib.scaled.default._schema == "test_lib::scaled(Tensor x, float k=2.) -> Tensor"
    made = scaled(torch.ones(2, device="meta"))
    assert made.is_meta and made.shape == (2,)
    x = torch.ones(2, requires_grad=True)
    y = scaled(x, 5.0)
    y.sum().backward()
    assert type(y.grad_fn).__name__ == "GeneratedBackwardFor_test_lib_scaled_defaultBackward" and x.grad.tolist() == [
        5.0,
        5.0,
    ]
    assert opcheck(scaled, (torch.ones(2),)) == {"test_schema": "SUCCESS", "test_faketensor": "SUCCESS"}


def test_lists_keywords_and_several_results():
    @custom_op("test_lib::both", mutates_args=())
    def both(xs: list[Tensor], *, shift: int = 1) -> tuple[Tensor, Tensor]:
        return xs[0] + shift, xs[1] * shift

    both.register_autograd(
        lambda ctx, g, h: [g, h * 2], setup_context=lambda ctx, inputs, keyword_only_inputs, output: None
    )
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    first, second = both([a, b], shift=2)
    (first.sum() + second.sum()).backward()
    assert (first.tolist(), a.grad.tolist(), b.grad.tolist()) == ([3.0, 3.0], [1.0, 1.0], [2.0, 2.0])


def test_what_is_missing_is_said():
    @custom_op("test_lib::bare", mutates_args=())
    def bare(x: Tensor) -> Tensor:
        return x.clone()

    with pytest.raises(RuntimeError, match="There was no fake impl registered for test_lib.bare.default"):
        bare(torch.ones(1, device="meta"))
    y = bare(torch.ones(1, requires_grad=True))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.backward()
    with pytest.raises(TypeError, match="is missing value for argument 'x'"):
        bare()
    with pytest.raises(AttributeError, match="'_OpNamespace' 'test_lib' object has no attribute 'nothing'"):
        _ = torch.ops.test_lib.nothing


def test_results_must_be_fresh_and_writes_declared():
    @custom_op("test_lib::same", mutates_args=())
    def same(x: Tensor) -> Tensor:
        return x

    @custom_op("test_lib::writes", mutates_args=())
    def writes(x: Tensor) -> Tensor:
        return x.add_(1).clone()

    @custom_op("test_lib::declared_", mutates_args={"x"})
    def declared_(x: Tensor) -> None:
        x.add_(1)

    with pytest.raises(RuntimeError, match="must not also be an input"):
        same(torch.ones(1))
    with pytest.raises(AssertionError, match="Argument x is not defined to alias output but was mutated"):
        opcheck(writes, (torch.ones(1),), test_utils="test_schema")
    t = torch.zeros(1)
    assert declared_(t) is None and t.item() == 1.0


def test_libraries_of_schemas_and_kernels():
    library = Library("test_lib2", "DEF")
    assert library.define("foo(Tensor x, int n=2) -> Tensor") == "foo"
    with pytest.raises(
        NotImplementedError, match="Could not run 'test_lib2::foo' with arguments from the 'CPU' backend"
    ):
        torch.ops.test_lib2.foo(torch.ones(1))
    library.impl("foo", lambda x, n=2: x * n, "CPU")
    assert torch.ops.test_lib2.foo(torch.ones(1), 5).item() == 5.0
    with pytest.raises(RuntimeError, match="Tried to register an operator"):
        library.define("foo(Tensor x) -> Tensor")
    library.define("bar(Tensor x) -> Tensor")
    library.impl("bar", lambda x: x * 3, "CompositeImplicitAutograd")
    x = torch.ones(1, requires_grad=True)
    torch.ops.test_lib2.bar(x).backward()
    assert x.grad.item() == 3.0, "gradients flow through what is made of other operators"
    library._destroy()
    assert not hasattr(torch.ops.test_lib2, "foo")


def test_functions_register_by_name():
    torch.library.define("test_lib3::inc", "(Tensor x) -> Tensor")

    @torch.library.impl("test_lib3::inc", "cpu")
    def inc(x):
        return x + 1

    torch.library.register_fake("test_lib3::inc", lambda x: torch.empty_like(x))
    torch.library.register_autograd("test_lib3::inc", lambda ctx, g: g * 7)
    z = torch.zeros(1, requires_grad=True)
    torch.ops.test_lib3.inc(z).backward()
    assert z.grad.item() == 7.0 and torch.ops.test_lib3.inc(torch.zeros(1, device="meta")).is_meta


# PyTorch 2.13's schemas.
def plain(x: Tensor, y: Optional[int] = None, *, a: str = "b") -> int: ...  # noqa: UP045
def several(xs: list[Tensor], flag: bool) -> tuple[Tensor, Tensor]: ...


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (plain, '(Tensor x, SymInt? y=None, *, str a="b") -> SymInt'),
        (several, "(Tensor[] xs, bool flag) -> (Tensor, Tensor)"),
    ],
)
def test_schemas_come_from_annotations(function, expected):
    assert infer_schema(function, mutates_args=()) == expected


def test_annotations_that_have_no_schema_are_refused():
    def bare(x):
        return x

    with pytest.raises(ValueError, match="Parameter x must have a type annotation"):
        infer_schema(bare, mutates_args=())

    def no_result(x: Tensor):
        return x

    with pytest.raises(ValueError, match="No return type annotation was provided"):
        infer_schema(no_result, mutates_args=())


def test_a_profile_shows_custom_operators():
    with torch.profiler.profile() as prof:
        scaled(torch.ones(2))
    names = [e.key for e in prof.key_averages()]
    assert "test_lib::scaled" in names and "aten::mul" in names


def test_an_argument_that_is_written_needs_no_alias_name():
    """`Tensor!`, as libraries write it in schemas of their own."""
    torch.library.define("alias_free::fill", "(Tensor x, Tensor! out) -> ()")

    @torch.library.impl("alias_free::fill", "CompositeExplicitAutograd")
    def fill(x, out):
        out.copy_(x)

    out = torch.zeros(2)
    version = out._version
    torch.ops.alias_free.fill(torch.ones(2), out)
    assert out.tolist() == [1.0, 1.0] and out._version > version
