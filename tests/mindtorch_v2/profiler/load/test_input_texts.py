"""Arguments of a loaded trace stay texts until they are asked for, and are exported as the file had them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mindtorch_v2.profiler import load
from mindtorch_v2.profiler.load import native_reader, nesting
from mindtorch_v2.profiler.record.descriptions import InputDescription
from mindtorch_v2.profiler.store.input_texts import InputTexts

from .traces import write, x

READERS = ["native", "python"] if native_reader._native is not None else ["python"]
WHOLE = {"Input_Dims": [[2, 3], []], "Input_Strides": [[3, 1], []], "Input_type": ["float", "Scalar"]}


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "python":
        monkeypatch.setattr(native_reader, "_native", None)
        monkeypatch.setattr(nesting, "_native", None)
    return str(request.param)


def loaded(tmp_path: Path, events: list[Any]) -> Any:
    return load(write(tmp_path / "t.json", events))


def exported(profile: Any, tmp_path: Path) -> dict[str, dict[str, Any]]:
    """The arguments of events by name."""
    profile.export_chrome_trace(tmp_path / "again.json")
    lines = (tmp_path / "again.json").read_text()
    return {event["name"]: event["args"] for event in json.loads(lines)["traceEvents"] if event["ph"] == "X"}


def described(profile: Any) -> int:
    inputs = profile.store.inputs
    assert isinstance(inputs, InputTexts)
    return len(inputs._descriptions)


def test_nothing_is_described_before_it_is_asked_for(tmp_path: Path, reader: str) -> None:
    """But for the first that may have shapes: whether there are any is a fact of the whole trace."""
    profile = loaded(
        tmp_path, [x("cpu_op", f"aten::f{i}", 10 * i, 5, **WHOLE, Concrete_Inputs=["", str(i)]) for i in range(20)]
    )
    assert len(profile.store.inputs) == 20 and profile.store.metadata.options.record_shapes and described(profile) == 1
    exported(profile, tmp_path)
    assert described(profile) == 1
    assert profile.store.inputs[7].values == (None, 7) and described(profile) == 2
    assert [event.concrete_inputs[1] for event in profile.events()] == list(range(20)) and described(profile) == 20


def test_it_is_a_sequence(tmp_path: Path, reader: str) -> None:
    inputs = loaded(tmp_path, [x("kernel", "k", i, 1, grid=[i, 1, 1]) for i in range(3)]).store.inputs
    want = tuple(InputDescription((), (), (), (), (("grid", (i, 1, 1)),)) for i in range(3))
    assert inputs == want == tuple(inputs) and repr(inputs) == repr(want)
    assert inputs[-1] == want[2] and inputs[:2] == want[:2] and list(reversed(inputs)) == [*reversed(want)]
    assert inputs != want[:2] and inputs != list(want)
    with pytest.raises(IndexError):
        inputs[3]


def test_exports_say_what_the_file_said(tmp_path: Path, reader: str) -> None:
    """Also where a description keeps less than the text, such as the texts among an operator's values."""
    values = ["", "trunc"]
    args = exported(
        loaded(
            tmp_path,
            [
                x("cpu_op", "aten::div", 0, 9, **WHOLE, Concrete_Inputs=values, more={"a": [1.5, None]}),
                x("kernel", "k", 1, 3, grid=[4, 1, 1], shared=0.25),
            ],
        ),
        tmp_path,
    )
    assert args["aten::div"]["Concrete Inputs"] == values and args["aten::div"]["more"] == {"a": [1.5, None]}
    assert args["k"]["grid"] == [4, 1, 1] and args["k"]["shared"] == 0.25


@pytest.mark.parametrize("value", ["a\x01b", "a\nb", "é", "\x7f", "\ud800", 'q"uote\\', "tab\t"])
def test_characters(tmp_path: Path, reader: str, value: str) -> None:
    """Whatever a text holds, the export is JSON that says it, one event a line. Some writers leave control characters as they are."""
    for ascii_only in (True, False) if value != "\ud800" else (True,):
        text = json.dumps([x("kernel", "k", 1, 3, note=value)], ensure_ascii=ascii_only)
        raw = text.replace("\\u0001", "\x01").replace("\\t", "\t").replace("\\n", "\n") if not ascii_only else text
        (tmp_path / "t.json").write_bytes(raw.encode("utf-8"))
        profile = load(tmp_path / "t.json")
        assert exported(profile, tmp_path)["k"]["note"] == value
        assert profile.store.inputs[0].keywords == (("note", value),)
        assert all(line.isprintable() for line in (tmp_path / "again.json").read_text().splitlines())


@pytest.mark.parametrize("missing", ["Input_Dims", "Input_Strides", "Input_type", "Concrete_Inputs"])
def test_what_is_not_said_is_filled_in(tmp_path: Path, reader: str, missing: str) -> None:
    """Traces of older versions lack strides or values; what is exported has them, as every trace of this version."""
    given = {key: value for key, value in {**WHOLE, "Concrete_Inputs": ["", "1"]}.items() if key != missing}
    args = exported(
        loaded(
            tmp_path,
            [x("cpu_op", "aten::f", 0, 9, **given), x("cpu_op", "aten::g", 20, 9, **WHOLE, Concrete_Inputs=["", "1"])],
        ),
        tmp_path,
    )
    if missing != "Input_Dims":
        assert {"Input Dims", "Input Strides", "Input type", "Concrete Inputs"} <= set(args["aten::f"])
    else:
        assert "Input Strides" not in args["aten::f"]


@pytest.mark.parametrize(
    "given",
    [
        {"Input_type": ["float", "float"]},
        {"Input_type": ["float"], "Input_Strides": [[1], [1]], "Input_Dims": [[3]]},
        {"Input_Dims": [[3]], "Concrete_Inputs": ["", "1", "2"]},
    ],
)
def test_lists_of_different_lengths_can_be_used_and_saved(tmp_path: Path, reader: str, given: dict[str, Any]) -> None:
    """Foreign traces say of some arguments more than of others."""
    events = [x("cpu_op", "aten::f", 0, 9, **given), x("cpu_op", "aten::g", 20, 9, **WHOLE)]
    profile = loaded(tmp_path, events)
    profile.memory_profile()
    told = profile.event_tree.roots[0].extra_fields.inputs
    assert len(told) == len(profile.store.inputs_of(0).shapes)
    profile.save(tmp_path / "t.prof")
    assert load(tmp_path / "t.prof").store == profile.store


def test_a_stream_among_the_arguments_is_written_once(tmp_path: Path, reader: str) -> None:
    event = x("kernel", "k", 1, 3, device=0, stream=7)
    event["tid"] = -1
    profile = loaded(tmp_path, [event])
    profile.export_chrome_trace(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text().count('"stream"') == 1
    assert profile.store.inputs.have_keyword("stream") == [True] and profile.store.inputs.have_keyword("device") == [
        False
    ]
