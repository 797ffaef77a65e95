"""Records PyTorch's answers to questions about absent devices and settings.

Needs torch==2.13.0 without CUDA; the tests do not.
"""

from __future__ import annotations

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "mindtorch_v2" / "names"
sys.path.insert(0, str(FOLDER))

import torch  # noqa: E402
import torch.onnx.operators  # noqa: E402
from probes import PROBES, answer  # noqa: E402

if __name__ == "__main__":
    answers = {probe: answer(torch, probe) for probe in PROBES}
    (FOLDER / "answers.json").write_text(json.dumps(answers, indent=0, sort_keys=True) + "\n")
    print(len(answers), "answers")
