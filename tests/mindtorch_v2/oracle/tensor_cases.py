"""Expressions about tensors as Python objects; what PyTorch shows for them is recorded as text."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

# Each line sees torch, np, copy, pickle, x (3x4 floats), i (5 integers), s (0-dim), z (empty), b (bools), c (complex),
# g (a leaf with a gradient) and h (computed from it). Several statements are separated by "; "; the last is the answer.
GROUPS: dict[str, str] = {
    "size": """
x.shape, x.size(), x.size(0), x.size(-1), x.shape[-1], x.shape[:1], x.shape[1:]
x.shape == (3, 4), x.shape == torch.Size([3, 4]), (3, 4) == x.shape, hash(x.shape) == hash((3, 4)), x.shape != (3, 5)
type(x.shape).__name__, repr(x.shape), str(torch.Size([])), torch.Size((2, 3)).numel(), torch.Size().numel()
x.shape + (1,), (1,) + x.shape, x.shape * 2, list(x.shape), tuple(x.shape), x.shape + x.shape
len(x.shape), x.shape.count(3), x.shape.index(4), 3 in x.shape, max(x.shape), [*x.shape]
torch.Size([1, 2])[0], isinstance(torch.Size([1])[:1], torch.Size), isinstance(torch.Size([1]) + (2,), torch.Size)
torch.Size([2.5])
torch.Size('ab')
torch.Size(3)
x.size(2)
x.size(-3)
s.size(0)
s.shape, s.size(), s.dim(), s.ndim, s.numel(), s.nelement(), s.stride()
x.dim(), x.ndim, x.ndimension(), x.numel(), x.nelement(), z.numel(), z.shape
x.stride(), x.stride(0), x.stride(-1), x.t().stride(), z.stride(), torch.empty(2, 0, 3).stride(), x[:, None].stride()
x.stride(2)
x.element_size(), x.itemsize, x.nbytes, b.element_size(), c.itemsize, i.nbytes, z.nbytes
x.is_contiguous(), x.t().is_contiguous(), x[:, 1:].is_contiguous(), z.is_contiguous(), x[:1].t().is_contiguous()
pickle.loads(pickle.dumps(x.shape)), copy.copy(x.shape), copy.deepcopy(x.shape)
""",
    "kind": """
x.dtype, i.dtype, b.dtype, c.dtype, s.dtype, x.layout, x.device, str(x.device), x.is_cpu, x.is_cuda, x.is_meta
x.is_floating_point(), i.is_floating_point(), c.is_complex(), b.is_signed(), torch.zeros(1, dtype=torch.uint8).is_signed(), x.is_signed()
x.is_sparse, x.is_quantized, x.get_device(), x.requires_grad, x.is_leaf, x.grad, x.grad_fn, x.output_nr, x.retains_grad
x.type(), i.type(), b.type(), c.type(), x.double().type(), x.half().type(), x.short().type(), x.char().type(), x.byte().type()
x.type(torch.int32).dtype, x.type('torch.DoubleTensor').dtype, x.type(torch.LongTensor).dtype, x.type_as(i).dtype
x.type('torch.NoTensor')
isinstance(x, torch.Tensor), torch.is_tensor(x), torch.is_tensor(3), torch.is_tensor(np.zeros(1)), torch.is_floating_point(x), torch.is_complex(c)
isinstance(x, torch.FloatTensor), isinstance(x, torch.LongTensor), isinstance(i, torch.LongTensor), isinstance(torch.nn.Parameter(x), torch.FloatTensor)
isinstance(torch.nn.Parameter(x), torch.Tensor), isinstance(torch.nn.Parameter(x), torch.nn.Parameter), isinstance(x, torch.nn.Parameter)
type(x).__name__, type(torch.nn.Parameter(x)).__name__, torch.typename(x), torch.typename(3)
repr(torch.float32), str(torch.int64), torch.float is torch.float32, torch.long is torch.int64, torch.double is torch.float64, torch.half is torch.float16
torch.float32.itemsize, torch.float32.is_floating_point, torch.int8.is_signed, torch.uint8.is_signed, torch.complex64.is_complex, torch.bool.itemsize
torch.float32.to_complex(), torch.complex128.to_real(), torch.float64.to_complex()
torch.float32 == torch.float, torch.float32 != torch.float64, hash(torch.float32) == hash(torch.float), {torch.int8: 1}[torch.int8]
pickle.loads(pickle.dumps(torch.float16)), copy.deepcopy(torch.int8) is torch.int8
x.is_inference(), x.is_pinned(), x.is_shared()
torch.numel(x), torch.is_nonzero(torch.tensor([1])), torch.is_storage(x)
""",
    "limits": """
torch.finfo(torch.float32).eps, torch.finfo(torch.float32).max, torch.finfo(torch.float32).min, torch.finfo(torch.float32).tiny
torch.finfo(torch.float64).eps, torch.finfo(torch.float16).max, torch.finfo(torch.float16).bits, torch.finfo(torch.float32).resolution
torch.finfo(torch.float32).smallest_normal, torch.finfo(torch.float32).dtype, torch.finfo().dtype, torch.finfo(torch.complex64).dtype
repr(torch.finfo(torch.float32)), repr(torch.finfo(torch.float64)), repr(torch.finfo(torch.float16))
torch.iinfo(torch.int32).max, torch.iinfo(torch.uint8).max, torch.iinfo(torch.int8).min, torch.iinfo(torch.int64).bits, torch.iinfo(torch.int16).dtype
repr(torch.iinfo(torch.int32)), repr(torch.iinfo(torch.uint8)), repr(torch.iinfo(torch.int64))
torch.finfo(torch.int32)
torch.iinfo(torch.float32)
torch.iinfo(torch.bool)
torch.get_default_dtype(), torch.tensor(1.5).dtype, torch.tensor([1, 2.0]).dtype, torch.tensor(1j).dtype, torch.ones(1).dtype, torch.tensor(True).dtype
torch.set_default_dtype(torch.float64); r = (torch.tensor(1.5).dtype, torch.ones(1).dtype, torch.tensor(1j).dtype, torch.arange(2.).dtype, (i / 2).dtype); torch.set_default_dtype(torch.float32); r
torch.set_default_dtype(torch.int64)
torch.set_default_dtype('float')
torch.can_cast(torch.float32, torch.int32), torch.can_cast(torch.int32, torch.float16), torch.promote_types(torch.int8, torch.uint8)
""",
    "convert": """
bool(torch.tensor(0)), bool(torch.tensor([2.5])), bool(torch.tensor([[True]])), bool(torch.tensor(float('nan'))), bool(torch.tensor(0j))
bool(x)
bool(z)
int(torch.tensor(3.9)), int(torch.tensor([-2])), int(torch.tensor(True)), float(torch.tensor(3)), float(torch.tensor([[2]])), complex(torch.tensor(2.0)), complex(torch.tensor(1j))
int(x)
float(z)
float(torch.tensor(1j))
int(torch.tensor(float('nan')))
int(torch.tensor(float('inf')))
s.item(), type(s.item()).__name__, type(i[0].item()).__name__, type(b[0].item()).__name__, type(c[0].item()).__name__, torch.tensor([[3]]).item()
x.item()
z.item()
[10, 20, 30][torch.tensor(1)], list(range(torch.tensor(3))), 'abc'[torch.tensor([2])], hex(torch.tensor(255)), '%d' % torch.tensor(7)
[1][torch.tensor(0.5)]
[1][torch.tensor([0, 0])]
[1, 2][torch.tensor(True)]
x.tolist(), s.tolist(), z.tolist(), b.tolist(), torch.zeros(2, 0).tolist(), torch.zeros(0, 2).tolist()
round(torch.tensor(2.567), 2), abs(torch.tensor(-3)), -torch.tensor([1.0]), +torch.tensor(2), divmod(7, 2), ~b
round(torch.tensor(2.5)), round(torch.tensor([1.25, -1.75]), 1), torch.tensor(3.7).__trunc__() if hasattr(torch.tensor(1.), '__trunc__') else 3
import math; math.ceil(torch.tensor(1.2)), math.floor(torch.tensor(1.8)), math.sqrt(torch.tensor(4.0))
~x
len(x), len(i), len(z)
len(s)
[r.tolist() for r in x], [v.item() for v in i], list(z), [type(v).__name__ for v in i][:1]
list(s)
a, d, e = x; a.tolist(), e.tolist()
3 in i, 9 in i, torch.tensor(1) in i, 2.5 in i, True in b
'a' in i
[1, 2] in i
[v.tolist() for v in reversed(torch.arange(3))], list(enumerate(torch.arange(2).tolist())), list(zip(i.tolist(), x[0].tolist()))
reversed(s).item(), reversed(x)[0].tolist()
sorted(torch.tensor([3, 1, 2])), max(torch.tensor([3, 1, 2])), min(i), sum(i), any(b), all(b)
i.tolist() == list(i), (i == i).all().item(), (i == None), (x != None), x == 'a', x != 'a', (s == 'a') is False
x < None
x < 'a'
{1: x}[1] is x, x in [x], hash(x) == hash(x), len({x, x, i}), x is x, isinstance(hash(x), int)
[x, i].index(x)
""",
    "format": """
f'{s}', f'{s:.3f}', f'{torch.tensor(7):05d}', f'{torch.tensor(True)}', '{:.2e}'.format(s), f'{torch.tensor(1.5j)}'
f'{x}'
f'{i}', str(i), repr(i), f'{i!r}', '%s' % s
f'{x:.2f}'
f'{torch.tensor([1.5]):.2f}'
format(s), format(s, '.1f'), format(i, '')
'{0} {0!r}'.format(torch.tensor(2))
""",
    "make": """
torch.Tensor([1, 2]).tolist(), torch.Tensor([1, 2]).dtype, torch.Tensor(2, 3).shape, torch.Tensor().shape, torch.Tensor(torch.Size([2])).shape
torch.FloatTensor([1, 2]).dtype, torch.LongTensor([1, 2]).dtype, torch.LongTensor(2, 3).shape, torch.DoubleTensor(3).dtype, torch.BoolTensor([True]).dtype
torch.ByteTensor([1]).dtype, torch.IntTensor([1]).dtype, torch.ShortTensor([1]).dtype, torch.HalfTensor([1]).dtype, torch.CharTensor([1]).dtype
torch.Tensor(i)
torch.Tensor(x).data_ptr() == x.data_ptr(), torch.Tensor(x) is x
torch.Tensor(2.5)
torch.Tensor('ab')
torch.Tensor([1], [2])
torch.LongTensor([1.5]).tolist()
torch.Tensor((2, 3)).tolist(), torch.Tensor(np.ones(2)).dtype, torch.Tensor([[1], [2]]).shape
x.new([1, 2]).dtype, x.new(2, 3).shape, i.new([3]).dtype, x.new().shape
x.new_tensor([1, 2]).dtype, x.new_zeros(2).dtype, i.new_ones(2, 2).dtype, i.new_full((2,), 7).tolist(), x.new_empty(2, 0).shape
torch.tensor([1, 2]).dtype, torch.tensor([True]).dtype, torch.tensor([[1.0, 2]]).shape, torch.tensor([]).dtype, torch.tensor([[], []]).shape, torch.tensor(()).shape
torch.tensor([[1, 2], [3]])
torch.tensor(['a'])
torch.tensor(None)
torch.tensor({1})
torch.tensor([1, 'a'])
torch.tensor(2**63)
torch.tensor([1, None])
torch.tensor(300, dtype=torch.uint8)
torch.tensor(-1, dtype=torch.uint8)
torch.tensor(1.5, dtype=torch.int32).item(), torch.tensor(np.float32(1.5)).dtype, torch.tensor(np.int16(3)).dtype, torch.tensor([np.float64(1)]).dtype, torch.tensor(range(3)).tolist()
torch.tensor(1j, dtype=torch.float32)
torch.tensor(1.0, requires_grad=True).requires_grad, torch.tensor([1.0], dtype=torch.float64, requires_grad=True).grad_fn
torch.tensor([1], requires_grad=True)
torch.as_tensor([1, 2]).tolist(), torch.as_tensor(x) is x, torch.as_tensor(x, dtype=torch.float64).dtype, torch.asarray([1.5]).dtype
torch.nn.Parameter(torch.ones(2)).requires_grad, torch.nn.Parameter(torch.ones(2), requires_grad=False).requires_grad, repr(torch.nn.Parameter(torch.ones(2)))
torch.nn.Parameter(i)
torch.nn.Parameter(i, requires_grad=False).dtype, torch.nn.Parameter().shape
torch.from_numpy([1])
torch.from_numpy(np.arange(3)[::-1])
torch.from_numpy(np.zeros(2, '>f4'))
torch.frombuffer(bytearray(b'abcd'), dtype=torch.uint8).tolist(), torch.frombuffer(bytearray(8), dtype=torch.int16, offset=2, count=2).shape
torch.frombuffer(bytearray(5), dtype=torch.int16)
torch.zeros(2, 3).shape, torch.zeros((2, 3)).shape, torch.zeros([2, 3]).shape, torch.zeros(torch.Size([1])).shape, torch.zeros(()).shape, torch.zeros(size=(2,)).shape
torch.zeros(-1)
torch.zeros(2.5)
torch.arange(5).tolist(), torch.arange(1, 6, 2).tolist(), torch.arange(0, 1, 0.25).tolist(), torch.arange(3.).dtype, torch.arange(5, 0, -2).tolist()
torch.arange(0, 5, -1)
torch.full((2,), 3).dtype, torch.full((2,), 3.0).dtype, torch.full((2,), True).dtype, torch.full((1,), 1j).dtype, torch.empty(2, 3, dtype=torch.int8).dtype
""",
    "device": """
torch.device('cpu'), torch.device('cpu', 0), torch.device('cpu:1'), torch.device(type='cpu'), torch.device('meta')
torch.device('cpu').type, torch.device('cpu').index, torch.device('cpu:1').index, str(torch.device('cpu:1')), repr(torch.device('meta'))
torch.device('cpu') == torch.device('cpu'), torch.device('cpu') == 'cpu', torch.device('cpu') != torch.device('cpu', 0), hash(torch.device('cpu')) == hash(torch.device('cpu'))
pickle.loads(pickle.dumps(torch.device('cpu:1'))), copy.deepcopy(torch.device('cpu')), isinstance(x.device, torch.device)
torch.device('cpu:a')
torch.device('cpu:1', 2)
torch.device(1.5)
torch.device('cpu', 'a')
torch.device('cpu').type = 'meta'
torch.zeros(2, device='cpu').device, torch.zeros(2, device=torch.device('cpu')).device, x.to('cpu') is x, x.to(torch.device('cpu')) is x, x.cpu() is x
torch.zeros(1, device='meta').device, torch.zeros(2, device='meta') + 1, x.to('meta'), x.to('meta').shape
x.to('meta').to('cpu')
torch.get_default_device()
torch.set_default_device('meta'); r = torch.zeros(1).device; torch.set_default_device('cpu'); r
with_meta = torch.device('meta').__enter__(); r = torch.zeros(1).device; torch.device('meta').__exit__(None, None, None); r
""",
    "views": """
v = x[1]; v._base is x, v._is_view(), x._is_view(), x._base, v.t()._base is x, v.data_ptr() - x.data_ptr(), v.storage_offset()
x.view(4, 3)._base is x, x.t().storage_offset(), x[1:, 2:].storage_offset(), x[:, None]._base is x, x.expand(2, 3, 4)._base is x
x.reshape(4, 3)._base is x, x.t().reshape(12)._base, x.flatten()._base is x, x.clone()._base, x.contiguous() is x, x.t().contiguous()._base
x.view(5, 3)
x.t().view(12)
x.view(-1, -1)
x.view(-1, 5)
z.view(-1)
z.view(2, -1)
x.view(2, -1).shape, x.view(-1).shape, x.view(1, 12, 1).shape, z.view(3, 0).shape, s.view(1, 1).shape, x.view(torch.Size([12])).shape, x.view([12]).shape
x.view(torch.int32).dtype, x.view(torch.int32)._base is x, x.double().view(torch.float32).shape, x.view(torch.int16).shape, b.view(torch.uint8).tolist()
x.view(torch.complex64).shape, x[:, :3].view(torch.float64)
x.detach()._base, x.detach().data_ptr() == x.data_ptr(), x.data.data_ptr() == x.data_ptr(), x.detach() is x
x[0].data_ptr() == x.data_ptr(), x[...]._base is x, x[...] is x, x[:]._base is x, x[()]._base is x, x[()].shape
x.squeeze()._base is x, x.squeeze() is x, x.unsqueeze(0).squeeze(0)._base is x, x.permute(0, 1)._base is x, x.movedim(0, 1).stride()
x.untyped_storage().nbytes(), x[1].untyped_storage().nbytes(), x.untyped_storage().data_ptr() == x[1].untyped_storage().data_ptr()
x.as_strided((2, 2), (4, 1)).tolist(), x.as_strided((2,), (1,), 5).tolist(), x[1].as_strided((2,), (1,)).tolist(), x[1].as_strided((2,), (1,), 0).tolist()
x.as_strided((20,), (1,))
x.as_strided((2,), (1, 1))
x.as_strided((2,), (-1,))
x.expand(4)
x.expand(2, -1, -1).shape, s.expand(2, 3).stride(), x[:1].expand(5, 4).stride(), x.expand(-1, 4).shape
x.expand(3, 5)
x.expand(-1, 3, 4)
x.expand(2, 3, 4).add_(1)
torch.broadcast_to(s, (2,)).mul_(2)
""",
    "versions": """
x._version, x.add_(1)._version, x.mul_(2)._version, x.zero_()._version
v = x[0]; v.add_(1); x.add_(1); v._version, x._version, x.t()._version
d = x.detach(); d.add_(1); x._version, d._version
e = x.data; e.add_(1); x._version, e._version
x[0] = 1; x._version, x.fill_(2)._version, x.clone()._version
x.copy_(torch.ones(3, 4)); x._version, torch.add(x, x, out=x)._version
with_grad = g * 1; with_grad.add_(1)._version, g._version
h = g.exp(); h.add_(1); h.sum().backward()
w = g * 2; y = w * w; w.add_(1); y.sum().backward()
g.add_(1)
g[0].mul_(2)
with torch.no_grad(): g.add_(1)
v = g.view(2); v.add_(1)
a, d = (g * 1).unbind(0); a.mul_(2)
a, d = (g * 1).split(1); a.mul_(2)
t = torch.zeros(2); t.add_(g); t.requires_grad, t.is_leaf, t.grad_fn.name()
t = torch.zeros(3); t[:2].add_(g); t.requires_grad, t.grad_fn.name(), t._version
""",
    "autograd": """
g.requires_grad, g.is_leaf, g.grad_fn, h.is_leaf, h.requires_grad, h.grad_fn.name(), h.detach().requires_grad, g.data.requires_grad
h.sum().backward(); g.grad.tolist(), h.grad
h.retain_grad(); h.sum().backward(); h.grad.tolist(), h.retains_grad, g.retains_grad
h.requires_grad = False
h.requires_grad_(False)
i.requires_grad_()
i.requires_grad = True
x.requires_grad_().requires_grad, x.requires_grad_(False).requires_grad
g.grad = torch.ones(3)
g.grad = 3
g.grad = torch.ones(2); g.grad.tolist(), g.grad is g.grad
g.numpy()
h.numpy()
h.detach().numpy().tolist(), g.detach().numpy().tolist(), h.numpy(force=True).tolist()
np.array(g)
g.tolist(), h.sum().item(), float(h.sum()), repr(g), repr(h)
copy.copy(g) is g, copy.copy(g).requires_grad, copy.deepcopy(g).requires_grad, copy.deepcopy(g) is g
copy.deepcopy(h)
pickle.loads(pickle.dumps(g)), pickle.loads(pickle.dumps(g)).requires_grad
x.backward()
h.backward()
h.backward(torch.ones(3))
h.sum().backward(torch.tensor(2.0)); g.grad.tolist()
h.sum().backward(); h.sum().backward()
h.sum().backward(retain_graph=True); h.sum().backward(); g.grad.tolist()
g.register_hook(lambda v: v * 3); h.sum().backward(); g.grad.tolist()
x.register_hook(lambda v: v)
x.retain_grad()
g.detach_(); g.requires_grad
h.detach_(); h.requires_grad, h.grad_fn
h.grad_fn.next_functions[0][0].name(), h.grad_fn.next_functions[0][1], h.sum().grad_fn.next_functions[0][0] is h.grad_fn
""",
    "copies": """
y = copy.deepcopy(x); y.data_ptr() != x.data_ptr(), torch.equal(x, y), type(y).__name__, y.stride(), copy.deepcopy(x.t()).stride()
p = copy.deepcopy(torch.nn.Parameter(x)); type(p).__name__, p.requires_grad, p.grad
g.grad = torch.ones(2); copy.deepcopy(g).grad.tolist(), copy.deepcopy(g).grad is g.grad
l = copy.deepcopy([x, x, x[0]]); l[0] is l[1], l[0].data_ptr() == l[2].data_ptr(), l[2].tolist() == x[0].tolist()
y = copy.copy(x); y is x, y.data_ptr() == x.data_ptr()
pickle.loads(pickle.dumps(x)).equal(x), pickle.loads(pickle.dumps(i)).dtype, pickle.loads(pickle.dumps(s)).shape, pickle.loads(pickle.dumps(b)).tolist()
pickle.loads(pickle.dumps(x.t())).equal(x.t()), pickle.loads(pickle.dumps(x.t())).stride(), pickle.loads(pickle.dumps(h)).requires_grad, pickle.loads(pickle.dumps(h)).is_leaf
type(pickle.loads(pickle.dumps(torch.nn.Parameter(x)))).__name__, pickle.loads(pickle.dumps(torch.nn.Parameter(x))).requires_grad
l = pickle.loads(pickle.dumps([x, x])); l[0] is l[1]
x.clone().stride(), x.t().clone().stride(), x.t().clone(memory_format=torch.contiguous_format).stride(), x.expand(2, 3, 4).clone().stride(), x[:, ::2].clone().stride()
x.to(torch.float32) is x, x.to(torch.float32, copy=True) is x, x.float() is x, x.double() is x, x.type_as(x) is x, x.to(x) is x, x.to(i).dtype
x.to('float64')
x.set_(torch.ones(2)).tolist(), x.shape
x.resize_(2, 2).tolist(), x.resize_(13).shape
t = torch.ones(2); t.data = torch.zeros(3); t.tolist(), t.shape
""",
    "numpy": """
x.numpy().tolist(), type(x.numpy()).__name__, x.numpy().dtype, x.t().numpy().strides, s.numpy().shape, b.numpy().dtype, c.numpy().dtype
a = x.numpy(); a[0, 0] = 99; x[0, 0].item(), np.shares_memory(a, x.numpy()), x._version
a = np.zeros(3); t = torch.from_numpy(a); a[1] = 5; t[2] = 7; t.tolist(), a.tolist(), t.dtype
np.asarray(x).shape, np.array(x).dtype, np.asarray(x, dtype=np.float64).dtype, np.shares_memory(np.asarray(x), x.numpy()), np.shares_memory(np.array(x), x.numpy())
np.sin(s), np.isnan(s), np.exp(x[0]), np.maximum(x[0], 1)
x + np.ones(4, np.float32)
(np.float64(2) * x).dtype, (x * np.float64(2)).dtype, (x * np.float32(2)).dtype, (x + np.int64(1)).dtype, (i + np.int64(1)).dtype, (i * np.float64(0.5)).dtype
np.ones(4, np.float32) * x[0]
x[np.array([0, 1])].shape, x[np.int64(1)].shape, x[np.array([True, False, True])].shape, x[:, np.array(2)].shape, x[np.array(0), np.array([1, 2])].shape
torch.tensor(np.ones((2, 2))).dtype, torch.as_tensor(np.ones(2, np.float32)).dtype, torch.tensor([np.array([1, 2]), np.array([3, 4])]).shape, torch.tensor(np.array(3)).shape
np.array([torch.tensor(1.0), torch.tensor(2.0)]).dtype, np.array(torch.ones(2, 2)).shape, np.stack([torch.ones(2), torch.ones(2)]).shape
torch.zeros(2, device='meta').numpy()
memoryview(x.numpy()).shape, bytes(torch.tensor([1, 2], dtype=torch.uint8).numpy())
x.numpy().flags.writeable, torch.from_numpy(np.broadcast_to(np.ones(1), (3,))).stride()
""",
    "attributes": """
x.foo = 3; x.foo, hasattr(x, 'bar'), 'foo' in dir(x) or True, x.__dict__.get('foo')
x.bar
del x.foo
x.T.shape, x.mT.shape, x.real is x, c.imag.dtype, c.real.dtype
x.real.data_ptr() == x.data_ptr(), c.real._base is c
x.imag
x.H.shape, x.mH.shape
s.T.shape
s.mT
x.nonexistent_method()
x.__array_priority__, x.is_nested
x()
x[0, 0, 0]
x['a']
x[5]
x[-4]
x[:, 4]
x[1.5]
x[::-1]
x[::0]
s[0]
s[None].shape, s[...].shape, s[()].shape
x[0][1], x[0, 1], x[-1, -1], x[1, ..., 2], x[..., 0].tolist(), x[None].shape, x[:, None, :].shape, x[True].shape, x[False].shape
x[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]
x[torch.tensor([3])]
x[torch.tensor([True, False])]
x[torch.tensor([0.5])]
x[[0, 2]].tolist(), x[[True, False, True]].shape, x[(0, 1)].item(), x[range(2)].shape
x[0] = 'a'
x[0] = [1.0, 2.0, 3.0, 4.0]
x[0] = torch.ones(3)
x[5] = 1
x[0, 0] = torch.tensor(7.5); x[0, 0].item()
i[0] = 2.7; i.tolist()
x += 1; x[0].tolist(), x is x
y = x; y *= 2; x is y, x[0].tolist()
i += 0.5
i /= 2
t = i.clone(); t //= 2; t.tolist(), (t ** 2).tolist(), (2 ** t).tolist(), (t % 2).tolist(), (7 // (t + 1)).tolist(), (t << 1).tolist()
1 - x[0], 1 / x[0, 1], 2 ** x[0], 5 % torch.tensor(3), 7 // torch.tensor(2), 1.5 + i, True + i, 1j * s
x @ x
x @ x.t(), (x @ x[0]).shape, x.matmul(x.mT).shape
x + 'a'
x + None
x + [1]
None + x
x & 1
b & True, b | b, b ^ 1, i & 3, i | 1, i >> 1
x.add('a')
x.sum('a')
torch.sum()
torch.cat(x)
torch.cat([x, 3])
""",
}
CASES = [(group, line) for group, lines in GROUPS.items() for line in lines.strip().splitlines()]
_SPACE_KEYS = re.compile(r"0x[0-9a-f]+")


def _inputs(torch: Any) -> dict[str, Any]:
    import copy
    import pickle

    g = torch.tensor([1.0, 2.0], requires_grad=True)
    return {
        "torch": torch,
        "np": np,
        "copy": copy,
        "pickle": pickle,
        "x": torch.arange(12.0).reshape(3, 4).clone(),
        "i": torch.arange(5),
        "s": torch.tensor(1.5),
        "z": torch.zeros(0, 3),
        "b": torch.tensor([True, False, True]),
        "c": torch.tensor([1 + 2j, 3 - 1j]),
        "g": g,
        "h": g * 3,
    }


def show(torch: Any, line: str) -> str:
    """What the last expression of a line shows, or the error."""
    space = _inputs(torch)
    *body, last = line.split("; ")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec("\n".join(body), space)
            try:
                code = compile(last, "case", "eval")
            except SyntaxError:
                exec(last, space)
                return "done"
            value = eval(code, space)
            text = repr(value)
    except Exception as error:  # noqa: BLE001 - the error is the answer
        text = f"{type(error).__name__}: {error}".split("\n")[0]
    return _SPACE_KEYS.sub("0x", text)
