"""The processor's vector extensions."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """ "AVX512", "AVX2" or "DEFAULT": the widest vectors that the processor has."""
    from .. import cpu

    return "AVX512" if cpu._is_avx512_supported() else "AVX2" if cpu._is_avx2_supported() else "DEFAULT"
