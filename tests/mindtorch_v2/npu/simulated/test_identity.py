"""The simulator says what it is, wherever it was found and however it is asked."""

from __future__ import annotations

import pathlib

import pytest

import mindtorch_v2 as torch

ASK = """
import json, sys, warnings
import mindtorch_v2 as torch
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x = torch.ones(2, device="npu")
    torch.ones(2, device="npu:1")
assert len([w for w in caught if "simulator" in str(w.message)]) == 1, caught
properties = torch.npu.get_device_properties(1)
assert properties.simulated is True and "simulated=True" in repr(properties)
assert torch.npu.is_simulated() and "(simulated)" in torch.npu.get_device_name() and "simulated" in repr(torch.npu.Stream())
with torch.profiler.profile() as prof:
    x + x
prof.export_chrome_trace("{path}")
trace = json.load(open("{path}"))
assert trace["npu_times"]["simulated"] is True
assert all("(simulated)" in d["name"] for d in trace["deviceProperties"])
try:
    torch.npu.Event(enable_timing=True).record(); torch.npu.Event().record(); torch.ones(1, device="npu:7")
except RuntimeError as error:
    pass
print("told")
"""


@pytest.fixture
def installation(tmp_path):
    """A folder that looks like an installation of the vendor's, as `build.py --cann-root` makes it."""
    from mindtorch_v2._backends.npu import simulator
    from mindtorch_v2._backends.npu.runtime import runtime

    library = pathlib.Path(runtime().libraries.opened[0][0])
    folder = simulator.source_folder()
    assert folder is not None
    simulator._builder(folder).lay_out(tmp_path / "cann", library)
    return tmp_path / "cann"


def test_chosen_by_the_environment(run_script, tmp_path):
    assert run_script(ASK.format(path=tmp_path / "t.json")).strip() == "told"


@pytest.mark.parametrize(
    "variable", ["ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "MINDTORCH_NPU_LIB", "LD_LIBRARY_PATH"]
)
def test_found_in_a_folder_like_the_vendors(run_script, tmp_path, installation, variable):
    where = installation if variable.startswith("ASCEND") else installation / "lib64"
    settings = {"MINDTORCH_NPU_SIM": "0", "MINDTORCH_NPU_LIB": "", variable: str(where)}
    assert run_script(ASK.format(path=tmp_path / "t.json"), **settings).strip() == "told"


def test_the_self_test_says_so(run_script, installation):
    out = run_script(
        """
import warnings
warnings.simplefilter("ignore")
import mindtorch_v2.npu.selftest as selftest
selftest.check_operators, selftest.timings = (lambda: (0, [])), (lambda: [])
raise SystemExit(selftest.main())
""",
        MINDTORCH_NPU_SIM="0",
        MINDTORCH_NPU_LIB="",
        ASCEND_HOME_PATH=str(installation),
    )
    assert "THIS IS THE SIMULATOR" in out and "(simulated)" in out


def test_libraries_without_the_simulators_mark_are_hardware():
    from mindtorch_v2._backends.npu.loader import Libraries

    assert Libraries([("a", object())]).simulated is False  # type: ignore[list-item]


@pytest.mark.parametrize(
    "soc",
    [
        "Ascend910A",
        "Ascend910B",
        "Ascend910ProA",
        "Ascend910ProB",
        "Ascend910PremiumA",
        "Ascend310P3",
        "Ascend910B4",
        "Ascend910_9391",
    ],
)
def test_products_of_float32_on_every_chip(run_script, soc):
    """The chips of the first generation refuse a product that may not be computed in a narrower type."""
    out = run_script(
        """
import warnings
warnings.simplefilter("ignore")
import mindtorch_v2 as torch
print(torch.npu.get_device_name(), (torch.ones(2, 3, device="npu") @ torch.ones(3, 2, device="npu")).tolist())
""",
        ASCEND_SIM_SOC=soc,
        MINDTORCH_NPU_FALLBACK="error",
    )
    assert out.strip() == f"{soc} (simulated) [[3.0, 3.0], [3.0, 3.0]]"


def test_names_of_chips():
    from mindtorch_v2._backends.npu.abi import lacks_float32_products

    first = [
        "Ascend910A",
        "Ascend910B",
        "Ascend910ProA",
        "Ascend910ProB",
        "Ascend910PremiumA",
        "Ascend310P1",
        "Ascend310P3",
    ]
    assert all(map(lacks_float32_products, first))
    later = [
        "Ascend910B1",
        "Ascend910B2",
        "Ascend910B2C",
        "Ascend910B3",
        "Ascend910B4",
        "Ascend910B4-1",
        "Ascend910_9391",
        "Ascend910_9362",
        "Ascend310B1",
        "Ascend950PR_9599",
    ]
    assert not any(map(lacks_float32_products, later))


def test_priorities_of_streams():
    """A lower number is a greater priority; the default is the greatest that the device has."""
    import ctypes

    from mindtorch_v2._backends.npu.runtime import runtime

    def of(stream):
        got = ctypes.c_uint32()
        assert (
            runtime().libraries.opened[0][1].aclrtStreamGetPriority(ctypes.c_void_p(stream.handle), ctypes.byref(got))
            == 0
        )
        return got.value

    assert torch.npu.Stream.priority_range() == (7, 0)
    for asked, wanted in ((0, 0), (-1, 0), (-5, 0), (3, 3), (7, 7), (100, 7)):
        stream = torch.npu.Stream(priority=asked)
        assert (stream.priority, of(stream)) == (wanted, wanted)
    assert (torch.npu.default_stream().priority, of(torch.npu.default_stream())) == (0, 0)
    assert of(torch.npu.Stream(priority=-1)) <= of(torch.npu.default_stream())
