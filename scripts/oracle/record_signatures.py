"""Records the signatures of PyTorch's profiler, benchmark and FLOP counter. Needs torch==2.13.0; the tests
themselves do not.

python scripts/oracle/record_signatures.py
"""

from __future__ import annotations

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "mindtorch_v2" / "oracle"))

from signatures import signatures  # noqa: E402


def main() -> None:
    answers = signatures("torch")
    path = ROOT / "tests" / "mindtorch_v2" / "oracle" / "data" / "signatures.json"
    path.write_text(
        "{\n"
        + ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in sorted(answers.items()))
        + "\n}\n"
    )
    print(len(answers), "signatures")


if __name__ == "__main__":
    main()
