"""Records how PyTorch trains the small models of the tests. Needs torch==2.13.0; the tests themselves do not.

python scripts/oracle/record_models.py
"""

from __future__ import annotations

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "mindtorch_v2"))

import models  # noqa: E402
import torch  # noqa: E402


def main() -> None:
    torch.set_num_threads(1)
    answers = {}
    for name in models.MODELS:
        for optimizer in models.OPTIMIZERS:
            answers[f"{name}-{optimizer}"] = models.train(torch, name, optimizer)
            answers[f"{name}-{optimizer}-float64"] = models.train(torch, name, optimizer, dtype="float64")
    path = ROOT / "tests" / "mindtorch_v2" / "data" / "models.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(answers, indent=1) + "\n")
    for key, answer in answers.items():
        print(key, answer["losses"][0], "->", answer["losses"][-1])


if __name__ == "__main__":
    main()
