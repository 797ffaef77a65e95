"""Packs the direction numbers of Sobol sequences for the package: `python scripts/sobol/pack.py new-joe-kuo-6.21201`.

The table is that of S. Joe and F. Y. Kuo (2008), "Constructing Sobol sequences with better two-dimensional projections", which they
publish as text: a line of headings, then for dimensions 2, 3, ...: the dimension, the degree s of a primitive polynomial, its inner
coefficients as a number a, and the initial numbers m_1 ... m_s (m_i is odd and below 2^i).

The packed file is a numpy archive: `degrees` (uint8) and `inner` (uint32, the numbers a), one per dimension from the second, and `bits`,
in which m_i of one dimension after another takes i - 1 bits (the last one is always 1), the highest first.
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np

TARGET = pathlib.Path(__file__).parents[2] / "src/mindtorch_v2/_tables/sobol.npz"


def main(table: str) -> None:
    degrees, inner, bits = [], [], []
    for line in pathlib.Path(table).read_text().splitlines()[1:]:
        _, s, a, *initial = (int(number) for number in line.split())
        if len(initial) != s:
            raise SystemExit(f"expected {s} initial numbers, got {line!r}")
        degrees.append(s)
        inner.append(a)
        for i, m in enumerate(initial):
            bits.extend((m >> bit) & 1 for bit in range(i, 0, -1))
    np.savez_compressed(
        TARGET,
        degrees=np.array(degrees, np.uint8),
        inner=np.array(inner, np.uint32),
        bits=np.packbits(np.array(bits, np.uint8)),
    )
    print(f"{TARGET}: {len(degrees) + 1} dimensions, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
