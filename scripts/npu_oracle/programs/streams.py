"""Streams, events, elapsed times, waits between streams, several devices."""

from __future__ import annotations

from typing import Any


def refusal(call: Any) -> str:
    """The kind of error that a call raises, or 'none'. A more special RuntimeError is one."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - the type is what is compared
        return "RuntimeError" if isinstance(error, RuntimeError) else type(error).__name__
    return "none"


def run(torch: Any) -> dict[str, Any]:
    npu = torch.npu
    x = torch.ones(64, 64).npu()
    side = npu.Stream()
    start, end, plain = npu.Event(enable_timing=True), npu.Event(enable_timing=True), npu.Event()
    result: dict[str, Any] = {
        "fresh event": plain.query(),
        "current is default": npu.current_stream() == npu.default_stream(),
    }
    start.record()
    y = x @ x
    end.record()
    end.synchronize()
    result["elapsed is positive"] = start.elapsed_time(end) > 0
    result["after synchronize"] = end.query()
    with npu.stream(side):
        result["inside"] = npu.current_stream() == side
        side.wait_stream(npu.default_stream())
        z = y + 1
        plain.record()
    result["outside"] = npu.current_stream() == npu.default_stream()
    npu.current_stream().wait_event(plain)
    result["sum"] = (z + 1).sum().item()
    side.synchronize()
    result["idle"] = side.query()
    untimed = npu.Event()
    untimed.record()
    untimed.synchronize()
    result["without timing"] = refusal(lambda: untimed.elapsed_time(end))
    result["devices"] = npu.device_count()
    result["current device"] = npu.current_device()
    with npu.device(1):
        result["inside device 1"] = npu.current_device()
        result["on device 1"] = str(torch.ones(2, device="npu").device)
    npu.set_device(1)
    other = torch.full((3,), 2.0, device="npu:1")
    result["between devices"] = (other.to("npu:0") * 3).cpu().tolist()
    npu.set_device(0)
    result["wrong device"] = refusal(lambda: torch.ones(2, device="npu:9"))
    npu.synchronize()
    return result
