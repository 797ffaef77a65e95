"""Names of `torch` that are looked up when first used: which module has them."""
from __future__ import annotations

# Modules whose names begin with an underscore and that programs ask for all the same.
PRIVATE_MODULES = frozenset({"_C", "__config__", "_dynamo", "_inductor", "_jit_internal", "_subclasses", "_tensor_str", "_utils"})

_BY_MODULE: dict[str, tuple[str, ...]] = {
    "_door": ("install_as_torch",),
    "serialization": ("save", "load"),
    "utils.dlpack": ("to_dlpack",),
    "sparse": ("sparse_coo_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_compressed_tensor"),
    "_tensor": ("jagged", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr"),
    "storage": ("TypedStorage", "UntypedStorage", "BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "DoubleStorage",
                "FloatStorage", "HalfStorage", "IntStorage", "LongStorage", "ShortStorage"),
    "_serialization.file_reader": ("PyTorchFileReader",),
    "cpu": ("Event", "Stream"),
    "_dynamo.eval_frame": ("compile",),
    "backends._settings": ("get_float32_matmul_precision", "set_float32_matmul_precision"),
    "_python.determinism": ("are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
                     "is_deterministic_algorithms_warn_only_enabled", "set_deterministic_debug_mode", "use_deterministic_algorithms"),
    "_python.checks": ("_assert", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all", "_check_type",
                "_check_value", "_check_with"),
    "_python.symbolic": ("SymBool", "SymFloat", "SymInt", "sym_float", "sym_fresh_size", "sym_int", "sym_ite", "sym_max",
                  "sym_min", "sym_not", "sym_sqrt", "sym_sum"),
    "_device_modules": ("get_device_module",),
    "_python.defaults": ("is_warn_always_enabled", "legacy_contiguous_format", "set_default_tensor_type",
                  "set_flush_denormal", "set_num_interop_threads"),
    "_python.numerics": ("gradient", "histogramdd", "lu", "pca_lowrank", "svd_lowrank", "unravel_index"),
    "amp": ("autocast",),
    "func": ("vmap",),
    "amp.settings": (
        "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype", "get_autocast_dtype",
        "get_autocast_gpu_dtype", "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled",
        "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype",
        "set_autocast_enabled", "set_autocast_gpu_dtype"),
}
LAZY: dict[str, str] = {name: module for module, names in _BY_MODULE.items() for name in names}
