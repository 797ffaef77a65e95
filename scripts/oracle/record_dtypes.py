"""Records what PyTorch says about its element types: promotion, casts, limits, conversions. Needs torch==2.13.0; the
tests do not.

python scripts/oracle/record_dtypes.py
"""

from __future__ import annotations

import pathlib
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "mindtorch_v2"))

import torch  # noqa: E402

from oracle import dtype_cases, harness  # noqa: E402


def main() -> None:
    warnings.simplefilter("ignore")
    answers = dtype_cases.answers(torch)
    harness.store("dtypes", answers)
    print({name: len(found) for name, found in answers.items()})


if __name__ == "__main__":
    main()
