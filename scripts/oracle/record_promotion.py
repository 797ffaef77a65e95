"""Records the types of PyTorch's results for all pairs of types. Needs torch==2.13.0; the tests themselves do not.

python scripts/oracle/record_promotion.py
"""

from __future__ import annotations

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "mindtorch_v2"))

import torch  # noqa: E402

from oracle import harness, promotion_cases  # noqa: E402


def main() -> None:
    answers = promotion_cases.answers(torch)
    harness.store("promotion", answers)
    print(f"promotion: {sum(map(len, answers['codes'].values()))} answers, {len(answers['errors'])} kinds of errors")


if __name__ == "__main__":
    main()
