"""Every operator that programs can call is documented, and the examples give what they say."""

from __future__ import annotations

import doctest
import inspect
import pathlib
import re

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._ops import documentation, signatures, table

FAMILIES = sorted({op.family for op in table.OPS.values()})
PUBLIC = sorted(
    name
    for name, overloads in table.OVERLOADS.items()
    if not name.startswith("_") and any(op.function or op.method for op in overloads)
)


class Numbers(doctest.OutputChecker):
    """Compares printed numbers as numbers, to the four digits that tensors print, and everything else as text
    without spaces.
    """

    NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]\d+)?")

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        want, got = "".join(want.split()), "".join(got.split())
        if self.NUMBER.sub("#", want) != self.NUMBER.sub("#", got):
            return False
        pairs = zip(self.NUMBER.findall(want), self.NUMBER.findall(got))
        return all(abs(float(a) - float(b)) <= 2e-4 * max(abs(float(a)), 1e-3) for a, b in pairs)


def failures(name: str, text: str) -> list[str]:
    """What the examples in a text print instead of what they say."""
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    said: list[str] = []
    torch.manual_seed(0)
    doctest.DocTestRunner(Numbers(), verbose=False).run(test, out=said.append)
    return said


def test_every_public_operator_has_a_section():
    missing = [name for name in PUBLIC if documentation.text_of(name) is None]
    assert missing == [], "write a section `## name` into src/mindtorch_v2/_ops/docs/<family>.md for each"


@pytest.mark.parametrize("family", FAMILIES)
def test_sections_belong_to_operators_of_their_family(family):
    sections = documentation.sections(family)
    assert [name for name in sections if name not in table.OVERLOADS or table.OVERLOADS[name][0].family != family] == []
    targets = [text[2:] for text in sections.values() if text.startswith("= ")]
    assert [target for target in targets if target not in table.OVERLOADS] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_summaries_are_one_short_paragraph(family):
    for name in (name for name in PUBLIC if table.OVERLOADS[name][0].family == family):
        summary = documentation.docstring(name, "function").partition("\n\n")[0]
        assert summary.endswith("."), name
        assert len(summary) < 240, name


@pytest.mark.filterwarnings("ignore::UserWarning")  # deprecated names warn
@pytest.mark.parametrize("family", FAMILIES)
def test_examples_give_what_they_say(family):
    found = [line for name, text in documentation.sections(family).items() for line in failures(name, text)]
    assert found == [], "".join(found)


def test_no_file_without_a_family():
    folder = pathlib.Path(documentation.__file__).parent / "docs"
    assert sorted(path.stem for path in folder.glob("*.md")) == sorted(set(FAMILIES))


def test_a_docstring_has_summary_signatures_facts_and_examples():
    assert torch.add.__doc__ == inspect.cleandoc("""
        Adds `other`, multiplied by `alpha`, to each element.

            add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1,
                out: Tensor | None = None) -> Tensor

        Shapes: the tensors broadcast together; the result has their common shape. The result has the common
        type of the arguments.

        Example:

            >>> torch.add(torch.tensor([1, 2]), 10)
            tensor([11, 12])
            >>> torch.add(torch.tensor([1., 2.]), torch.tensor([1., 1.]), alpha=0.5)
            tensor([1.5000, 2.5000])""")
    assert torch.Tensor.add_.__doc__.startswith(
        "Writes the result of `add` into the tensor itself, and returns it.\n\n    Tensor.add_(other"
    )
    assert torch.absolute.__doc__.startswith("Another name of `torch.abs`: the absolute value")
    assert (
        "max(input: Tensor, other: Tensor" in torch.max.__doc__
        and "values: Tensor, indices: Tensor" in torch.max.__doc__
    )


def public_function(name: str) -> object:
    """The function that programs find under an operator's public name, or None."""
    found = torch
    for word in documentation.public_name(name).split(".")[1:]:
        found = getattr(found, word, None)
    return found


def test_signatures_are_those_of_the_functions():
    """Names of parameters agree wherever a function is made from one declaration; numpy's names and `size=` come on
    top.
    """
    compared = 0
    for name in PUBLIC:
        function = public_function(name)
        if len(table.OVERLOADS[name]) > 1 or function is None:
            continue
        if not function.__code__.co_filename.startswith("<mindtorch_v2 op"):
            continue  # a function written in Python stands in front of the operator
        own = list(inspect.signature(function).parameters)
        made = [p.name for p in signatures.signatures(table.OVERLOADS[name][0], "function")[-1].parameters]
        assert [p for p in own if p.strip("_") not in {*made, "axis", "keepdims"}] == [], name
        assert [p for p in made if p not in own and f"_{p}" not in own] == [], name
        compared += 1
    assert compared > 300
