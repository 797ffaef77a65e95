"""Tensors as Python objects: attributes, protocols, sharing of memory, conversion, and their errors."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref

import numpy as np
import pytest

import mindtorch_v2 as torch

from .oracle import harness, tensor_cases

RECORDED = harness.load("tensor")


@pytest.mark.parametrize("line", [pytest.param(line, id=f"{group}-{line}") for group, line in tensor_cases.CASES])
def test_shows_what_pytorch_shows(line: str) -> None:
    expected = RECORDED[line]
    if line == "del x.foo" and sys.version_info < (3, 11):
        expected = "AttributeError: foo"  # the interpreter's own words, which 3.11 changed
    assert tensor_cases.show(torch, line) == expected


# --- memory
def test_a_tensor_keeps_its_array_alive_and_no_longer() -> None:
    a = np.arange(3.0)
    t = torch.from_numpy(a)
    view = t[1:]
    del a, t
    gc.collect()
    assert view.tolist() == [1.0, 2.0] and view._base.tolist() == [0.0, 1.0, 2.0]
    gone = weakref.ref(view._base)
    del view
    assert gone() is None


def test_tensors_are_freed_without_the_collector() -> None:
    x = torch.ones(3, requires_grad=True)
    gc.disable()
    try:
        y = (x * 2).sum()
        refs = [weakref.ref(y), weakref.ref(y.grad_fn)]
        y.backward()
        del y
        assert [r() for r in refs] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t[1:],
        lambda t: t.view(-1),
        lambda t: t.t(),
        lambda t: t.detach(),
        lambda t: t.data,
        lambda t: torch.from_numpy(t.numpy()),
        lambda t: torch.as_tensor(t.numpy()),
        lambda t: t.unfold(0, 2, 1),
    ],
)
def test_what_shares_memory_sees_writes(make) -> None:
    t = torch.zeros(3, 3)
    shared = make(t)
    t.fill_(5)
    assert (
        (shared == 5).all()
        and shared.untyped_storage().data_ptr() == t.untyped_storage().data_ptr()
        or shared.data_ptr() >= t.data_ptr()
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.clone(),
        lambda t: torch.tensor(t.numpy()),
        lambda t: t.double(),
        lambda t: t + 0,
        lambda t: copy.deepcopy(t),
        lambda t: pickle.loads(pickle.dumps(t)),
        lambda t: t[[0, 1, 2]],
        lambda t: t.to(torch.float32, copy=True),
        lambda t: np.array(t),
    ],
)
def test_copies_do_not_see_writes(make) -> None:
    t = torch.zeros(3, 3)
    apart = make(t)
    t.fill_(5)
    assert (apart == 0).all()


def test_storage_offsets_count_from_the_first_element_of_the_storage() -> None:
    a = np.arange(24.0).reshape(4, 6)
    t = torch.from_numpy(a[1:, 2:])  # the array is a view, but the tensor's storage begins with its first element
    assert t.storage_offset() == 0 and t[1:].storage_offset() == 6 and t.stride() == (6, 1)
    assert t.untyped_storage().nbytes() == (2 * 6 + 4) * 8
    x = torch.arange(12.0).reshape(3, 4)
    for view, offset in (
        (x[1, 2:], 6),
        (x[:, 1].expand(2, 3), 1),
        (x.t()[2:], 2),
        (x.unfold(1, 2, 2)[1], 4),
        (x.diagonal(1), 1),
    ):
        assert view.storage_offset() == offset
        assert torch.equal(torch.as_strided(x, view.size(), view.stride(), view.storage_offset()), view)
    c = torch.ones(3, 4, dtype=torch.complex64)[:, 1:]
    assert (torch.view_as_real(c).storage_offset(), c.imag.storage_offset()) == (2, 3)


def test_deepcopy_keeps_sharing() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    one, two, flipped = copy.deepcopy([x, x[1], x.t()])
    one.zero_()
    assert not two.any() and not flipped.any() and x.sum() == 15
    assert copy.deepcopy(x[:, 1:]).storage_offset() == 1
    module = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)])
    module[1].weight = module[0].weight
    made = copy.deepcopy(module)
    assert made[0].weight is made[1].weight and made[0].weight is not module[0].weight


def test_attributes_survive_copies_of_subclasses() -> None:
    class Named(torch.Tensor):
        pass

    t = torch.ones(2)
    t.note = "kept"
    assert copy.deepcopy(t).note == "kept"
    assert isinstance(Named([1.0]), Named) and Named([1.0]).tolist() == [1.0]


def test_expanded_memory_cannot_be_written() -> None:
    for t in (torch.zeros(1).expand(3), torch.zeros(3, 1).expand(3, 2).t(), torch.ones(1).expand(2).detach()):
        for write in (
            lambda t: t.add_(1),
            lambda t: t.fill_(1),
            lambda t: t.copy_(torch.ones_like(t)),
            lambda t: t.exp_(),
            lambda t: t.zero_(),
        ):
            with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
                write(t)
    one = torch.zeros(1).expand(1)  # nothing is repeated
    assert one.add_(1).item() == 1


def test_read_only_arrays_make_read_only_tensors() -> None:
    a = np.zeros(3)
    a.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        t = torch.from_numpy(a)
    for write in (lambda: t.add_(1), lambda: t.__setitem__(0, 1.0), lambda: t.fill_(2)):
        with pytest.raises((RuntimeError, ValueError), match="read-only"):
            write()
    assert t.tolist() == [0, 0, 0]


# --- detaching
def test_a_detached_tensor_has_a_history_of_its_own() -> None:
    w = torch.nn.Parameter(torch.ones(2))
    g = torch.full((2,), 3.0, requires_grad=True)
    d = w.detach()
    assert d._base is None and not d._is_view() and d._version == w._version
    d.add_(g)
    assert d.requires_grad and d.grad_fn.name() == "AddBackward0" and w.grad_fn is None
    d.sum().backward()
    assert g.grad.tolist() == [1, 1] and w.grad is None
    assert w.tolist() == [4, 4] and w._version == 1


def test_data_is_written_without_being_noticed() -> None:
    w = torch.ones(2, requires_grad=True)
    y = (w * w).sum()
    w.data.mul_(2)
    assert w._version == 0
    y.backward()
    assert w.grad.tolist() == [4, 4]


def test_a_write_between_forward_and_backward_is_noticed_through_any_alias() -> None:
    for alias in (lambda t: t, lambda t: t.detach(), lambda t: t[0:1], lambda t: t.view(2, 1)):
        x = torch.ones(2, requires_grad=True) * 1
        y = x * x
        with torch.no_grad():
            alias(x).add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_gradients_must_fit() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype 'double'"):
        x.grad = torch.ones(2, dtype=torch.float64)
    x.grad = torch.ones(2)
    del x.grad
    assert x.grad is None


# --- numpy
@pytest.mark.parametrize(
    "name",
    ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128", "bool"],
)
def test_the_bridge_to_numpy_copies_nothing(name: str) -> None:
    for array in (
        np.ones((2, 3), name),
        np.ones((3, 4), name).T[1:],
        np.ones((4, 4), name)[::2, 1::2],
        np.ones((), name),
        np.ones((0, 3), name),
    ):
        t = torch.from_numpy(array)
        assert t.dtype is getattr(torch, name) and t.shape == array.shape
        back = t.numpy()
        assert back.dtype == array.dtype and (back.strides == array.strides or not array.size)
        assert np.shares_memory(back, array) or not array.size
        assert t.data_ptr() == array.__array_interface__["data"][0] or not array.size


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_tensor_that_requires_grad_is_an_array_where_nothing_records(mode) -> None:
    t = torch.ones(2, requires_grad=True)
    with mode():
        assert np.shares_memory(t.numpy(), t.detach().numpy())
        assert np.asarray(t).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        t.numpy()


def test_strides_that_split_elements_are_refused() -> None:
    with pytest.raises(ValueError, match="not a multiple of the element byte size"):
        torch.from_numpy(np.zeros(3, [("a", "i1"), ("b", "<f4")])["b"])


def test_numpy_functions_give_tensors() -> None:
    t = torch.tensor([1.0, 4.0])
    assert isinstance(np.sqrt(t), torch.Tensor) and np.sqrt(t).tolist() == [1, 2]
    assert isinstance(t + np.ones(2, np.float32), torch.Tensor)
    assert np.asarray(t, dtype=np.float64).dtype == np.float64


# --- devices
def test_devices_are_values() -> None:
    assert torch.device(torch.device("cpu", 1)).index == 1
    with pytest.raises(AttributeError, match="not writable"):
        torch.device("cpu").index = 2
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.zeros(1, device="cuda")
    with pytest.raises(RuntimeError, match="at start of device string: potato"):
        torch.device("potato")
    with torch.device("meta"):
        with torch.device("cpu"):
            assert torch.zeros(1).is_cpu
        assert torch.zeros(1).is_meta


@pytest.mark.skipif(torch.npu.is_available(), reason="an NPU is there")
def test_without_an_npu_the_questions_are_answered() -> None:
    assert torch.npu.is_available() is False and torch.npu.device_count() == 0
    assert torch.device("npu:1").index == 1 and str(torch.device("npu")) == "npu"
    for use in (
        lambda: torch.zeros(1, device="npu"),
        lambda: torch.zeros(1).to("npu"),
        lambda: torch.npu.synchronize(),
    ):
        with pytest.raises(RuntimeError, match="npu"):
            use()


# --- errors leave everything as it was
@pytest.mark.parametrize(
    "fail",
    [
        lambda t: t.add_(torch.ones(5)),
        lambda t: t.copy_(torch.ones(7)),
        lambda t: t.mul_(1j),
        lambda t: t.__setitem__(0, torch.ones(9)),
        lambda t: t.index_put_((torch.tensor([7]),), torch.tensor(1.0)),
        lambda t: t.scatter_(0, torch.tensor([9]), 1.0),
        lambda t: t.view(5),
        lambda t: torch.add(t, torch.ones(5), out=t),
        lambda t: t.resize_(-1),
        lambda t: t.requires_grad_("no", 1),
        lambda t: t.fill_(torch.ones(2)),
    ],
)
def test_a_failed_write_changes_nothing(fail) -> None:
    t = torch.arange(4.0)
    before = (t.tolist(), t.shape, t.data_ptr(), t._version, t.requires_grad, t.dtype)
    with pytest.raises((RuntimeError, TypeError, IndexError)):
        fail(t)
    assert (t.tolist(), t.shape, t.data_ptr(), t._version, t.requires_grad, t.dtype) == before


def test_threads_have_gradient_modes_of_their_own() -> None:
    import threading

    seen = {}
    with torch.no_grad():
        thread = threading.Thread(
            target=lambda: seen.update(
                grad=torch.is_grad_enabled(), made=(torch.ones(1, requires_grad=True) * 2).requires_grad
            )
        )
        thread.start()
        thread.join()
        assert not (torch.ones(1, requires_grad=True) * 2).requires_grad
    assert seen == {"grad": True, "made": True}


@pytest.mark.parametrize(
    "make",
    [
        lambda layout: torch.zeros(2, layout=layout),
        lambda layout: torch.ones(2, layout=layout),
        lambda layout: torch.empty(2, layout=layout),
        lambda layout: torch.full((2,), 1.0, layout=layout),
    ],
)
def test_factories_refuse_layouts_that_they_do_not_make(make):
    assert make(torch.strided).layout is torch.strided
    with pytest.raises(NotImplementedError, match=r"layout=torch.sparse_coo\): factories make strided tensors only"):
        make(torch.sparse_coo)
