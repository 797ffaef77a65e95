"""Records how PyTorch's tensors behave as Python objects. Needs torch==2.13.0; the tests themselves do not.

python scripts/oracle/record_tensor.py
"""

from __future__ import annotations

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "mindtorch_v2"))

import torch  # noqa: E402

from oracle import harness, tensor_cases  # noqa: E402


def main() -> None:
    answers = {line: tensor_cases.show(torch, line) for _, line in tensor_cases.CASES}
    harness.store("tensor", answers)
    print(f"tensor: {len(answers)} texts")


if __name__ == "__main__":
    main()
