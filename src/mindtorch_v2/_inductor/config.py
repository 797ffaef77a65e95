"""Settings of PyTorch's code generator: kept; nothing is generated here."""

from __future__ import annotations

import sys
from types import SimpleNamespace

from .._config_module import install

debug = False
fx_graph_cache = False
conv_1x1_as_mm = False
coordinate_descent_tuning = False
coordinate_descent_check_all_directions = False
epilogue_fusion = True
epilogue_fusion_first = False
force_fuse_int_mm_with_mul = False
max_autotune = False
max_autotune_gemm = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
max_autotune_pointwise = False
shape_padding = True
use_mixed_mm = True
freezing = False
compile_threads = 1
fallback_random = False
cpp_wrapper = False
reorder_for_compute_comm_overlap = False
reorder_for_peak_memory = True
triton = SimpleNamespace(cudagraphs=False, cudagraph_trees=True, unique_kernel_names=True)
cpp = SimpleNamespace(threads=-1, simdlen=None)
install(sys.modules[__name__], "torch._inductor.config")
