"""Records PyTorch's answers to the oracle cases. Needs torch==2.13.0; the tests themselves do not.

python scripts/oracle/record.py               all families
python scripts/oracle/record.py elementwise   one
"""

from __future__ import annotations

import importlib
import pathlib
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "mindtorch_v2"))

import torch  # noqa: E402

from oracle import harness  # noqa: E402


def main() -> None:
    folder = ROOT / "tests" / "mindtorch_v2" / "oracle"
    families = sys.argv[1:] or sorted(p.stem.removeprefix("cases_") for p in folder.glob("cases_*.py"))
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for family in families:
        cases = importlib.import_module(f"oracle.cases_{family}").CASES
        ids = [c.id for c in cases]
        assert len(set(ids)) == len(ids), f"{family}: repeated ids {sorted({i for i in ids if ids.count(i) > 1})}"
        answers = {c.id: harness.observe(torch, c) for c in cases}
        harness.store(family, answers)
        errors = [f"  {k}: {v['error']}" for k, v in answers.items() if "error" in v]
        print(f"{family}: {len(answers)} answers, {len(errors)} of them errors", *errors, sep="\n")


if __name__ == "__main__":
    main()
