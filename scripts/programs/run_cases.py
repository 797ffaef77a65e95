"""Runs the programs of one family with whatever `torch` is here, and prints a line of JSON for each: its numbers, or
its error.
"""

import importlib
import json
import pathlib
import sys
import time
import traceback
import warnings


def main(family, wanted):
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    for program in importlib.import_module(f"cases.{family}").PROGRAMS:
        if wanted and program.__name__ not in wanted:
            continue
        torch.manual_seed(0)
        began = time.perf_counter()
        try:
            said = {"numbers": program()}
        except Exception as error:  # noqa: BLE001 - a program that does not run is an answer
            said = {
                "error": f"{type(error).__name__}: {error}".partition("\n")[0][:300],
                "trace": traceback.format_exc(),
            }
        print(
            "@program "
            + json.dumps({"program": program.__name__, "seconds": round(time.perf_counter() - began, 2), **said}),
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
