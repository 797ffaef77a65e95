"""Functions that are Python themselves stand in a traced graph as the program called them."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import fx


def calls(function):
    return [
        (node.target.__name__, tuple(str(a) for a in node.args))
        for node in fx.symbolic_trace(function).graph.nodes
        if node.op == "call_function"
    ]


def test_operands_of_einsum_in_a_list_are_arguments():
    expected = [("einsum", ("ab,bc->ac", "x", "x"))]
    assert calls(lambda x: torch.einsum("ab,bc->ac", x, x)) == expected
    assert calls(lambda x: torch.einsum("ab,bc->ac", [x, x])) == expected
    assert calls(lambda x: torch.einsum("ab,bc->ac", (x, x))) == expected


def test_asserts_and_composites_are_recorded():
    assert calls(lambda x: torch._assert(x.shape[0] == 2, "two rows"))[-1] == ("_assert", ("eq", "two rows"))
    assert calls(lambda x: torch.stft(x, 4, return_complex=True)) == [("stft", ("x", "4"))]
    assert calls(lambda x: torch.lu(x)) == [("lu", ("x",))]
    checked = fx.symbolic_trace(lambda x: (torch._assert(x.shape[0] == 2, "two rows"), x)[1])
    assert checked(torch.ones(2)).tolist() == [1.0, 1.0]
