"""Accelerators: devices beside the CPU. Each is a backend, a package of its own that registers itself.

A backend derives from `Backend`, overrides what its device can do, and calls `register`. Several may be there at
once: each gets a key bit of its own, a name that `torch.device` takes, `torch.<name>`, `Tensor.<name>()` and
`Tensor.is_<name>`. Backends that come with the package (`DEFAULTS`) and those that installed packages offer (entry
points of the group `mindtorch_v2.backends`) are imported when their device is first named. docs/adding-a-device.md
is the guide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ._keys import ACCELERATOR_BITS, ACCELERATORS

DEFAULTS = {"npu": "mindtorch_v2._backends.npu.backend"}  # name -> the module that registers the backend
TAKEN = ("cpu", "meta", "cuda", "hip", "xpu", "mps", "mtia")  # devices that PyTorch itself may be built for
# entry points: name -> module or function that registers it
GROUP = "mindtorch_v2.backends"


class Backend:
    """What a device can do. `name` and `box` are needed, the rest has defaults; methods that take an index count
    devices from 0.

    name         of the device, as in `torch.device("name:0")`
    title        what traces call it
    activity     the member of `ProfilerActivity` whose profiles show what it did
    type_code    of the device type in profiles: that of a member of `DeviceType`
    composites   functions that stand for steps which other devices do with several operators: "_convolution" (the
    operator's
                 arguments), "_fused_sgd_" and "_fused_adam_" (one parameter: see `_backends/composite/foreach.py`)
    avoids       operators made for CPUs that composites must not call here: "mkldnn_rnn_layer",
                 "_scaled_dot_product_flash_attention_for_cpu"
    """

    name = ""
    title = ""
    activity = "PrivateUse1"
    type_code = 20
    runtime_prefixes: tuple[str, ...] = ()  # how the names of its runtime's calls begin, as traces have them
    key = 0  # the device's bit; `register` sets it
    composites: Mapping[str, Callable[..., Any]] = {}
    avoids: frozenset[str] = frozenset()
    is_reserved = False  # whether it only holds the name for a backend that comes later
    engines: tuple[str, ...] = ()  # what carries its tensors between processes, by the names of torch.distributed

    # --- whether it is there
    def is_available(self) -> bool:
        """Whether a device can be used. Never raises."""
        return True

    def why_unavailable(self) -> str:
        """The reason why no device can be used; empty if one can."""
        return "" if self.is_available() else "there is no device"

    def activate(self) -> None:
        """Called once, before the device is first used; RuntimeError says what is missing."""

    def device_count(self) -> int:
        return 1 if self.is_available() else 0

    def current_index(self) -> int:
        """The calling thread's device: what the name without an index stands for."""
        return 0

    def module(self) -> Any:
        """What `torch.<name>` is."""
        raise NotImplementedError(f"the backend '{self.name}' has no module torch.{self.name}")

    # --- operators
    def box(self, op: Any) -> Callable[..., Any]:
        """A function of tensors (all arguments of the op's schema, in its order) that runs the op. Views come for free
        (`_dispatch.views.box_view`), composites never get here."""
        raise NotImplementedError(f"the backend '{self.name}' has no kernels")

    def synchronize(self) -> None:
        """Waits for all work of all devices, where any was used."""

    # --- memory
    def memory_of(self, array: Any) -> Any:
        """The object that owns the memory of a tensor's array, which `np.ndarray(..., buffer=owner)` takes: the
        array that all views have in common, unless the backend has objects of its own. None for an array without
        elements.
        """
        while isinstance(array.base, array.__class__):
            array = array.base
        return array if array.size else None

    def record_use(self, array: Any, stream: Any) -> None:
        """Says that a stream uses memory, which is not to be reused before it has passed (`Tensor.record_stream`)."""

    def pinned_like(self, array: Any) -> Any:
        """A copy of an array in host memory that the device reaches directly; None where there is no such memory."""
        return None

    def is_pinned(self, owner: Any) -> bool:
        """Whether the owner of an array's memory is such memory."""
        return False

    # --- several processes
    def engine(self, name: str) -> Any:
        """The class of one of `engines`, made once for each group: see `distributed/engines.py`."""
        raise NotImplementedError(f"the backend '{self.name}' has no engine '{name}'")

    # --- random numbers
    has_generators = False  # whether torch.Generator(device=name) makes sense

    def manual_seed_all(self, seed: int) -> None:
        """Starts all devices' random numbers anew."""

    # --- the profiler
    def watch(self, host: Any) -> Any:
        """What watches the device's launches (see `profiler/record/devices.py`), or None where nothing can."""
        return None


class _Entry:
    """A name with its key: the backend follows when it is first needed."""

    def __init__(self, name: str, load: Callable[[], Any] | None) -> None:
        self.name, self.load = name, load
        self.key = _take_bit(name)
        self.backend: Backend | None = None
        self.is_active = False


_entries: dict[str, _Entry] = {}
_by_key: dict[int, _Entry] = {}
_listeners: list[Callable[[str], None]] = []
_has_looked = False  # at the entry points


def _take_bit(name: str) -> int:
    for bit in ACCELERATOR_BITS:
        if bit not in _by_key:
            return bit
    raise RuntimeError(
        f"the accelerator '{name}' cannot be registered: {len(ACCELERATOR_BITS)} are there already "
        f"({', '.join(_entries)})"
    )


def _add(name: str, load: Callable[[], Any] | None) -> _Entry:
    entry = _Entry(name, load)
    _entries[name] = _by_key[entry.key] = entry
    for listener in _listeners:
        listener(name)
    return entry


def register(backend: Backend) -> Backend:
    """Makes a backend known under its name.

    ValueError for a name that cannot be one, RuntimeError for one that is taken.
    """
    name = backend.name
    if not name.isidentifier() or not name.islower() or name in TAKEN:
        raise ValueError(f"a backend's name must be a lower-case identifier that is no device yet, got {name!r}")
    entry = _entries.get(name) or _add(name, None)
    if entry.backend is not None and entry.backend is not backend and not entry.backend.is_reserved:
        raise RuntimeError(f"the device '{name}' has a backend already: {entry.backend!r}")
    backend.key = entry.key
    entry.backend, entry.is_active = backend, False
    return backend


def each_name(listener: Callable[[str], None]) -> None:
    """Calls a function with the name of every accelerator: now of those that are known, later of those to come."""
    _listeners.append(listener)
    for name in list(_entries):
        listener(name)


def names() -> tuple[str, ...]:
    """The accelerators that are known, in the order of their registration."""
    return tuple(_entries)


def knows(name: str) -> bool:
    """Whether there is an accelerator of this name; asks the installed packages for one."""
    if name not in _entries:
        _look_at_entry_points()
    return name in _entries


def _look_at_entry_points() -> None:
    global _has_looked
    if _has_looked:
        return
    _has_looked = True
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        if point.name not in _entries:
            _add(point.name, point.load)


def find(name: str) -> Backend | None:
    """The backend of a device type; None for one that is no accelerator.

    ImportError where its package cannot be imported.
    """
    entry = _entries.get(name) if knows(name) else None
    return None if entry is None else _backend(entry)


def _backend(entry: _Entry) -> Backend:
    if entry.backend is None and entry.load is not None:
        made = entry.load()
        if callable(made) and entry.backend is None:  # an entry point may name a function that registers
            made()
    if entry.backend is None:
        raise RuntimeError(
            f"the device '{entry.name}' has no backend: what was to register it has not called register()"
        )
    return entry.backend


def key_of(name: str) -> int:
    """The key bit of an accelerator, whether or not it was used yet."""
    return _entries[name].key


def activate_backend(name: str) -> Backend:
    """The backend of an accelerator, ready for use; RuntimeError says what it lacks."""
    entry = _entries[name]
    backend = _backend(entry)
    if not entry.is_active:
        backend.activate()
        entry.is_active = True
    return backend


def of_keys(keys: int) -> Backend | None:
    """The backend of the accelerator that a tensor's keys name; None on other devices."""
    entry = _by_key.get(keys & ACCELERATORS)
    return None if entry is None else entry.backend


def active() -> list[Backend]:
    """The backends that this process has used."""
    return [entry.backend for entry in _entries.values() if entry.is_active and entry.backend is not None]


def loaded_backends() -> list[Backend]:
    """The backends whose packages were imported, in use or not."""
    return [entry.backend for entry in _entries.values() if entry.backend is not None]


def all_backends() -> list[Backend]:
    """All backends, those in use first."""
    return [_backend(entry) for entry in sorted(_entries.values(), key=lambda entry: not entry.is_active)]


def available() -> list[Backend]:
    """The backends that can be used here, those in use first."""
    return [backend for backend in all_backends() if backend.is_available()]


def default_name() -> str:
    """The accelerator that a bare index means: the first in use, else the first known."""
    return next((entry.name for entry in _entries.values() if entry.is_active), next(iter(_entries)))


def current_index(name: str) -> int:
    """The index that the name alone stands for."""
    entry = _entries[name]
    return entry.backend.current_index() if entry.is_active and entry.backend is not None else 0


def name_of_key(key: int) -> str | None:
    """The name of the accelerator with this bit."""
    entry = _by_key.get(key)
    return None if entry is None else entry.name


def replacement(keys: int, name: str) -> Callable[..., Any] | None:
    """What the accelerator of a tensor runs instead of a composite; None where it does as other devices do."""
    backend = of_keys(keys)
    return None if backend is None else backend.composites.get(name)


def avoids(keys: int, name: str) -> bool:
    """Whether composites must not call an operator on a tensor with these keys."""
    backend = of_keys(keys)
    return backend is not None and name in backend.avoids


def _import(module: str) -> Callable[[], Any]:
    return lambda: import_module(module)


for _name, _module in DEFAULTS.items():
    _add(_name, _import(_module))
