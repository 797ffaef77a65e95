"""The API reference as Markdown: one page per family of operators, one per module, from docstrings and the op table."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pathlib
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._dispatch.namespace import function_of
from mindtorch_v2._ops import documentation, table

MODULES = {
    "nn": "Layers, losses and containers",
    "nn.functional": "Functions behind the layers",
    "nn.init": "Initial values",
    "nn.utils": "Helpers for parameters and gradients",
    "nn.utils.rnn": "Packed and padded sequences",
    "optim": "Optimizers",
    "optim.lr_scheduler": "Schedules of the learning rate",
    "autograd": "Differentiation",
    "autograd.functional": "Jacobians and Hessians",
    "autograd.profiler": "The older profiler interface",
    "profiler": "The profiler",
    "utils.data": "Datasets and loaders",
    "utils.checkpoint": "Checkpointing",
    "utils.benchmark": "Timing of snippets",
    "utils.flop_counter": "Counting operations",
    "serialization": "Saving and loading",
    "overrides": "Subclasses of Tensor",
    "random": "The state of the generator",
    "npu": "Ascend NPU",
    "amp": "Mixed precision",
    "distributions": "Probability distributions",
    "func": "Function transforms",
    "signal.windows": "Window functions",
    "multiprocessing": "Processes that share memory",
}
NAMESPACES = {"fft": "Fourier transforms", "linalg": "Linear algebra", "special": "Special functions"}


def escaped(text: str) -> str:
    """Text as Markdown that shows it literally; what stands in backticks, indented blocks and lists stay."""
    lines = []
    for line in text.splitlines():
        if line.startswith("    "):
            lines.append(line)
            continue
        parts = re.split(r"(`[^`]*`)", line)
        parts[::2] = [re.sub(r"([*_<>\[\]|$])", r"\\\1", part) for part in parts[::2]]
        lines.append(re.sub(r"^(\s*)#", r"\1\\#", "".join(parts)))
    return "\n".join(lines)


def _example(text: str) -> str:
    return f"```pycon\n{text.strip()}\n```\n" if text.strip() else ""


def _docstring(value: Any) -> str:
    """A docstring as Markdown: its text literally, the examples at its end as a block of code."""
    text = inspect.cleandoc(value.__doc__ or "")
    found = re.search(r"^ *>>> ", text, re.M)
    if found is None:
        return escaped(text)
    head = text[: found.start()].rstrip().removesuffix("Example:")
    return "\n\n".join(filter(None, [escaped(head), _example(textwrap.dedent(text[found.start() :]))]))


def operator_entry(base: str, form: str, name: str) -> str:
    """One operator: its signatures, text, facts and example."""
    head, marker, example = (documentation.text_of(base) or "").partition(">>> ")
    summary, _, details = head.strip().partition("\n\n")
    known = documentation.facts(base, head)
    calls = [f"{name}{call[call.index('(') :]}" for call in documentation.calls(base, form)]
    more = "\n\n".join(
        filter(None, [escaped(summary), escaped(" ".join([*details.split(), *known])), _example(marker + example)])
    )
    return _directive("function" if form == "function" else "method", calls, more)


def _directive(kind: str, calls: list[str], body: str) -> str:
    calls = [
        re.sub(r"-> \((.*)\)$", lambda m: f"-> tuple[{', '.join(['Tensor'] * (m[1].count(',') + 1))}]", call)
        for call in calls
    ]
    return (
        f"::::{{py:{kind}}} "
        + "\n".join(calls[:1])
        + "".join(f"\n{call}" for call in calls[1:])
        + f"\n\n{body}\n::::\n"
    )


def _signature(value: Any) -> str:
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(...)"
    return (
        re.sub(r"<[^<>]* (?:object )?at 0x\w+>|<[^<>]*>", "...", text.replace("'", "")) if "\n" not in text else "(...)"
    )


def python_entry(name: str, value: Any, kind: str = "function") -> str:
    """One function or class written in Python: its signature, docstring, and the documented methods of a class."""
    body = [_docstring(value)]
    if value is torch.Tensor:
        return _directive("class", [f"{name}(data)"], "Another name of `torch.Tensor`.")
    if not isinstance(value, type):
        return _directive(kind, [f"{name}{_signature(value)}"], "\n\n".join(body))
    for member, found in sorted(_members(value).items()):
        if member.startswith("_") or not getattr(found, "__doc__", None):
            continue
        if isinstance(found, property):
            body.append(f":::{{py:property}} {member}\n\n{_docstring(found)}\n:::")
        elif inspect.isfunction(found):
            call = re.sub(r"-> T$", "-> Self", re.sub(r"^\(self(?:: \w+)?(?:, )?", "(", _signature(found)))
            body.append(f":::{{py:method}} {member}{call}\n\n{_docstring(found)}\n:::")
    return _directive("class", [f"{name}{_signature(value).removesuffix(' -> None')}"], "\n\n".join(body))


def _members(value: type) -> dict[str, Any]:
    """What a class defines, itself and in bases of the package that no other entry describes."""
    others = [base for base in value.__mro__[1:] if base in _documented()]
    bases = [
        base
        for base in reversed(value.__mro__)
        if base is value or (_own(base) and not any(issubclass(other, base) for other in others))
    ]
    return {name: found for base in bases for name, found in vars(base).items()}


@cache
def _documented() -> frozenset[type]:
    """The classes that have an entry of their own."""
    modules = [
        importlib.import_module(f"mindtorch_v2.{path}")
        for path in MODULES
        if importlib.util.find_spec(f"mindtorch_v2.{path}")
    ]
    found = [getattr(module, name) for module in [torch, *modules] for name in dir(module) if not name.startswith("_")]
    return frozenset(value for value in found if isinstance(value, type))


def _own(value: Any) -> bool:
    return callable(value) and str(getattr(value, "__module__", "")).startswith("mindtorch_v2") and bool(value.__doc__)


def _shows(module: Any, path: str) -> list[str]:
    """The public names of a module: its list, or what is written in it."""
    listed = getattr(module, "__all__", None)
    names = listed or [
        name
        for name in dir(module)
        if getattr(getattr(module, name), "__module__", "").startswith(f"mindtorch_v2.{path}")
    ]
    return sorted({name for name in names if not name.startswith("_") and _own(getattr(module, name))}, key=str.lower)


def family_pages() -> Iterator[tuple[str, str]]:
    """(file name, text) of the functions of `torch` that are operators, by family."""
    for family in sorted({op.family for op in table.OPS.values()}):
        title, intro = _heading(family)
        names = [
            base
            for base, found in table.OVERLOADS.items()
            if found[0].family == family and base in _functions_of_torch()
        ]
        if names:
            entries = [operator_entry(base, "function", base) for base in sorted(names)]
            yield f"torch-{family}", _page(f"torch: {title.lower()}", "torch", intro, entries)


def _heading(family: str) -> tuple[str, str]:
    """The title of a family's file and the text below it."""
    path = pathlib.Path(documentation.__file__).parent / "docs" / f"{family}.md"
    title, _, intro = path.read_text(encoding="utf-8").partition("\n## ")[0].partition("\n")
    return title.removeprefix("# "), intro.strip()


def _operator_of(name: str, value: Any) -> str | None:
    """The operator that a function is, if it is one."""
    base = {"logsigmoid": "log_sigmoid"}.get(name, name)
    return base if base in table.OVERLOADS and value is function_of(base, "function") else None


def _functions_of_torch() -> set[str]:
    return {
        base
        for base, found in table.OVERLOADS.items()
        if not base.startswith("_") and any(op.function and not op.namespace for op in found)
    }


def _page(title: str, module: str, intro: str, entries: list[str]) -> str:
    head = f"# {title}\n\n```{{py:currentmodule}} {module}\n```\n\n"
    return head + (f"{escaped(intro)}\n\n" if intro else "") + "\n".join(entries)


def torch_page() -> str:
    """Functions and classes of `torch` that are not operators."""
    names = [
        name
        for name in dir(torch)
        if not name.startswith("_")
        and name not in _functions_of_torch()
        and name != "Tensor"
        and _own(getattr(torch, name))
    ]
    return _page(
        "torch: tensors, types, settings", "torch", "", [python_entry(name, getattr(torch, name)) for name in names]
    )


def tensor_page() -> str:
    """The methods and properties of Tensor."""
    entries = []
    for name in dir(torch.Tensor):
        value = inspect.getattr_static(torch.Tensor, name)
        if name.startswith("_"):
            continue
        if isinstance(value, property):
            entries.append(f"::::{{py:property}} Tensor.{name}\n\n{_docstring(value)}\n::::\n")
        elif (
            inspect.isfunction(value) and not value.__code__.co_filename.startswith("<") or name not in table.OVERLOADS
        ):
            if callable(value):
                call = re.sub(r"^\((?:self|input|tensor)(?:: \w+)?(?:, )?", "(", _signature(value))
                entries.append(_directive("method", [f"Tensor.{name}{call}"], _docstring(value)))
        else:
            entries.append(_short_method(name))
    return _page("torch.Tensor", "torch", "", [f"{_docstring(torch.Tensor)}\n", *entries])


def _short_method(name: str) -> str:
    """A method that is an operator: its signatures and summary; the rest stands with the function."""
    summary = (documentation.text_of(name) or "").partition("\n\n")[0].partition(">>> ")[0].strip()
    calls = [f"Tensor.{name}{call[call.index('(') :]}" for call in documentation.calls(name, "method")]
    return _directive("method", calls, escaped(summary))


def module_page(path: str, title: str) -> str:
    """A module's public functions and classes."""
    module = importlib.import_module(f"mindtorch_v2.{path}")
    entries = []
    for name in _shows(module, path):
        value = getattr(module, name)
        base = _operator_of(name, value)
        entries.append(operator_entry(base, "function", name) if base else python_entry(name, value))
    intro = inspect.cleandoc(module.__doc__ or "")
    return _page(f"torch.{path}: {title[0].lower()}{title[1:]}", f"torch.{path}", intro, entries)


def namespace_page(path: str, title: str) -> str:
    """A module whose functions are operators."""
    bases = sorted(base for base, found in table.OVERLOADS.items() if any(op.namespace == path for op in found))
    entries = [operator_entry(base, "function", base.removeprefix(f"{path}_")) for base in bases]
    return _page(f"torch.{path}: {title[0].lower()}{title[1:]}", f"torch.{path}", "", entries)


def pages() -> dict[str, str]:
    """All pages of the reference by file name, in the order of the table of contents."""
    made = {"torch-other": torch_page(), "tensor": tensor_page(), **dict(family_pages())}
    made |= {path: namespace_page(path, title) for path, title in NAMESPACES.items()}
    for path, title in MODULES.items():
        if importlib.util.find_spec(f"mindtorch_v2.{path}"):
            made[path.replace(".", "-")] = module_page(path, title)
    listed = "\n".join(made)
    intro = "# API reference\n\nNames are those of PyTorch; `torch` is `import mindtorch_v2 as torch`.\n"
    made["index"] = f"{intro}\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    return made
