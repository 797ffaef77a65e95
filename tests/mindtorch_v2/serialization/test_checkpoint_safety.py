"""Checkpoints that are hostile or damaged: nothing of them runs, nothing is allocated that they only announce, one
kind of error.
"""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import pickle
import random
import struct
import subprocess
import sys
import zipfile
from collections import OrderedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mindtorch_v2 as torch
from mindtorch_v2 import _dtype
from mindtorch_v2._serialization import unpickler

from ..profiler.load.damage import damaged

TENSOR = (
    b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n%s\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x0atQK\x00K\x0a\x85K\x01\x85"
    b"\x89ccollections\nOrderedDict\n)RtR"
)


def archive(pickled: bytes, data: bytes = bytes(40), compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression, compresslevel=1) as z:
        z.writestr("archive/data.pkl", pickled)
        z.writestr("archive/data/0", data)
    buffer.seek(0)
    return buffer


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


# ---- what a file announces
# --------------------------------------------------------------------------------------------

_LIMITED = """
import io, pickle, resource, sys
import mindtorch_v2 as torch
with open(sys.argv[1], "rb") as f:
    cases = pickle.load(f)
torch.load(io.BytesIO(cases[0][1]))
with open("/proc/self/statm") as f:
    size = int(f.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (96 << 20), -1))
for name, data, expected in cases:
    try:
        found = repr(torch.load(io.BytesIO(data)))
    except (RuntimeError, pickle.UnpicklingError) as error:
        found = f"{type(error).__name__}: {error}"
    assert expected in found and "MemoryError" not in found, (name, found)
print("all", len(cases))
"""


def announcements() -> list[tuple[str, bytes, str]]:
    """Small files that announce much: (name, file, what loading gives)."""
    zeros = bytes(1 << 27)
    overlapping = io.BytesIO()
    with zipfile.ZipFile(overlapping, "w") as z:
        z.writestr("archive/data.pkl", b"\x80\x02N.")
        z.writestr("archive/data/0", bytes(1 << 20))
        z.filelist += [z.getinfo("archive/data/0")] * 400
    return [
        ("nothing", archive(b"\x80\x02].").getvalue(), "[]"),
        ("memo", archive(b"\x80\x02]r\xff\xff\xff\x0f.").getvalue(), "[]"),
        ("bytearray8", archive(b"\x80\x05\x96" + struct.pack("<Q", 1 << 33) + b".").getvalue(), "UnpicklingError"),
        ("binbytes8", archive(b"\x80\x04\x8e" + struct.pack("<Q", 1 << 33) + b".").getvalue(), "UnpicklingError"),
        (
            "bytearray of a length",
            archive(b"\x80\x02cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R.").getvalue(),
            "a bytearray of 2147483647",
        ),
        (
            "ten elements of a large record",
            archive(TENSOR % b"FloatStorage" + b".", zeros, zipfile.ZIP_DEFLATED).getvalue(),
            "would grow from",
        ),
        ("a large pickle", archive(zeros, compression=zipfile.ZIP_DEFLATED).getvalue(), "would grow from"),
        (
            "ten elements of a medium record",
            archive(TENSOR % b"FloatStorage" + b".", bytes(1 << 24), zipfile.ZIP_DEFLATED).getvalue(),
            "holds 16777216 bytes, 40 are needed",
        ),
        ("records on top of each other", overlapping.getvalue(), "its records are larger than the file"),
        (
            "appending to a huge expanded tensor",
            archive(
                TENSOR.replace(b"K\x0a\x85K\x01\x85", b"J\xff\xff\xff\x7f\x85K\x00\x85") % b"FloatStorage"
                + b"(K\x01\x90."
            ).getvalue(),
            "add to sets",
        ),
    ]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_memory_is_bounded_by_what_the_file_holds(tmp_path):
    (tmp_path / "cases").write_bytes(pickle.dumps(announcements()))
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(tmp_path / "cases")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(torch.__file__).parents[1])},
    )
    assert done.returncode == 0 and done.stdout == "all 10\n", done.stderr[-2000:]


def test_a_compressed_checkpoint_is_read():
    assert torch.load(
        archive(TENSOR % b"FloatStorage" + b".", struct.pack("<10f", *range(10)), zipfile.ZIP_DEFLATED)
    ).tolist() == list(range(10))


def test_views_of_several_types_of_one_storage():
    base = torch.arange(5, dtype=torch.uint8)
    back = torch.load(
        archive(
            b"("
            + TENSOR % b"ByteStorage"
            + TENSOR.replace(b"K\x0atQ", b"K\x02tQ").replace(b"K\x0a\x85", b"K\x02\x85") % b"FloatStorage"
            + b"t.",
            bytes([0, 0, 128, 63]) * 2 + b"\0\0",
        )
    )
    assert back[0].shape == (10,) and back[1].tolist() == [1, 1]
    back[0][0] = 1
    assert back[1][0].item() != 1 and base.shape == (5,)


# ---- what a file may do
# -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pickled, problem",
    [
        (
            b"\x80\x02ctorch\nfloat32\n}" + text("itemsize") + b"K\x01sb.",
            "Can only build Tensor, Parameter, OrderedDict",
        ),
        (b"\x80\x02ctorch\nfloat32\nN}" + text("name") + text("x") + b"s\x86b.", "Can only build"),
        (b"\x80\x02ctorch.nn.parameter\nParameter\n}" + text("grad") + b"K\x01sb.", "Can only build"),
        (TENSOR % b"FloatStorage" + b"}" + text("data") + b"K\x01sb.", "Can only build"),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}" + text("__doc__") + b"K\x01sb.", "Can only build"),
        (b"\x80\x02ctorch.nn.parameter\nParameter\n)\x81.", "__new__ on unsafe class"),
        (b"\x80\x02ctorch\nSize\n)\x81.", "__new__ on unsafe class"),
        (b"\x80\x02K\x01)R.", "unrecognized function 1"),
        (b"\x80\x02ctorch\nFloatStorage\n)R.", "unrecognized function"),
        (b"\x80\x02\x82\x01.", "Unsupported operand"),
        (b"\x80\x02(ccollections\nOrderedDict\no.", "Unsupported operand"),
        (b"(icollections\nOrderedDict\n.", "Unsupported operand"),
        (b"\x80\x05\x97.", "Unsupported operand"),
        (b"\x80\x02" + TENSOR % b"FloatStorage" + b"K\x00K\x01s.", "set items of dicts"),
        (b"\x80\x02" + text("x") + b"Q.", "unknown reference 'x'"),
    ],
)
def test_only_plain_values_are_built(pickled, problem):
    with pytest.raises(pickle.UnpicklingError, match=problem):
        torch.load(archive(pickled))
    assert (
        _dtype.float32.itemsize == 4 and _dtype.float32.name == "float32" and torch.nn.Parameter.__name__ == "Parameter"
    )


def test_keys_that_break_the_stack_or_never_end():
    deep = b"\x80\x02})" + b"\x85" * 300_000 + b"K\x01s."
    wide = b"\x80\x02}K\x01" + b"2\x86" * 60 + b"K\x01s."  # a pair of the same pair, sixty times: 2 ** 60 parts
    for pickled in (deep, wide, wide.replace(b"}", b"]", 1).replace(b"K\x01s.", b"a(cbuiltins\nset\n", 1)[:-1] + b"."):
        with pytest.raises(pickle.UnpicklingError):
            torch.load(archive(pickled))
    in_a_set = b"\x80\x02cbuiltins\nset\n]K\x01" + b"2\x86" * 60 + b"a\x85R."
    with pytest.raises(pickle.UnpicklingError, match="a key is too large"):
        torch.load(archive(in_a_set))
    assert torch.load(archive(pickle.dumps({(1, (2, "x")): frozenset([(3,)])}, 4))) == {
        (1, (2, "x")): frozenset([(3,)])
    }


def test_messages_are_short_whatever_they_show():
    many = b"K\x01" + b"2\x86" * 60
    with pytest.raises(pickle.UnpicklingError) as caught:
        torch.load(archive(b"\x80\x02" + many + b"Q."))
    assert len(str(caught.value)) < 500


def test_what_a_state_dict_of_pytorch_holds_is_built():
    """An OrderedDict with an attribute, sets, complex numbers, bytes, a defaultdict, a Counter, in every protocol."""
    value = OrderedDict(a=1)
    value._metadata = OrderedDict(version=1)
    for protocol in range(2, 6):
        back = torch.load(
            archive(pickle.dumps([value, {1, 2}, 1j, b"x", bytearray(b"y"), frozenset("z"), slice(1, 2)], protocol))
        )
        assert back == [value, {1, 2}, 1j, b"x", bytearray(b"y"), frozenset("z"), slice(1, 2)] and back[
            0
        ]._metadata == OrderedDict(version=1)


# ---- types that do not exist here
# -------------------------------------------------------------------------------------


@pytest.mark.parametrize("restricted", [True, False])
def test_a_type_that_does_not_exist_here_is_named(restricted):
    pickled = b"\x80\x02}" + text("model.weight") + TENSOR % b"QInt8Storage" + b"s."
    with pytest.raises(NotImplementedError, match="torch.qint8, which does not exist here .* Convert the checkpoint"):
        torch.load(archive(pickled), weights_only=restricted)


def test_the_tensor_is_named_too():
    pickled = b"\x80\x02}(" + text("fine") + b"K\x01" + text("model.weight") + TENSOR % b"QInt8Storage" + b"u."
    with pytest.raises(NotImplementedError, match="'model.weight' has the type torch.qint8"):
        torch.load(archive(pickled))
    with pytest.raises(
        NotImplementedError, match="'dtype' has the type torch.quint4x2|a value has the type torch.quint4x2"
    ):
        torch.load(archive(b"\x80\x02}(" + text("dtype") + b"ctorch\nquint4x2\nu."))


def test_tensors_that_name_their_type():
    """How PyTorch writes types without a storage class."""
    pickled = (
        (TENSOR % b"UntypedStorage").replace(b"_rebuild_tensor_v2", b"_rebuild_tensor_v3").replace(b"K\x0atQ", b"K(tQ")
    )
    pickled = pickled[:-2] + b"ctorch\nint32\ntR."
    assert torch.load(archive(pickled, struct.pack("<10i", *range(10)))).tolist() == list(range(10))


def test_a_pickle_module_is_refused():
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        torch.load(archive(b"\x80\x02N."), pickle_module=io, weights_only=True)
    assert torch.load(archive(b"\x80\x02N."), pickle_module=pickle) is None


# ---- damage
# -----------------------------------------------------------------------------------------------------------


def _saved() -> bytes:
    buffer = io.BytesIO()
    torch.save(
        {"w": torch.arange(8.0), "p": torch.nn.Parameter(torch.ones(2, 3)), "n": [1, "two", None, 2.5, (3, {4})]},
        buffer,
    )
    return buffer.getvalue()


@pytest.fixture(scope="module")
def parts():
    with zipfile.ZipFile(io.BytesIO(_saved())) as z:
        return {name: z.read(name) for name in z.namelist()}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_damaged_records_are_one_kind_of_error(parts, rng: random.Random, times: int):
    """The archive is whole, its records are not: so the damage reaches the reader of pickles."""
    buffer = io.BytesIO()
    hurt = rng.choice(["archive/data.pkl"] * 6 + list(parts))
    with zipfile.ZipFile(buffer, "w") as z:
        for name, data in parts.items():
            z.writestr(name, damaged(data, rng, times) if name == hurt else data)
    buffer.seek(0)
    with contextlib.suppress(RuntimeError, pickle.UnpicklingError):
        torch.load(buffer)


@settings(max_examples=200, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_damaged_archives_are_one_kind_of_error(rng: random.Random, times: int):
    with contextlib.suppress(RuntimeError, pickle.UnpicklingError):
        torch.load(io.BytesIO(damaged(_saved(), rng, times)))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [bytes([c]) for c in sorted({*unpickler.RestrictedMachine.dispatch} - {ord(".")})]
            + [
                b"K\x01",
                text("a"),
                b"]",
                b"}",
                b")",
                b"(",
                b"ctorch\nfloat32\n",
                b"cbuiltins\nset\n",
                b"ccollections\nOrderedDict\n",
                TENSOR % b"FloatStorage",
                b"\x85",
                b"q\x01",
                b"h\x01",
                b"R",
                b"b",
                b"\x81",
                b"u",
                b"e",
                b"a",
                b"s",
                b"t",
            ]
        ),
        max_size=25,
    )
)
def test_random_programs_are_read_or_refused(ops):
    with contextlib.suppress(RuntimeError, pickle.UnpicklingError):
        torch.load(archive(b"\x80\x04" + b"".join(ops) + b"."))
