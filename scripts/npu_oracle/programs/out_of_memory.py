"""A device that is full: the error, what it says, and that everything works afterwards."""

from __future__ import annotations

from typing import Any


def run(torch: Any) -> dict[str, Any]:
    npu = torch.npu
    total = npu.get_device_properties(0).total_memory
    free_at_start, _ = npu.mem_get_info()
    held = [torch.empty(total // 8, device="npu", dtype=torch.uint8) for _ in range(4)]
    result: dict[str, Any] = {"reserved": npu.memory_reserved()}
    try:
        torch.empty(total, device="npu", dtype=torch.uint8)
    except torch.OutOfMemoryError as error:
        text = str(error)
        result["is a RuntimeError"] = isinstance(error, RuntimeError)
        result["says"] = text.split(" Tried to allocate ")[0]
        result["tried"] = text.split("Tried to allocate ")[1].split(" (")[0].split(".  ")[0].split(". ")[0]
    result["num_ooms"] = npu.memory_stats()["num_ooms"]
    result["still works"] = (torch.ones(4, device="npu") + 1).tolist()
    del held
    npu.empty_cache()
    result["fits after empty_cache"] = torch.empty(total // 2, device="npu", dtype=torch.uint8).numel()
    held = [torch.empty(total // 4, device="npu", dtype=torch.uint8) for _ in range(2)]
    del held
    result["cached memory is given back when needed"] = torch.empty(
        total * 3 // 4, device="npu", dtype=torch.uint8
    ).numel()
    npu.empty_cache()
    result["all is free again"] = free_at_start - npu.mem_get_info()[0] < (8 << 20)
    return result
