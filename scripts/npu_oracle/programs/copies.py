"""Pinned and pageable copies, blocking and not, in both directions and between types and layouts."""

from __future__ import annotations

from typing import Any


def run(torch: Any) -> dict[str, Any]:
    pinned = torch.arange(1000.0).pin_memory()
    result: dict[str, Any] = {"is pinned": pinned.is_pinned(), "is not": torch.ones(3).is_pinned()}
    there = pinned.to("npu", non_blocking=True)
    back = torch.empty(1000).pin_memory()
    back.copy_(there * 2, non_blocking=True)
    torch.npu.synchronize()
    result["round trip"] = back[:5].tolist() + [back.sum().item()]
    event, side = torch.npu.Event(), torch.npu.Stream()
    with torch.npu.stream(side):
        second = pinned.to("npu", non_blocking=True)
        event.record()
    event.synchronize()
    result["side stream"] = second.sum().item()
    result["strided"] = there.reshape(10, 100).t().cpu()[3].tolist()
    result["converted"] = there[:4].to("cpu", torch.int64).tolist()
    target = torch.zeros(2, 3).npu()
    target.copy_(torch.arange(3))
    result["broadcast"] = target.tolist()
    result["empty"] = list(torch.empty(0, 3).npu().cpu().shape)
    result["same device is the same tensor"] = there.to("npu") is there
    return result
