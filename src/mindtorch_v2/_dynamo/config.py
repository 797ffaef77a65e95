"""Settings of PyTorch's compiler: kept for programs that set and read them; nothing is compiled here."""

from __future__ import annotations

import sys

from .._config_module import install

verbose = False
suppress_errors = False
disable = False
cache_size_limit = 8
recompile_limit = 8
accumulated_cache_size_limit = 256
accumulated_recompile_limit = 256
dynamic_shapes = True
assume_static_by_default = True
automatic_dynamic_shapes = True
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
capture_func_transforms = True
optimize_ddp = True
inline_inbuilt_nn_modules = True
allow_unspec_int_on_nn_module = False
force_parameter_static_shapes = True
error_on_recompile = False
guard_nn_modules = True
compiled_autograd = False
log_level = None
numpy_default_float = "float64"
specialize_int = False
specialize_float = False
skip_nnmodule_hook_guards = True
fail_on_recompile_limit_hit = False
allow_rnn = False
enable_compiler_collectives = False
install(sys.modules[__name__], "torch._dynamo.config")
