"""Records how PyTorch prints tensors. Needs torch==2.13.0; the tests themselves do not.

python scripts/oracle/record_tensor_str.py
"""

from __future__ import annotations

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "mindtorch_v2"))

import torch  # noqa: E402

from oracle import harness, tensor_str_cases  # noqa: E402


def main() -> None:
    answers = {
        f"{expression} {options}": tensor_str_cases.show(torch, expression, options)
        for expression, options in tensor_str_cases.CASES
    }
    harness.store("tensor_str", answers)
    print(f"tensor_str: {len(answers)} texts")


if __name__ == "__main__":
    main()
