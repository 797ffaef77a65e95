"""Records which events of PyTorch carry which sequence ids. Needs torch==2.13.0; the tests themselves do not.

python scripts/oracle/record_sequence_numbers.py
"""

from __future__ import annotations

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "mindtorch_v2" / "oracle"))

import numpy as np  # noqa: E402
import sequence_cases  # noqa: E402
import torch  # noqa: E402
import torch.utils.checkpoint  # noqa: E402


def main() -> None:
    answers = {call: sequence_cases.numbered_events(torch, np, call) for call in sequence_cases.all_calls()}
    path = ROOT / "tests" / "mindtorch_v2" / "oracle" / "data" / "sequence_numbers.json"
    path.write_text(
        "{\n" + ",\n".join(f"{json.dumps(call)}: {json.dumps(found)}" for call, found in answers.items()) + "\n}\n"
    )
    print(len(answers), "calls")


if __name__ == "__main__":
    main()
