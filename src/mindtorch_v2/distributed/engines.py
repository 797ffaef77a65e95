"""Which engine carries the tensors of which device: MPI those of the CPU, and an accelerator's backend may have one of
its own (`_accelerators.Backend.engines`), asked for by its name or as `cpu:gloo,<device>:<engine>`.

An engine is made for a group when it first communicates: `Engine(share, pass_on, rank, size, timeout, name)`. Its
methods put a communication into a stream of the device and give the end of it (`wait()`: the current stream waits,
`synchronize()`: the host waits, `is_done()`):

    all_reduce(tensor, op, text)    reduce(tensor, root, op, text)    broadcast(tensor, root, text)
    all_gather(outputs, tensor, text)    all_gather_into(output, tensor, text)    gather(tensor, outputs, root, text)
    reduce_scatter(output, inputs, op, text)    scatter(tensor, inputs, root, text)    all_to_all(outputs, inputs, text)
    all_to_all_single(output, tensor, taken_counts, given_counts, text)    barrier(index, text)
    send(tensor, peer, text)    recv(tensor, peer, text)    batch([(is_sent, tensor, peer)], text)    close()

`op` is the name of a ReduceOp, `root` and `peer` are ranks in the group, `text` says which communication it is and
where the program asks for it, for errors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _accelerators

_PASS_TAG = 32_000  # of the messages by which two processes introduce their devices
MPI_NAMES = ("mpi", "gloo")
_ABSENT = ("nccl", "ucc", "xccl")


class Choice(NamedTuple):
    """What serves a group: the name of MPI for tensors of the CPU ("" for nothing), and engines by device type."""

    cpu: str
    devices: dict[str, str]

    @property
    def name(self) -> str:
        """The backend's name."""
        return self.cpu or next(iter(self.devices.values()))

    @property
    def config(self) -> str:
        """As traces write it."""
        every = {**({"cpu": self.cpu} if self.cpu else {}), **self.devices}
        return ",".join(f"{device}:{engine}" for device, engine in every.items())


def choose(backend: str | None) -> Choice:
    """What a program asks for: a name, or names by device. RuntimeError for an engine that is not there."""
    if backend is None:
        return Choice("mpi", {b.name: b.engines[0] for b in _accelerators.active() if b.engines})
    cpu, devices = "", {}
    for part in backend.lower().split(","):
        device, colon, name = part.partition(":")
        name = name if colon else device
        owner = _owner(name)
        if owner is not None and (not colon or device == owner.name):
            devices[owner.name] = name
        elif name in MPI_NAMES:
            cpu = name if device == "cpu" or not colon else cpu
        elif colon and device != "cpu":
            continue  # a device that this process does not have
        elif name in _ABSENT:
            raise RuntimeError(f"Distributed package doesn't have {name.upper()} built in")
        else:
            known = ", ".join([f"'{e}' (tensors on {b.name})" for b in _accelerators.all_backends() for e in b.engines])
            raise ValueError(
                f"init_process_group: the backends are 'mpi' and 'gloo' (both run on MPI)"
                f"{' and ' + known if known else ''}, got {backend!r}"
            )
    for device in devices:
        found = _accelerators.find(device)
        if found is not None and not found.is_available():
            raise RuntimeError(f"the backend {devices[device]!r} needs device '{device}': {found.why_unavailable()}")
    if not cpu and not devices:
        raise RuntimeError(f"Distributed package doesn't have what serves {backend!r} here")
    return Choice(cpu, devices)


def default_for(device: str) -> str:
    """The name of what carries tensors of a device type; ValueError where nothing does."""
    found = None if device == "cpu" else _accelerators.find(device)
    if device != "cpu" and (found is None or not found.engines):
        raise ValueError(f"Default backend not registered for device : {device}")
    return "gloo" if found is None else found.engines[0]


def _owner(name: str) -> Any:
    """The accelerator's backend that has an engine of this name."""
    if name in MPI_NAMES or name in _ABSENT:
        return None
    return next((b for b in _accelerators.all_backends() if name in b.engines), None)


def make(device: str, name: str, comm: Any, timeout: float, group_name: str) -> Any:
    """An engine for the processes of an MPI communicator."""
    backend = _accelerators.activate_backend(device)

    def share(data: bytes | None) -> bytes:
        return comm.bcast(data, 0)

    def pass_on(data: bytes | None, peer: int) -> bytes:
        if data is None:
            return comm.recv(source=peer, tag=_PASS_TAG)
        comm.send(data, peer, _PASS_TAG)
        return data

    return backend.engine(name)(share, pass_on, comm.Get_rank(), comm.Get_size(), timeout, group_name)
