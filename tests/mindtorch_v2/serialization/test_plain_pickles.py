"""Plain pickles that PyTorch 2.13 wrote (`pickle.dumps(x, 2)`), read in programs whose torch is this package."""

from __future__ import annotations

import base64
import io
import os
import pathlib
import pickle
import subprocess
import sys

import pytest

import mindtorch_v2 as torch

SOURCES = str(pathlib.Path(torch.__file__).parents[1])
WRITTEN = {
    "transposed": (
        "gAJjdG9yY2guX3V0aWxzCl9yZWJ1aWxkX3RlbnNvcl92MgpxAChjdG9yY2guc3RvcmFnZQpfbG9hZF9mcm9tX2J5dGVzCnEBY19j"
        "b2RlY3MKZW5jb2RlCnECWBkBAADCgALCigpsw7zCnEbDuSBqwqhQGS7CgAJNw6kDLsKAAn1xAChYEAAAAHByb3RvY29sX3ZlcnNp"
        "b25xAU3DqQNYDQAAAGxpdHRsZV9lbmRpYW5xAsKIWAoAAAB0eXBlX3NpemVzcQN9cQQoWAUAAABzaG9ydHEFSwJYAwAAAGludHEG"
        "SwRYBAAAAGxvbmdxB0sEdXUuwoACKFgHAAAAc3RvcmFnZXEAY3RvcmNoCkZsb2F0U3RvcmFnZQpxAVgOAAAAOTQ2Njk5OTA0MzQw"
        "MTZxAlgDAAAAY3B1cQNLBE50cQRRLsKAAl1xAFgOAAAAOTQ2Njk5OTA0MzQwMTZxAWEuBAAAAAAAAAAAAAAAAADCgD8AAABAAABA"
        "QHEDWAYAAABsYXRpbjFxBIZxBVJxBoVxB1JxCEsASwJLAoZxCUsBSwKGcQqJY2NvbGxlY3Rpb25zCk9yZGVyZWREaWN0CnELKVJx"
        "DHRxDVJxDi4="
    ),
    "parameter": (
        "gAJjdG9yY2guX3V0aWxzCl9yZWJ1aWxkX3BhcmFtZXRlcgpxAGN0b3JjaC5fdXRpbHMKX3JlYnVpbGRfdGVuc29yX3YyCnEBKGN0"
        "b3JjaC5zdG9yYWdlCl9sb2FkX2Zyb21fYnl0ZXMKcQJjX2NvZGVjcwplbmNvZGUKcQNYDQEAAMKAAsKKCmzDvMKcRsO5IGrCqFAZ"
        "LsKAAk3DqQMuwoACfXEAKFgQAAAAcHJvdG9jb2xfdmVyc2lvbnEBTcOpA1gNAAAAbGl0dGxlX2VuZGlhbnECwohYCgAAAHR5cGVf"
        "c2l6ZXNxA31xBChYBQAAAHNob3J0cQVLAlgDAAAAaW50cQZLBFgEAAAAbG9uZ3EHSwR1dS7CgAIoWAcAAABzdG9yYWdlcQBjdG9y"
        "Y2gKRmxvYXRTdG9yYWdlCnEBWA4AAAA5NDY2OTk5MDUyOTE2OHECWAMAAABjcHVxA0sBTnRxBFEuwoACXXEAWA4AAAA5NDY2OTk5"
        "MDUyOTE2OHEBYS4BAAAAAAAAAAAAwoA/cQRYBgAAAGxhdGluMXEFhnEGUnEHhXEIUnEJSwBLAYVxCksBhXELiWNjb2xsZWN0aW9u"
        "cwpPcmRlcmVkRGljdApxDClScQ10cQ5ScQ+IaAwpUnEQh3ERUnESLg=="
    ),
    "named_parameter": (
        "gAJjdG9yY2guX3V0aWxzCl9yZWJ1aWxkX3BhcmFtZXRlcl93aXRoX3N0YXRlCnEAKGN0b3JjaC5fdXRpbHMKX3JlYnVpbGRfdGVu"
        "c29yX3YyCnEBKGN0b3JjaC5zdG9yYWdlCl9sb2FkX2Zyb21fYnl0ZXMKcQJjX2NvZGVjcwplbmNvZGUKcQNYDQEAAMKAAsKKCmzD"
        "vMKcRsO5IGrCqFAZLsKAAk3DqQMuwoACfXEAKFgQAAAAcHJvdG9jb2xfdmVyc2lvbnEBTcOpA1gNAAAAbGl0dGxlX2VuZGlhbnEC"
        "wohYCgAAAHR5cGVfc2l6ZXNxA31xBChYBQAAAHNob3J0cQVLAlgDAAAAaW50cQZLBFgEAAAAbG9uZ3EHSwR1dS7CgAIoWAcAAABz"
        "dG9yYWdlcQBjdG9yY2gKRmxvYXRTdG9yYWdlCnEBWA4AAAA5NDY2OTk5MDUyOTMxMnECWAMAAABjcHVxA0sBTnRxBFEuwoACXXEA"
        "WA4AAAA5NDY2OTk5MDUyOTMxMnEBYS4BAAAAAAAAAAAAwoA/cQRYBgAAAGxhdGluMXEFhnEGUnEHhXEIUnEJSwBLAYVxCksBhXEL"
        "iWNjb2xsZWN0aW9ucwpPcmRlcmVkRGljdApxDClScQ10cQ5ScQ+IaAwpUnEQfXERWAQAAABub3RlcRJYAQAAAG5xE3N0cRRScRUu"
    ),
    "bfloat16": (
        "gAJjdG9yY2guX3V0aWxzCl9yZWJ1aWxkX3RlbnNvcl92MgpxAChjdG9yY2guc3RvcmFnZQpfbG9hZF9mcm9tX2J5dGVzCnEBY19j"
        "b2RlY3MKZW5jb2RlCnECWA4BAADCgALCigpsw7zCnEbDuSBqwqhQGS7CgAJNw6kDLsKAAn1xAChYEAAAAHByb3RvY29sX3ZlcnNp"
        "b25xAU3DqQNYDQAAAGxpdHRsZV9lbmRpYW5xAsKIWAoAAAB0eXBlX3NpemVzcQN9cQQoWAUAAABzaG9ydHEFSwJYAwAAAGludHEG"
        "SwRYBAAAAGxvbmdxB0sEdXUuwoACKFgHAAAAc3RvcmFnZXEAY3RvcmNoCkJGbG9hdDE2U3RvcmFnZQpxAVgOAAAAOTQ2Njk5OTA1"
        "OTAyNTZxAlgDAAAAY3B1cQNLAU50cQRRLsKAAl1xAFgOAAAAOTQ2Njk5OTA1OTAyNTZxAWEuAQAAAAAAAADDgD9xA1gGAAAAbGF0"
        "aW4xcQSGcQVScQaFcQdScQhLAEsBhXEJSwGFcQqJY2NvbGxlY3Rpb25zCk9yZGVyZWREaWN0CnELKVJxDHRxDVJxDi4="
    ),
    "uint16": (
        "gAJjdG9yY2guX3V0aWxzCl9yZWJ1aWxkX3RlbnNvcl92MwpxAChjdG9yY2guc3RvcmFnZQpfbG9hZF9mcm9tX2J5dGVzCnEBY19j"
        "b2RlY3MKZW5jb2RlCnECWBQBAADCgALCigpsw7zCnEbDuSBqwqhQGS7CgAJNw6kDLsKAAn1xAChYEAAAAHByb3RvY29sX3ZlcnNp"
        "b25xAU3DqQNYDQAAAGxpdHRsZV9lbmRpYW5xAsKIWAoAAAB0eXBlX3NpemVzcQN9cQQoWAUAAABzaG9ydHEFSwJYAwAAAGludHEG"
        "SwRYBAAAAGxvbmdxB0sEdXUuwoACKFgHAAAAc3RvcmFnZXEAY3RvcmNoLnN0b3JhZ2UKVW50eXBlZFN0b3JhZ2UKcQFYDgAAADk0"
        "NjY5OTkwNjI3MzEycQJYAwAAAGNwdXEDSwJOdHEEUS7CgAJdcQBYDgAAADk0NjY5OTkwNjI3MzEycQFhLgIAAAAAAAAABwBxA1gG"
        "AAAAbGF0aW4xcQSGcQVScQaFcQdScQhLAEsBhXEJSwGFcQqJY2NvbGxlY3Rpb25zCk9yZGVyZWREaWN0CnELKVJxDGN0b3JjaAp1"
        "aW50MTYKcQ10cQ5ScQ8u"
    ),
    "meta": (
        "gAJjdG9yY2guX3V0aWxzCl9yZWJ1aWxkX21ldGFfdGVuc29yX25vX3N0b3JhZ2UKcQAoY3RvcmNoCmZsb2F0MzIKcQFLAoVxAksB"
        "hXEDiXRxBFJxBS4="
    ),
    "layout": "gAJjdG9yY2guc2VyaWFsaXphdGlvbgpfZ2V0X2xheW91dApxAFgNAAAAdG9yY2guc3RyaWRlZHEBhXECUnEDLg==",
    "format": "gASVKAAAAAAAAACMDHRvcmNoLl91dGlsc5SME3RvcmNoLmNoYW5uZWxzX2xhc3SUk5Qu",
}
OTHERS = {
    "operator": (
        "gAJjX19idWlsdGluX18KZ2V0YXR0cgpxAGN0b3JjaC5fQwpfVmFyaWFibGVGdW5jdGlvbnNDbGFzcwpxAVgEAAAAcmVsdXEChnEDUnEELg=="
    ),
    "sparse": (
        "gAJjdG9yY2guX3V0aWxzCl9yZWJ1aWxkX3NwYXJzZV90ZW5zb3IKcQBjdG9yY2guc2VyaWFsaXphdGlvbgpfZ2V0X2xheW91dApx"
        "AVgQAAAAdG9yY2guc3BhcnNlX2Nvb3EChXEDUnEEKGN0b3JjaC5fdXRpbHMKX3JlYnVpbGRfdGVuc29yX3YyCnEFKGN0b3JjaC5z"
        "dG9yYWdlCl9sb2FkX2Zyb21fYnl0ZXMKcQZjX2NvZGVjcwplbmNvZGUKcQdYJwEAAMKAAsKKCmzDvMKcRsO5IGrCqFAZLsKAAk3D"
        "qQMuwoACfXEAKFgQAAAAcHJvdG9jb2xfdmVyc2lvbnEBTcOpA1gNAAAAbGl0dGxlX2VuZGlhbnECwohYCgAAAHR5cGVfc2l6ZXNx"
        "A31xBChYBQAAAHNob3J0cQVLAlgDAAAAaW50cQZLBFgEAAAAbG9uZ3EHSwR1dS7CgAIoWAcAAABzdG9yYWdlcQBjdG9yY2gKTG9u"
        "Z1N0b3JhZ2UKcQFYDgAAADk0NjcwMDc2ODk3NzI4cQJYAwAAAGNwdXEDSwROdHEEUS7CgAJdcQBYDgAAADk0NjcwMDc2ODk3NzI4"
        "cQFhLgQAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAQAAAAAAAABxCFgGAAAAbGF0aW4xcQmGcQpScQuFcQxScQ1LAEsC"
        "SwKGcQ5LAksBhnEPiWNjb2xsZWN0aW9ucwpPcmRlcmVkRGljdApxEClScRF0cRJScRNoBShoBmgHWBIBAADCgALCigpsw7zCnEbD"
        "uSBqwqhQGS7CgAJNw6kDLsKAAn1xAChYEAAAAHByb3RvY29sX3ZlcnNpb25xAU3DqQNYDQAAAGxpdHRsZV9lbmRpYW5xAsKIWAoA"
        "AAB0eXBlX3NpemVzcQN9cQQoWAUAAABzaG9ydHEFSwJYAwAAAGludHEGSwRYBAAAAGxvbmdxB0sEdXUuwoACKFgHAAAAc3RvcmFn"
        "ZXEAY3RvcmNoCkZsb2F0U3RvcmFnZQpxAVgOAAAAOTQ2NzAwNzY4OTk2MzJxAlgDAAAAY3B1cQNLAk50cQRRLsKAAl1xAFgOAAAA"
        "OTQ2NzAwNzY4OTk2MzJxAWEuAgAAAAAAAAAAAMKAPwAAwoA/cRRoCYZxFVJxFoVxF1JxGEsASwKFcRlLAYVxGoloEClScRt0cRxS"
        "cR1jdG9yY2gKU2l6ZQpxHksCSwKGcR+FcSBScSGIdHEihnEjUnEkLg=="
    ),
    "storage": (
        "gAJjdG9yY2guc3RvcmFnZQpfbG9hZF9mcm9tX2J5dGVzCnEAY19jb2RlY3MKZW5jb2RlCnEBWBQBAADCgALCigpsw7zCnEbDuSBq"
        "wqhQGS7CgAJNw6kDLsKAAn1xAChYEAAAAHByb3RvY29sX3ZlcnNpb25xAU3DqQNYDQAAAGxpdHRsZV9lbmRpYW5xAsKIWAoAAAB0"
        "eXBlX3NpemVzcQN9cQQoWAUAAABzaG9ydHEFSwJYAwAAAGludHEGSwRYBAAAAGxvbmdxB0sEdXUuwoACKFgHAAAAc3RvcmFnZXEA"
        "Y3RvcmNoLnN0b3JhZ2UKVW50eXBlZFN0b3JhZ2UKcQFYDgAAADk0NjY5OTkwNDMzMDU2cQJYAwAAAGNwdXEDSwJOdHEEUS7CgAJd"
        "cQBYDgAAADk0NjY5OTkwNDMzMDU2cQFhLgIAAAAAAAAABwhxAlgGAAAAbGF0aW4xcQOGcQRScQWFcQZScQcu"
    ),
    "typed_storage": (
        "gAJjdG9yY2guc3RvcmFnZQpfbG9hZF9mcm9tX2J5dGVzCnEAY19jb2RlY3MKZW5jb2RlCnEBWBEBAADCgALCigpsw7zCnEbDuSBq"
        "wqhQGS7CgAJNw6kDLsKAAn1xAChYEAAAAHByb3RvY29sX3ZlcnNpb25xAU3DqQNYDQAAAGxpdHRsZV9lbmRpYW5xAsKIWAoAAAB0"
        "eXBlX3NpemVzcQN9cQQoWAUAAABzaG9ydHEFSwJYAwAAAGludHEGSwRYBAAAAGxvbmdxB0sEdXUuwoACKFgHAAAAc3RvcmFnZXEA"
        "Y3RvcmNoCkZsb2F0U3RvcmFnZQpxAVgOAAAAOTQ2Njk5OTA2Mjg3MzZxAlgDAAAAY3B1cQNLAk50cQRRLsKAAl1xAFgOAAAAOTQ2"
        "Njk5OTA2Mjg3MzZxAWEuAgAAAAAAAAAAAMKAPwAAAEBxAlgGAAAAbGF0aW4xcQOGcQRScQWFcQZScQcu"
    ),
}


def in_a_program(code: str, given: bytes) -> str:
    """What a program prints that starts through the door and reads `given`."""
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "-c", code, base64.b64encode(given).decode()],
        env={**os.environ, "PYTHONPATH": SOURCES},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_pytorch_pickled_is_read():
    code = """
import base64, pickle, sys
for name, text in pickle.loads(base64.b64decode(sys.argv[1])).items():
    value = pickle.loads(base64.b64decode(text))
    told = (value.tolist(), value.stride(), value.requires_grad) if hasattr(value, "stride") and value.device.type == "cpu" and not value.is_sparse else ""
    print(name, type(value).__name__, told, getattr(value, "dtype", value))
"""
    told = in_a_program(code, pickle.dumps(WRITTEN)).splitlines()
    assert told == [
        "transposed Tensor ([[0.0, 2.0], [1.0, 3.0]], (1, 2), False) torch.float32",
        "parameter Parameter ([1.0], (1,), True) torch.float32",
        "named_parameter Parameter ([1.0], (1,), True) torch.float32",
        "bfloat16 Tensor ([1.5], (1,), False) torch.bfloat16",
        "uint16 Tensor ([7], (1,), False) torch.uint16",
        "meta Tensor  torch.float32",
        "layout layout  torch.strided",
        "format memory_format  torch.channels_last",
    ]


def test_operators_sparse_tensors_and_storages_that_pytorch_pickled(monkeypatch):
    code = """
import base64, pickle, sys
found = pickle.loads(base64.b64decode(sys.argv[1]))
read = {name: pickle.loads(base64.b64decode(text)) for name, text in found.items()}
print(read["operator"] is __import__("torch").relu, read["sparse"].to_dense().tolist(), read["storage"].tolist())
print(read["typed_storage"].tolist(), read["typed_storage"].dtype)
"""
    told = in_a_program(code, pickle.dumps(OTHERS))
    assert told == "True [[1.0, 0.0], [0.0, 1.0]] [7, 8]\n[1.0, 2.0] torch.float32\n"


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "complex32"])
def test_types_that_numpy_lacks_are_read_by_a_process_that_never_used_them(name):
    written = pickle.dumps(torch.ones(2).to(getattr(torch, name)))
    code = "import base64, pickle, sys; x = pickle.loads(base64.b64decode(sys.argv[1])); print(x.dtype, x.shape)"
    assert in_a_program(code, written) == f"torch.{name} torch.Size([2])\n"


def test_storages_that_were_saved_alone_are_storages():
    x = torch.tensor([1.0, 2.0])
    for storage, kind in ((x.storage(), torch.storage.TypedStorage), (x.untyped_storage(), torch.UntypedStorage)):
        file = io.BytesIO()
        torch.save(storage, file)
        file.seek(0)
        assert isinstance(torch.load(file, weights_only=False), kind)
