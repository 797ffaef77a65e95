"""Tensors whose printed text is compared with PyTorch's: (expression, print options)."""
from __future__ import annotations

from typing import Any

_NUMBERS = [
    "[1., 2., 3.]", "[1.5, 2., 3.]", "[0., 0.]", "[-0., 0.]", "[1e-5, 1.]", "[1e-3, 1.]", "[1e-4, 1.5]", "[9.99e-5, 1.5]", "[1., 1000.]",
    "[1., 1001.]", "[1.5, 1500.5]", "[1.5, 1499.5]", "[1e8, 1e8]", "[1.1e8, 1e8]", "[1e9]", "[12345678.]", "[123456.789]",
    "[float('nan'), 1.]", "[float('nan')]", "[float('inf'), 1.5]", "[-float('inf'), float('nan'), 2.]", "[float('inf')]",
    "[float('nan'), 1e-7]", "[1e-45]", "[3.4e38]", "[0.1, 0.22222222, 0.333]", "[-1., 22.]", "[-1.5, 22.25]", "[1e10, 1e-10]",
    "[0.99999, 1.]", "[0.00005]", "[99999.5]", "[0.1]", "[100000000.]", "[100000001., 3.]", "[5e-5, 0., float('nan')]", "1.5", "3.", "0.",
    "-0.", "1e-8", "1e20", "float('nan')", "-float('inf')", "123456789.", "0.3333333333333", "[[1.5, -2.], [1e3, 4.]]",
    "[[1., 2.], [3., 4.]]", "[[[1.]]]", "[[1e-9, 1.], [2., 3.]]", "[]", "[[]]", "[[], []]",
]
_OTHERS = [
    "torch.tensor([1, 2, 300])", "torch.tensor([-1, 20])", "torch.tensor(5)", "torch.tensor([True, False])", "torch.tensor(True)",
    "torch.tensor([[1, -200], [3, 4]])", "torch.tensor([1, 2], dtype=torch.int32)", "torch.tensor([1, 2], dtype=torch.uint8)",
    "torch.tensor([1, 2], dtype=torch.int8)", "torch.tensor([1, 2], dtype=torch.int16)", "torch.tensor(2 ** 62)",
    "torch.tensor([1+2j, -1.5-0.5j])", "torch.tensor([1+2j])", "torch.tensor(1+2j)", "torch.tensor([1e-5+1j, 2.])",
    "torch.tensor([complex('nan'), 1j])", "torch.tensor([1j, 1000.5+2j], dtype=torch.complex128)", "torch.tensor([[1+1j, 22.5-3j], [0j, 1]])",
    "torch.tensor([-1-1j, 1e10j])", "torch.tensor([1., 2.], dtype=torch.float64)", "torch.tensor([1.5], dtype=torch.float16)",
    "torch.tensor([65504., 1e-7], dtype=torch.float16)", "torch.zeros(0)", "torch.zeros(0, 3)", "torch.zeros(2, 0, dtype=torch.int64)",
    "torch.zeros(0, dtype=torch.int64)", "torch.zeros(0, dtype=torch.bool)", "torch.zeros((2, 0, 3), dtype=torch.float64)",
    "torch.arange(20)", "torch.arange(40)", "torch.arange(100.)", "torch.arange(1001)", "torch.arange(1001.)", "torch.arange(2000.) / 3",
    "torch.arange(1000)", "torch.arange(1000.)", "torch.arange(10000).reshape(100, 100)", "torch.arange(10000.).reshape(100, 100)",
    "torch.arange(2048).reshape(2, 4, 256)", "torch.arange(1200).reshape(20, 60)", "torch.arange(1001).reshape(1001, 1)",
    "torch.arange(4096.).reshape(8, 8, 8, 8)", "torch.ones(2000)", "torch.zeros(1001, dtype=torch.bool)", "torch.arange(24).reshape(2, 3, 4)",
    "torch.arange(24.).reshape(1, 2, 3, 4)", "torch.arange(36.).reshape(2, 18) * 1.25", "torch.arange(30) * 100000",
    "torch.arange(60).reshape(3, 20)", "torch.arange(2000) * 1j", "torch.tensor([1., 2.], requires_grad=True)",
    "torch.tensor(1., requires_grad=True)", "torch.tensor([1., 2.], requires_grad=True) * 2", "torch.tensor([1., 2.], requires_grad=True).sum()",
    "torch.tensor([1., 2.], requires_grad=True).exp()", "torch.tensor([[1., 2.]], requires_grad=True).t()",
    "torch.tensor([1., 2.], dtype=torch.float64, requires_grad=True)", "torch.ones(20, requires_grad=True) * 1.5",
    "torch.ones(9, requires_grad=True, dtype=torch.float64) * 1.5", "torch.ones(2, 3, device='meta')",
    "torch.ones(2, 3, device='meta', dtype=torch.int64)", "torch.ones((), device='meta')", "torch.nn.Parameter(torch.tensor([1.5]))",
    "torch.ones(3, 4).t()", "torch.arange(12).reshape(3, 4)[:, ::2]", "torch.ones(1).expand(2, 3)", "torch.arange(7.)[3:] / 7",
    "torch.tensor([1., 2., 3.])[0]", "torch.full((3, 3), float('nan'))", "torch.eye(3)", "torch.tensor([[True], [False]])",
    "torch.tensor([1e-10, 1e10], dtype=torch.float64)", "torch.linspace(0, 1, 11)", "torch.tensor([0.1 + 0.2], dtype=torch.float64)",
    "torch.Size([2, 3])", "[torch.tensor(1), torch.tensor(2.)]", "torch.tensor([1.0, 10.0, 100.0, 1000.0, 10000.0])",
    "torch.tensor([-1000., 1000., 0.5])", "torch.tensor([1., float('nan'), float('inf'), -float('inf'), 1e9])",
    "f'{torch.tensor(3.14159):.2f}'", "f'{torch.tensor(7):5d}'", "f'{torch.tensor([1., 2.])}'", "str(torch.tensor([1.5]))",
    "torch.max(torch.tensor([[1., 5.], [7., 2.]]), 1)", "torch.float32", "torch.device('cpu')", "torch.ones(2, requires_grad=True).detach()",
    "torch.tensor([[1.5, 2.5]] * 4, requires_grad=True)[1:]",
]
_OPTIONS: list[tuple[str, dict[str, Any]]] = [
    (expression, options)
    for expression in ("torch.arange(24.).reshape(4, 6) / 7", "torch.tensor([1e-6, 1.])", "torch.arange(3000)", "torch.tensor([1.5, 2.])",
                       "torch.arange(30) * 1000", "torch.tensor([1+2j, 1e5j])", "torch.arange(100.).reshape(10, 10)")
    for options in ({"precision": 2}, {"precision": 8}, {"threshold": 10}, {"threshold": 10, "edgeitems": 1}, {"linewidth": 40},
                    {"sci_mode": True}, {"sci_mode": False}, {"profile": "short"}, {"profile": "full", "threshold": 100})
]
CASES: list[tuple[str, dict[str, Any]]] = [(f"torch.tensor({n})", {}) for n in _NUMBERS]
CASES += [(f"torch.tensor({n}, dtype=torch.float64)", {}) for n in _NUMBERS[::4]]
CASES += [(e, {}) for e in _OTHERS]
CASES += _OPTIONS


def show(torch: Any, expression: str, options: dict[str, Any]) -> str:
    """The text of a case on either implementation."""
    torch.set_printoptions(profile="default")
    if options:
        torch.set_printoptions(**options)
    try:
        value = eval(expression, {"torch": torch})
        return value if isinstance(value, str) else repr(value)
    finally:
        torch.set_printoptions(profile="default")
