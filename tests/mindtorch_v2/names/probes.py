"""Questions about devices that are not here, and about settings; PyTorch's answers are in answers.json.

A line is an expression, or statements that leave their answer in `r`. `x` is a tensor of two ones, `b` is
`torch.backends`.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

PROBES = """
torch.cuda.is_available()
torch.cuda.device_count()
torch.cuda.is_initialized()
torch.cuda.is_bf16_supported()
torch.cuda.is_bf16_supported(False)
torch.cuda.is_tf32_supported()
torch.cuda.get_arch_list()
torch.cuda.get_gencode_flags()
torch.cuda.list_gpu_processes()
torch.cuda.default_generators
torch.cuda.has_half, torch.cuda.has_magma
torch.cuda.current_device()
torch.cuda.current_stream()
torch.cuda.default_stream()
torch.cuda.current_blas_handle()
torch.cuda.cudart()
torch.cuda.clock_rate()
torch.cuda.utilization()
torch.cuda.temperature()
torch.cuda.power_draw()
torch.cuda.memory_usage()
torch.cuda.get_device_name(0)
torch.cuda.get_device_capability()
torch.cuda.get_device_properties(0)
torch.cuda.get_sync_debug_mode()
torch.cuda.set_sync_debug_mode(1)
torch.cuda.init()
torch.cuda.ipc_collect()
torch.cuda.synchronize()
torch.cuda.can_device_access_peer(0, 1)
torch.cuda.empty_cache()
torch.cuda.memory_allocated()
torch.cuda.max_memory_allocated(0)
torch.cuda.memory_reserved()
torch.cuda.max_memory_reserved()
torch.cuda.memory_cached()
torch.cuda.max_memory_cached()
torch.cuda.memory_stats()
torch.cuda.memory_stats_as_nested_dict()
torch.cuda.host_memory_stats()
torch.cuda.memory_summary()
torch.cuda.memory_snapshot()
torch.cuda.mem_get_info()
torch.cuda.reset_peak_memory_stats()
torch.cuda.reset_accumulated_memory_stats()
torch.cuda.reset_max_memory_allocated()
torch.cuda.reset_max_memory_cached()
torch.cuda.get_allocator_backend()
torch.cuda.set_per_process_memory_fraction(0.5)
torch.cuda.get_per_process_memory_fraction()
torch.cuda.memory._record_memory_history()
torch.cuda.memory._snapshot()
torch.cuda.manual_seed(3)
torch.cuda.manual_seed('a')
torch.cuda.manual_seed_all(3)
torch.cuda.seed()
torch.cuda.seed_all()
torch.cuda.initial_seed()
torch.cuda.get_rng_state()
torch.cuda.get_rng_state_all()
torch.cuda.set_rng_state(x)
torch.cuda.set_rng_state_all([x])
torch.cuda.set_device(0)
torch.cuda.set_device(-1)
torch.cuda.set_device('cpu')
torch.cuda.device(0).__enter__()
torch.cuda.device(-1).__enter__()
torch.cuda.device_of(x).__enter__()
torch.cuda.stream(None).__enter__()
torch.cuda.set_stream(None)
torch.cuda.Stream()
torch.cuda.Event(enable_timing=True)
torch.cuda.CUDAGraph()
torch.cuda.MemPool()
torch.cuda.graph(None)
torch.cuda.graph_pool_handle()
torch.cuda.is_current_stream_capturing()
torch.cuda.FloatTensor(2)
torch.cuda.HalfTensor(2)
torch.cuda.FloatTensor
torch.cuda.LongTensor.dtype
isinstance(x, torch.cuda.FloatTensor)
torch.cuda.nvtx.range_push('a')
torch.cuda.nvtx.mark('a')
torch.cuda.profiler.start()
torch.cuda.nccl.version()
torch.cuda.nccl.is_available([x])
torch.cuda.nccl.all_reduce([x])
torch.cuda.comm
torch.cuda._lazy_init()
torch.cuda._is_compiled()
torch.cuda._device_count_nvml()
torch.cuda._utils._get_device_index('cuda:1')
torch.cuda._utils._get_device_index('cuda', True)
torch.cuda._utils._get_device_index(2)
torch.cuda._utils._get_device_index('cpu')
torch.cuda._utils._get_device_index(None)
torch.cuda._utils._get_device_index(None, True)
torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
torch.xpu.is_available()
torch.xpu.device_count()
torch.xpu.is_bf16_supported()
torch.xpu.current_device()
torch.xpu.get_device_name()
torch.xpu.get_device_capability()
torch.xpu.set_device(0)
torch.xpu.synchronize()
torch.xpu.empty_cache()
torch.xpu.memory_allocated()
torch.xpu.max_memory_allocated()
torch.xpu.memory_reserved()
torch.xpu.memory_stats()
torch.xpu.memory_snapshot()
torch.xpu.reset_peak_memory_stats()
torch.xpu.mem_get_info()
torch.xpu.manual_seed(0)
torch.xpu.manual_seed_all(0)
torch.xpu.get_rng_state()
torch.xpu.get_rng_state_all()
torch.xpu.utilization()
torch.xpu.Stream()
torch.xpu.Event()
torch.xpu.device(0).__enter__()
torch.mps.is_available()
torch.mps.device_count()
torch.mps.empty_cache()
torch.mps.synchronize()
torch.mps.seed()
torch.mps.manual_seed(0)
torch.mps.get_rng_state()
torch.mps.set_rng_state(x)
torch.mps.current_allocated_memory()
torch.mps.driver_allocated_memory()
torch.mps.recommended_max_memory()
torch.mps.set_per_process_memory_fraction(.4)
torch.mps.profiler.start()
torch.mtia.is_available()
torch.mtia.device_count()
torch.mtia.is_bf16_supported()
torch.mtia.init()
torch.mtia.manual_seed(0)
torch.mtia.set_device(0)
torch.mtia.current_device()
torch.mtia.synchronize()
torch.mtia.empty_cache()
torch.mtia.memory_allocated()
torch.mtia.memory_stats()
torch.mtia.snapshot()
torch.accelerator.is_available()
torch.accelerator.current_accelerator()
torch.accelerator.device_count()
torch.accelerator.current_device_index()
torch.accelerator.current_device_idx()
torch.accelerator.set_device_index(0)
torch.accelerator.device_index(0).__enter__()
torch.accelerator.current_stream()
torch.accelerator.synchronize()
torch.accelerator.empty_cache()
torch.accelerator.memory_allocated()
torch.accelerator.max_memory_allocated()
torch.accelerator.memory_stats()
torch.accelerator.get_memory_info()
torch.accelerator.reset_peak_memory_stats()
torch.accelerator.get_device_capability()
torch.cpu.is_available()
torch.cpu.device_count()
torch.cpu.current_device()
torch.cpu.synchronize()
torch.cpu.is_initialized()
torch.get_device_module().__name__
torch.get_device_module('cuda').__name__
torch.get_device_module('cpu').__name__
torch.version.cuda, torch.version.hip, torch.version.xpu, torch.version.debug
b.cudnn.is_available()
b.cudnn.version()
b.cudnn.is_acceptable(x)
b.cudnn.enabled, b.cudnn.benchmark, b.cudnn.benchmark_limit, b.cudnn.deterministic, b.cudnn.allow_tf32, b.cudnn.fp32_precision
b.cudnn.conv.fp32_precision, b.cudnn.rnn.fp32_precision
b.cudnn.benchmark = True; r = b.cudnn.benchmark; b.cudnn.benchmark = False
b.cudnn.benchmark = 1
b.cudnn.deterministic = None
b.cudnn.allow_tf32 = False; r = (b.cudnn.allow_tf32, b.cudnn.conv.fp32_precision, b.cudnn.rnn.fp32_precision); b.cudnn.allow_tf32 = True
b.cudnn.fp32_precision = 'ieee'; r = (b.cudnn.conv.fp32_precision, b.cudnn.fp32_precision); b.cudnn.fp32_precision = 'none'
b.cudnn.fp32_precision = 'foo'
b.cudnn.foo = 3; r = b.cudnn.foo; del b.cudnn.foo
r = (b.cudnn.set_flags(_benchmark=True), b.cudnn.set_flags(_benchmark=False)[1])
with b.cudnn.flags(enabled=False, benchmark=True): r = (b.cudnn.enabled, b.cudnn.benchmark, b.cudnn.deterministic, b.cudnn.allow_tf32)
b.cudnn.enabled, b.cudnn.benchmark
b.cuda.is_built()
b.cuda.matmul.allow_tf32
b.cuda.matmul.fp32_precision in ('none', 'ieee')
b.cuda.matmul.allow_fp16_reduced_precision_reduction
b.cuda.matmul.allow_bf16_reduced_precision_reduction
b.cuda.matmul.allow_fp16_accumulation
b.cuda.matmul.foo
b.cuda.matmul.foo = 2
b.cuda.matmul.allow_tf32 = True; r = (torch.get_float32_matmul_precision(), b.cuda.matmul.fp32_precision); torch.set_float32_matmul_precision('highest')
b.cuda.matmul.allow_tf32 = False; r = (torch.get_float32_matmul_precision(), b.cuda.matmul.fp32_precision, b.cuda.matmul.allow_tf32)
torch.set_float32_matmul_precision('medium'); r = (torch.get_float32_matmul_precision(), b.cuda.matmul.allow_tf32); torch.set_float32_matmul_precision('highest')
torch.set_float32_matmul_precision('high'); r = (b.cuda.matmul.fp32_precision, b.mkldnn.matmul.fp32_precision); torch.set_float32_matmul_precision('highest')
torch.set_float32_matmul_precision('highest'); torch.set_float32_matmul_precision('foo'); r = torch.get_float32_matmul_precision()
torch.set_float32_matmul_precision('highest'); r = (b.cuda.matmul.fp32_precision, b.cuda.matmul.allow_tf32, b.mkldnn.matmul.fp32_precision)
b.fp32_precision
b.fp32_precision = 'x'
b.fp32_precision = 'tf32'; r = (b.fp32_precision, b.cudnn.fp32_precision); b.fp32_precision = 'none'
b.cuda.cufft_plan_cache.size
b.cuda.cufft_plan_cache[0].size
b.cuda.preferred_linalg_library('cusolver')
b.cuda.preferred_linalg_library('foo')
b.cuda.preferred_blas_library('cublaslt')
b.cuda.flash_sdp_enabled(), b.cuda.mem_efficient_sdp_enabled(), b.cuda.math_sdp_enabled(), b.cuda.cudnn_sdp_enabled()
b.cuda.enable_flash_sdp(False); r = b.cuda.flash_sdp_enabled(); b.cuda.enable_flash_sdp(True)
with b.cuda.sdp_kernel(enable_math=False): r = (b.cuda.math_sdp_enabled(), b.cuda.flash_sdp_enabled())
b.cuda.is_flash_attention_available()
b.mps.is_available()
b.mps.is_built()
b.mps.is_macos_or_newer(13, 0)
b.mps.get_name()
b.mkldnn.enabled, b.mkldnn.deterministic, b.mkldnn.allow_tf32, b.mkldnn.fp32_precision
b.mkldnn.enabled = False; r = b.mkldnn.enabled; b.mkldnn.enabled = True
b.mkldnn.is_acl_available()
b.mha.get_fastpath_enabled()
b.cusparselt.is_available()
b.kleidiai.is_available()
b.flags_frozen()
torch.use_deterministic_algorithms('a')
torch.use_deterministic_algorithms(True); r = (torch.are_deterministic_algorithms_enabled(), torch.get_deterministic_debug_mode()); torch.use_deterministic_algorithms(False)
torch.use_deterministic_algorithms(True, warn_only=True); r = torch.is_deterministic_algorithms_warn_only_enabled(); torch.use_deterministic_algorithms(False)
torch.set_deterministic_debug_mode('foo')
torch.set_deterministic_debug_mode(5)
torch.set_deterministic_debug_mode(0); r = torch.are_deterministic_algorithms_enabled()
torch._assert(False, 'msg')
torch._check(False)
torch._check(False, lambda: 'hello')
torch._check(1)
torch._check_value(False, lambda: 'a')
torch._check_type(False, lambda: 'a')
torch._check_index(False, lambda: 'a')
torch.sym_int(2.5), torch.sym_max(1, 2.), torch.sym_not(True), torch.sym_float(2), torch.sym_ite(True, 1, 2), torch.sym_min(1, 2)
isinstance(3, torch.SymInt)
torch.compile(torch.nn.Linear(2, 2), mode='foo')
torch.compile(torch.nn.Linear(2, 2), mode='max-autotune', options={'a': 1})
torch.compile(torch.nn.Linear(2, 2), backend='foo')
torch.compile(3, backend='eager')
torch.compile(torch.nn.Linear(2, 2), dynamic='a', backend='eager')
torch.compile(torch.nn.Linear(2, 2), foo=3)
torch.compile(torch.nn.Linear(2, 2), disable=True)
torch.compile(torch.nn.Linear(2, 2), backend='eager')
list(torch.compile(torch.nn.Linear(2, 2), backend='eager').state_dict())
torch.compile(torch.nn.Linear(2, 3), backend='eager').out_features
m = torch.nn.Linear(2, 2); c = torch.compile(m, backend='eager'); c.foo = 3; r = (m.foo, c._orig_mod is m, c.eval() is c, m.training)
isinstance(torch.compile(torch.nn.Linear(2, 2), backend='eager'), torch._dynamo.eval_frame.OptimizedModule)
torch.compile(lambda v: v + 1, backend='eager')(x)
torch.compiler.is_compiling(), torch.compiler.is_exporting(), torch._dynamo.is_compiling()
torch.compiler.cudagraph_mark_step_begin()
torch._dynamo.config.foo
torch._dynamo.config.suppress_errors = True; r = torch._dynamo.config.suppress_errors; torch._dynamo.config.suppress_errors = False
torch._inductor.config.foo
torch.jit.is_scripting(), torch.jit.is_tracing()
torch.jit.annotate(int, 3)
torch.jit.isinstance([1], list[int]), torch.jit.isinstance([1.], list[int]), torch.jit.isinstance({'a': 1}, dict[str, int])
torch.jit.isinstance((1, 'a'), tuple[int, str]), torch.jit.isinstance(3, (int, float))
torch.jit.isinstance([1], list)
torch.jit.Attribute(3, int)
torch.jit.load('/nonexistent/file')
torch.jit.ignore(3)
f = lambda v: v; r = (torch.jit.ignore(f) is f, torch.jit.unused(f) is f, torch.jit.export(f) is f, vars(f))
torch.onnx.is_in_onnx_export()
torch.onnx.operators.shape_as_tensor(torch.ones(2, 3))
f = torch.futures.Future(); f.set_result(1); f.set_result(2)
f = torch.futures.Future(); g = f.then(lambda v: v.wait() + 1); f.set_result(1); r = (g.wait(), g.done(), f.value())
f = torch.futures.Future(); f.set_exception(ValueError('bad')); f.wait()
torch.futures.wait_all([])
torch.futures.Future().done()
pytree.tree_flatten({'a': [1, (2, None)], 'b': collections.OrderedDict(c=3)})
pytree.tree_map(lambda v: v * 2, {'a': [1, 2], 'b': (3,)})
pytree.tree_map(lambda v, w: v + w, [1, {'k': 2}], [10, {'k': 20}])
pytree.tree_map(lambda v, w: v + w, [1, 2], [10])
pytree.tree_map_only(int, lambda v: -v, [1, 'a', 2.5])
pytree.tree_unflatten([1], pytree.tree_flatten([1, 2])[1])
pytree.tree_flatten_with_path({'a': [1, 2]})[0]
pytree.keystr(pytree.tree_flatten_with_path({'a': [1, 2]})[0][1][0])
pytree.tree_any(lambda v: v > 2, [1, [2, 3]]), pytree.tree_all(lambda v: v > 2, [1, [2, 3]])
pytree.tree_flatten([1, [2, 3]], is_leaf=lambda v: v == [2, 3])[0]
pytree.treespec_dumps(pytree.tree_structure([1, {'a': 2}]))
pytree.tree_structure([1, {'a': 2}]) == pytree.treespec_loads(pytree.treespec_dumps(pytree.tree_structure([3, {'a': 4}])))
pytree.tree_structure(collections.deque([1], maxlen=2))
pytree.tree_structure([1, 2]).num_leaves, pytree.tree_structure([1, 2]).num_nodes, pytree.tree_structure([1]).is_leaf()
pytree._broadcast_to_and_flatten([1, 2], pytree.tree_structure([[1, 2], 3]))
x.is_cuda, x.is_xpu, x.is_mps, x.is_mtia, x.is_sparse, x.is_quantized, x.is_mkldnn, x.is_nested, x.get_device()
torch.device('cuda')
torch.device('cuda:1')
torch.device('cuda', 1)
torch.device('mps'), torch.device('xpu:0'), torch.device('hpu'), torch.device('mtia'), torch.device('privateuseone')
x.cuda()
x.to('cuda')
x.to('cuda:0')
x.to('xpu')
x.to('mps')
x.xpu()
torch.zeros(1, device='cuda')
torch.tensor([1.], device='cuda')
torch.randn(1, device='cuda')
torch.arange(3, device='cuda:0')
torch.empty_like(x, device='cuda')
torch.zeros(1, device='xpu')
torch.nn.Linear(2, 2).cuda()
torch.nn.Linear(2, 2).to('cuda')
torch.nn.Linear(2, 2).xpu()
torch.nn.Linear(2, 2, device='cuda')
torch.testing.assert_close(torch.tensor([1., 2.]), torch.tensor([1., 2.5]))
torch.testing.assert_close(torch.tensor([1., 2.]), torch.tensor([1., 2., 3.]))
torch.testing.assert_close(torch.tensor([1., 2.]), torch.tensor([1, 2]))
torch.testing.assert_close(1.0, 1.1)
torch.testing.assert_close(1, 2)
torch.testing.assert_close(1, 1.0)
torch.testing.assert_close('a', 'b')
torch.testing.assert_close([1.0, 2.0], [1.0, 2.1])
torch.testing.assert_close([1.0], [1.0, 2.1])
torch.testing.assert_close({'a':1.0}, {'a':1.1})
torch.testing.assert_close({'a':1.0}, {'b':1.1})
torch.testing.assert_close(torch.tensor([float('nan')]), torch.tensor([float('nan')]))
torch.testing.assert_close(torch.tensor([float('nan')]), torch.tensor([float('nan')]), equal_nan=True)
torch.testing.assert_close(torch.tensor([1.]), torch.tensor([1.1]), rtol=0.1)
torch.testing.assert_close(torch.tensor([1.]), torch.tensor([1.1]), rtol=0.1, atol=0)
torch.testing.assert_close(torch.tensor([1.]), torch.tensor([1.1]), rtol=0.01, atol=0.01)
torch.testing.assert_close(torch.tensor([1, 2, 3]), torch.tensor([1, 2, 4]))
torch.testing.assert_close(torch.tensor([[1, 2], [3, 5]]), torch.tensor([[1, 2], [3, 4]]))
torch.testing.assert_close(torch.tensor(1.), torch.tensor(2.))
torch.testing.assert_close(torch.tensor([True]), torch.tensor([False]))
torch.testing.assert_close(torch.tensor([1.]), torch.tensor([1.], dtype=torch.float64))
torch.testing.assert_close(torch.tensor([1.]), torch.tensor([1.], dtype=torch.float64), check_dtype=False)
torch.testing.assert_close(torch.ones(2, 2).t(), torch.ones(2, 2), check_stride=True)
torch.testing.assert_close(torch.ones(2, 3).t(), torch.ones(3, 2), check_stride=True)
torch.testing.assert_close(torch.tensor([1.]), torch.tensor([2.]), msg='hello')
torch.testing.assert_close(torch.ones(1, device='meta'), torch.ones(1))
torch.testing.assert_close(None, None)
torch.testing.assert_close(None, 1)
torch.testing.assert_close(True, False)
torch.testing.assert_close(torch.tensor([1+1j]), torch.tensor([1+2j]))
torch.testing.assert_close(np.ones(2), np.ones(2)*2)
torch.testing.assert_close([torch.tensor([1.]), torch.tensor([2.])], [torch.tensor([1.]), torch.tensor([3.])])
torch.testing.assert_close(1.0, float('nan'))
torch.testing.assert_close(torch.tensor([]), torch.tensor([]))
torch.testing.assert_close(torch.tensor([1.5e10, 1]), torch.tensor([1.5e10+3000, 1]))
torch.testing.make_tensor(3)
torch.manual_seed(0); r = torch.testing.make_tensor(3, dtype=torch.float32, device='cpu')
torch.manual_seed(0); r = torch.testing.make_tensor((2, 2), dtype=torch.int64, device='cpu', low=0, high=5)
torch.manual_seed(0); r = torch.testing.make_tensor((2, 2), dtype=torch.bool, device='cpu')
torch.manual_seed(0); r = torch.testing.make_tensor((2, 2), dtype=torch.float32, device='cpu', low=3, high=2)
torch.manual_seed(0); r = torch.testing.make_tensor((2, 2), dtype=torch.float32, device='cpu', noncontiguous=True).stride()
torch.manual_seed(0); r = torch.testing.make_tensor((2, 2), dtype=torch.float32, device='cpu', exclude_zero=True, requires_grad=True)
torch.manual_seed(0); r = torch.testing.make_tensor((2, 2), dtype=torch.complex64, device='cpu')
torch.manual_seed(0); r = torch.testing.make_tensor((2, 2), dtype=torch.uint8, device='cpu', low=-2)
""".strip().split("\n")


def plain(text: str) -> str:
    """A repr without addresses and package names."""
    text = re.sub(r"\b(0x)?[0-9a-f]{9,}\b", "ADDRESS", text)
    return text.replace("mindtorch_v2", "torch").replace("<string>", "").strip()


def answer(torch: Any, probe: str) -> dict[str, Any]:
    """What a torch says: {"value": repr} or {"error": [class, text]}, and the classes of warnings."""
    import collections
    import importlib

    pytree = importlib.import_module(f"{torch.__name__}.utils._pytree")
    space = {
        "torch": torch,
        "np": np,
        "x": torch.ones(2),
        "b": torch.backends,
        "pytree": pytree,
        "collections": collections,
        "r": None,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            try:
                code = compile(
                    f"r = {probe}" if not re.match(r"\w[\w.]* = |with ", probe) and "; r = " not in probe else probe,
                    "",
                    "exec",
                )
            except SyntaxError:
                code = compile(probe, "", "exec")
            exec(code, space)
            said: dict[str, Any] = {"value": plain(repr(space["r"]))}
        except Exception as error:  # noqa: BLE001 - errors are answers
            said = {"error": [type(error).__name__, plain(str(error))]}
    kinds = sorted({w.category.__name__ for w in caught} - {"DeprecationWarning"})
    return {**said, "warnings": kinds} if kinds else said
