"""Creation ops and torch.tensor with its relatives."""
from __future__ import annotations

from .harness import Case, In

X = In((3, 4))

_VALUES = [
    "torch.zeros(2, 3)", "torch.zeros((2, 3))", "torch.zeros([2, 0])", "torch.zeros(())", "torch.zeros(2, dtype=torch.int32)",
    "torch.zeros(size=(2,))", "torch.zeros(2, dtype=int)", "torch.zeros(2, dtype=bool)", "torch.ones(2, 3)",
    "torch.ones(2, dtype=torch.bool)", "torch.ones(2, dtype=torch.complex64)", "torch.ones(2, 2, dtype=torch.float16)",
    "torch.ones(torch.tensor(2), 3)", "torch.zeros(torch.Size([2, 1]))",
    "torch.full((2, 3), 1.5)", "torch.full((2,), 7)", "torch.full((2,), True)", "torch.full((2,), 1+2j)",
    "torch.full((2,), 3, dtype=torch.float64)", "torch.full([2, 2], 2.7, dtype=torch.int64)", "torch.full((), 4)",
    "torch.full(size=(2,), fill_value=3)", "torch.full((2,), torch.tensor(2.5))",
    "torch.eye(3)", "torch.eye(2, 3)", "torch.eye(3, 2, dtype=torch.int64)", "torch.eye(0)", "torch.eye(2, dtype=torch.bool)",
    "torch.arange(5)", "torch.arange(2, 7)", "torch.arange(1, 10, 3)", "torch.arange(5.)", "torch.arange(0, 1, 0.25)",
    "torch.arange(3, 0, -1)", "torch.arange(5, dtype=torch.float32)", "torch.arange(0, 6, 2, dtype=torch.int32)",
    "torch.arange(end=4)", "torch.arange(start=1, end=4)", "torch.arange(1, 2.5, 0.5)", "torch.arange(0)", "torch.arange(True)",
    "torch.arange(4, dtype=torch.uint8)", "torch.arange(0, 10, 3, dtype=torch.float16)", "torch.arange(torch.tensor(3))",
    "torch.arange(-3, 3)", "torch.arange(5, -5, -2.5)",
    "torch.linspace(0, 1, 5)", "torch.linspace(-1, 1, 4, dtype=torch.float64)", "torch.linspace(3, 3, 2)", "torch.linspace(0, 1, 1)",
    "torch.linspace(0, 1, 0)", "torch.linspace(0, 10, 4, dtype=torch.int64)", "torch.linspace(5, -5, 6)",
    "torch.linspace(start=0, end=2, steps=3)", "torch.linspace(torch.tensor(1.), 2, 3)", "torch.linspace(0, 1+2j, 3)",
    "torch.logspace(0, 2, 3)", "torch.logspace(0, 3, 4, base=2)", "torch.logspace(-1, 1, 3, dtype=torch.float64)",
    "torch.logspace(0, 2, 3, dtype=torch.int32)", "torch.range(0, 3)", "torch.range(0, 1, 0.25)",
    "torch.scalar_tensor(3)", "torch.scalar_tensor(2.5, dtype=torch.float64)", "torch.scalar_tensor(True)",
    "torch.tensor(1)", "torch.tensor(1.5)", "torch.tensor(True)", "torch.tensor(1+2j)", "torch.tensor([1, 2, 3])",
    "torch.tensor([1., 2.])", "torch.tensor([[1, 2], [3, 4]])", "torch.tensor([1, 2.5])", "torch.tensor([True, 2])",
    "torch.tensor([True, False])", "torch.tensor([True, 2.])", "torch.tensor([1, 2j])", "torch.tensor([])", "torch.tensor([[], []])",
    "torch.tensor((1, 2))", "torch.tensor([(1, 2), (3, 4)])", "torch.tensor(range(4))", "torch.tensor([1, 2], dtype=torch.float64)",
    "torch.tensor([1.7, -1.7], dtype=torch.int64)", "torch.tensor([0., 2.], dtype=torch.bool)", "torch.tensor(-1, dtype=torch.uint8)",
    "torch.tensor([1, 2], dtype=float)", "torch.tensor(1e40)", "torch.tensor([float('nan'), float('inf'), -float('inf')])",
    "torch.tensor([1., 2.], requires_grad=True)", "torch.tensor(np.float64(1.5))", "torch.tensor(np.float32(1.5))",
    "torch.tensor(np.int32(3))", "torch.tensor([np.float64(1.5)])", "torch.tensor([np.float32(1.5), 2.])",
    "torch.tensor([np.int16(3), np.int32(4)])", "torch.tensor(np.arange(3))", "torch.tensor(np.ones((2, 2)))",
    "torch.tensor(np.ones((2, 2), np.float32), dtype=torch.float64)", "torch.tensor([np.ones(2), np.zeros(2)])",
    "torch.tensor([torch.tensor(1.), torch.tensor(2.)])", "torch.tensor(np.array(3))", "torch.tensor([[1, 2.], [True, 3]])",
    "torch.as_tensor([1, 2])", "torch.as_tensor(3.)", "torch.as_tensor(np.arange(3))", "torch.as_tensor([1, 2], dtype=torch.float16)",
    "torch.as_tensor(np.arange(3), dtype=torch.float32)", "torch.from_numpy(np.arange(6).reshape(2, 3))",
    "torch.from_numpy(np.arange(12.).reshape(3, 4).T)", "torch.from_numpy(np.arange(12.)[::2])", "torch.from_numpy(np.array([True]))",
    "torch.from_numpy(np.zeros(2, np.complex128))", "torch.frombuffer(bytearray(range(8)), dtype=torch.int32)",
    "torch.frombuffer(bytearray(range(9)), dtype=torch.int16, count=2, offset=3)", "torch.asarray([1, 2])",
    "torch.asarray(np.arange(3), dtype=torch.float32)", "torch.asarray([1., 2.], requires_grad=True)",
    "torch.asarray(bytearray(range(8)), dtype=torch.int16)", "torch.Tensor([1, 2])", "torch.Tensor()", "torch.Tensor(2, 3).shape",
]
_NO_VALUES = [
    "torch.empty(2, 3)", "torch.empty((2, 3), dtype=torch.int64)", "torch.empty(0)", "torch.empty_strided((2, 3), (1, 2))",
    "torch.empty_strided((2, 2), (10, 3))", "torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)",
    "torch.empty(2, requires_grad=True)", "torch.empty((2, 0, 3))",
]
_LIKE = {
    "zeros_like": "torch.zeros_like(a)", "zeros_like_dtype": "torch.zeros_like(a, dtype=torch.int8)", "ones_like": "torch.ones_like(a)",
    "ones_like_double": "torch.ones_like(a, dtype=torch.float64)", "full_like": "torch.full_like(a, 3)",
    "full_like_dtype": "torch.full_like(a, 2.5, dtype=torch.float64)", "new_zeros": "a.new_zeros(2, 3)",
    "new_zeros_list": "a.new_zeros((2, 3), dtype=torch.int8)", "new_ones": "a.new_ones(2)", "new_full": "a.new_full((2,), 3)",
    "new_tensor": "a.new_tensor([1, 2])", "new_tensor_dtype": "a.new_tensor([1, 2], dtype=torch.int32)",
    "zeros_like_contiguous": "torch.zeros_like(a, memory_format=torch.contiguous_format)",
}
_LIKE_NO_VALUES = {
    "empty_like": "torch.empty_like(a)", "empty_like_dtype": "torch.empty_like(a, dtype=torch.int16)", "new_empty": "a.new_empty(2, 3)",
    "new_empty_strided": "a.new_empty_strided((2, 3), (1, 2))",
}
_INPUTS = {"x": X, "t": In((3, 4), layout="transposed"), "st": In((3, 4), layout="strided"), "i": In((2, 2), "int64"),
           "b": In((2, 2), "bool"), "h": In((2,), "float16"), "s": In(()), "c": In((2,), "complex64")}
_LAYOUTS = {"permuted": "torch.empty_like(a.permute(2, 0, 1))", "expanded": "torch.empty_like(a[0, 0].expand(4, 4))",
            "stepped": "torch.empty_like(a[:, ::2].permute(1, 2, 0))", "middle": "torch.empty_like(a[:, 1:2].expand(2, 5, 4))"}
_ERRORS = [
    "torch.empty(-1, 2)", "torch.zeros(2, -3)", "torch.full(2, 1.)", "torch.full((2,), None)", "torch.eye(-1)", "torch.eye(3, -1)",
    "torch.arange(5, 2)", "torch.arange(1, 5, 0)", "torch.arange(0, float('inf'))", "torch.arange(3, dtype=torch.bool)",
    "torch.linspace(0, 1, -1)", "torch.empty_strided((2, 2), (1,))", "torch.empty(2, 3, memory_format=torch.channels_last)",
    "torch.empty(2, 3, memory_format=torch.preserve_format)", "torch.zeros(2, foo=1)", "torch.range(1, 0)",
    "torch.zeros(2, dtype=torch.int64, requires_grad=True)", "torch.tensor([[1, 2], [3]])", "torch.tensor([[1, 2], 3])",
    "torch.tensor([1, [2]])", "torch.tensor('abc')", "torch.tensor([None])", "torch.tensor(None)", "torch.tensor(['a'])",
    "torch.tensor({1: 2})", "torch.tensor(300, dtype=torch.uint8)", "torch.tensor(2 ** 70)", "torch.tensor([2 ** 63])",
    "torch.tensor([1+2j], dtype=torch.float32)", "torch.tensor([torch.ones(2), torch.ones(2)])",
    "torch.tensor(float('nan'), dtype=torch.int64)", "torch.tensor([1, 2], requires_grad=True)", "torch.tensor([1, 2], foo=3)",
    "torch.from_numpy([1])", "torch.from_numpy(np.arange(3)[::-1])", "torch.from_numpy(np.arange(3, dtype='>i4'))",
    "torch.from_numpy(np.float32(3))", "torch.frombuffer(bytearray(9), dtype=torch.float32)",
    "torch.frombuffer(bytearray(0), dtype=torch.float32)", "torch.frombuffer(bytearray(4), dtype=torch.float32, count=2)",
    "torch.frombuffer(bytearray(4), dtype=torch.float32, offset=4)", "torch.asarray([1, 2], copy=False)",
    "torch.asarray(torch.ones(2), dtype=torch.float64, copy=False)", "torch.zeros(2.)", "torch.zeros('a')",
]

CASES = [Case(code, code) for code in _VALUES]
CASES += [Case(code, code, values=False) for code in _NO_VALUES]
CASES += [Case(f"{name}-{key}", code, a=spec) for name, code in _LIKE.items() for key, spec in _INPUTS.items()
          if not (name.startswith("new_tensor") and key == "c")]
CASES += [Case(f"{name}-{key}", code, values=False, a=spec) for name, code in _LIKE_NO_VALUES.items() for key, spec in _INPUTS.items()]
CASES += [Case(f"layout-{name}", code, values=False, a=In((2, 3, 4))) for name, code in _LAYOUTS.items()]
CASES += [Case(f"error-{code}", code) for code in _ERRORS]
CASES += [
    Case("shares_memory", "n = np.zeros(3); t = torch.from_numpy(n); t[1] = 5; n[1].item()"),
    Case("as_tensor_shares", "n = np.zeros(3); t = torch.as_tensor(n); n[0] = 2; t"),
    Case("tensor_copies", "n = np.zeros(3); t = torch.tensor(n); n[0] = 2; t"),
    Case("as_tensor_same", "torch.as_tensor(a) is a", a=X),
    Case("asarray_same", "torch.asarray(a) is a", a=X, grad=False),
    Case("asarray_copy", "torch.asarray(a, copy=True) is a", a=X, grad=False),
    Case("tensor_of_tensor", "torch.tensor(a)", a=X, grad=False),
    Case("requires_grad", "t = torch.ones(2, requires_grad=True); (t * 3).sum().backward(); t.grad"),
    Case("full_requires_grad", "torch.full((2,), 2., requires_grad=True).requires_grad"),
    Case("zeros_out", "o = torch.empty(0); torch.zeros(2, 2, out=o); o"),
    Case("arange_out", "o = torch.empty(3); torch.arange(3, out=o); o"),
    Case("meta_zeros", "t = torch.zeros(2, 3, device='meta'); [t.shape, t.device.type, t.dtype]"),
    Case("meta_arange", "t = torch.arange(5, device='meta'); [t.shape, t.dtype]"),
    Case("meta_like", "t = torch.ones_like(torch.empty(2, 3, device='meta')); [t.shape, t.device.type]"),
    Case("meta_views", "t = torch.empty(4, 6, device='meta'); [t.t().stride(), t[1:, ::2].shape, t.view(3, 8).shape, "
         "t.expand(2, 4, 6).stride(), t[:, ::2].expand(2, 4, 3).stride(), t.unfold(0, 2, 1).stride()]"),
    Case("meta_cat", "t = torch.empty(4, 6, device='meta'); [torch.cat([t, t]).shape, torch.stack([t, t], 1).shape, t.repeat(2, 2).shape]"),
    Case("meta_to", "torch.ones(2).to('meta').device.type"),
    Case("meta_random", "[torch.rand(2, device='meta').shape, torch.randperm(4, device='meta').dtype, torch.randn(3, device='meta').shape]"),
    Case("default_dtype", "torch.set_default_dtype(torch.float64); d = [torch.zeros(1).dtype, torch.tensor(1.).dtype, "
         "torch.arange(1.).dtype, torch.tensor(1j).dtype, torch.rand(1).dtype]; torch.set_default_dtype(torch.float32); d"),
    Case("default_device", "torch.set_default_device('meta'); d = [torch.zeros(1).device.type, torch.tensor(1.).device.type]; "
         "torch.set_default_device('cpu'); d"),
]
