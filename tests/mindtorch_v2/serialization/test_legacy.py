"""Checkpoints of the format before PyTorch 1.6, and files that are mapped into memory."""

import base64
import contextlib
import io
import pickle
import zlib

import numpy as np
import pytest

import mindtorch_v2 as torch

# torch.save({"a": a, "t": a.t(), "i": int16}, _use_new_zipfile_serialization=False), with a = arange(6.).reshape(2, 3)
OF_PYTORCH = (
    "c-n1{&raJw5XRSQC!yPh1_~5fT5(J-QDfx~oZx`CtV$ud_)=M^vx>K}ycv5OiAs@jNmTj_J#ggJcmyO4jAL4Q$jZBx$Fslh`)0;}"
    "i|FCc+5N$f+l#%%jDNYa>6`+qdo{+`I5B7f6ZsRBq}s$_QG-{dKaoa^l&|8U9>l<Zd4h^~HCBGAf2tJhDL8enM8z~T2|`J7&!#UO"
    "Bb24%IXT0`BdACx%l>LwR2_g7ph<$T;b*9$RQQSdp6O`lql#0L_!CzEuh+dw4yVq+NP%5k5oeJZV818|aJ+TuIcjyfpF6Fl+jZS`"
    "2TDsH!8juy<#U9}rDT#zdjV_GmevAZTn7|6QUOxpRD4Z_DpA8z9iRa5sRu6+UiF~5G>fnvl9$j9S8BZu3yoT?VN1S%4Qb_4o7Z8E"
    "dV{dlgY6|s!%l&Eiqg;L_AkoYXMDTeqIc6hgk8dO!tX63%;BB1=J38i?<0KZ!N+{G-}2F}xNfbo%vFQ4Vp)u{GW&ncj_Ej|hxUy2"
    "&B-ISs*+#"
)


def old_file():
    return io.BytesIO(zlib.decompress(base64.b85decode(OF_PYTORCH)))


def written(value):
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    return file


@pytest.mark.parametrize("weights_only", [True, False])
def test_a_file_of_pytorch(weights_only):
    found = torch.load(old_file(), weights_only=weights_only)
    assert found["a"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert found["i"].dtype == torch.int16 and found["i"].tolist() == [1, 2]
    found["a"][0, 0] = 7
    assert found["t"][0, 0] == 7  # they share memory, as they did


def test_a_file_by_its_path_and_on_another_device(tmp_path):
    path = tmp_path / "old.pth"
    path.write_bytes(old_file().getvalue())
    assert torch.load(path, map_location="meta")["t"].shape == (3, 2)
    assert torch.load(str(path), map_location=lambda storage, location: storage)["i"].tolist() == [1, 2]


def test_what_is_written_here_is_read_here():
    value = {
        "w": torch.randn(2, 3, dtype=torch.float64),
        "b": torch.tensor([1.5], dtype=torch.bfloat16),
        "n": [1, None],
    }
    found = torch.load(written(value))
    assert torch.equal(found["w"], value["w"]) and torch.equal(found["b"], value["b"]) and found["n"] == [1, None]
    assert written(1).getvalue().startswith(old_file().getvalue()[:14])


def test_two_in_one_file():
    file = io.BytesIO(written(torch.tensor([1])).getvalue() + written(torch.tensor([2])).getvalue())
    assert [torch.load(file).item(), torch.load(file).item()] == [1, 2]


def test_a_class_is_refused_unless_it_is_trusted():
    file = written(torch.nn.Linear(2, 1))
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global: GLOBAL torch.nn.modules.linear.Linear"):
        torch.load(file)
    file.seek(0)
    assert isinstance(torch.load(file, weights_only=False), torch.nn.Linear)


def test_a_cut_file_is_an_error_wherever_it_is_cut():
    whole = old_file().getvalue()
    for length in range(len(whole)):
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            torch.load(io.BytesIO(whole[:length]))


def test_a_changed_byte_is_an_error_or_another_value_and_nothing_else():
    whole = old_file().getvalue()
    for offset in range(14, len(whole)):  # after the magic number
        changed = bytearray(whole)
        changed[offset] ^= 0x15
        with contextlib.suppress(RuntimeError, NotImplementedError, pickle.UnpicklingError):
            torch.load(io.BytesIO(bytes(changed)))


def test_a_storage_that_claims_more_than_the_file_has():
    whole = bytearray(written(torch.tensor([3], dtype=torch.int64)).getvalue())
    whole[-16:-8] = (1 << 40).to_bytes(8, "little")
    with pytest.raises(RuntimeError, match="storage '0' is not whole"):
        torch.load(io.BytesIO(bytes(whole)))


def test_one_memory_in_two_types_is_refused():
    x = torch.zeros(2, dtype=torch.float32)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        written([x, x.view(torch.int32)])


def test_a_mapped_file_is_not_copied_and_not_written_to(tmp_path):
    path = tmp_path / "new.pt"
    torch.save({"w": torch.arange(5), "e": torch.empty(0)}, path)
    found = torch.load(path, mmap=True)
    owner = found["w"].numpy()
    while isinstance(owner, np.ndarray):
        owner = owner.base
    assert type(getattr(owner, "obj", owner)).__name__ == "mmap"
    found["w"][0] = 9
    assert found["w"].tolist() == [9, 1, 2, 3, 4] and found["e"].shape == (0,)
    assert torch.load(path)["w"].tolist() == [0, 1, 2, 3, 4]


def test_what_cannot_be_mapped(tmp_path):
    path = tmp_path / "old.pth"
    path.write_bytes(old_file().getvalue())
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(path, mmap=True)
    with pytest.raises(ValueError, match="f must be a string filename in order to use mmap argument"):
        torch.load(old_file(), mmap=True)
