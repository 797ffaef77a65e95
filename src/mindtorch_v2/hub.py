"""`torch.hub`: models and weights from local folders, and files from the network.

Repositories of GitHub are loaded from the cache folder, or fetched as an archive, after the user has said that they
are trusted.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlparse
from urllib.request import Request, urlopen

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # resnet18-bf5a0074.pth: the file's SHA-256 begins with bf5a0074
ENV_TORCH_HOME, ENV_XDG_CACHE_HOME, ENV_GITHUB_TOKEN = "TORCH_HOME", "XDG_CACHE_HOME", "GITHUB_TOKEN"
DEFAULT_CACHE_DIR = "~/.cache"
READ_DATA_CHUNK = 128 * 1024
MODULE_HUBCONF, VAR_DEPENDENCY = "hubconf.py", "dependencies"
_TRUSTED_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")
_hub_dir: str | None = None
_list = list


# --- folders
def _get_torch_home() -> str:
    cache = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder for downloads: what `set_dir` said, else $TORCH_HOME/hub, else $XDG_CACHE_HOME/torch/hub, else
    ~/.cache/torch/hub.
    """
    return os.path.join(_get_torch_home(), "hub") if _hub_dir is None else _hub_dir


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder for downloads."""
    global _hub_dir
    _hub_dir = os.path.expanduser(d)


# --- files from the network
class _Progress:
    """Shows how much of a file has come, on standard error, if it is a terminal."""

    def __init__(self, total: int | None, visible: bool) -> None:
        self.total, self.done, self.is_visible = total, 0, visible and sys.stderr.isatty()

    def update(self, count: int) -> None:
        self.done += count
        if self.is_visible:
            part = f" ({self.done / self.total:.0%})" if self.total else ""
            sys.stderr.write(f"\r{self.done / 2**20:.1f} MiB{part}")
            sys.stderr.flush()

    def close(self) -> None:
        if self.is_visible:
            sys.stderr.write("\n")


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Writes what a URL gives into a file, which appears when it is complete.

    RuntimeError where its SHA-256 does not begin with `hash_prefix`; then no file is left.
    """
    request = Request(url, headers={"User-Agent": "torch.hub"})
    dst = os.path.expanduser(dst)
    with urlopen(request) as answer:
        length = answer.headers.get("Content-Length")
        handle, partial = tempfile.mkstemp(
            prefix=os.path.basename(dst) + ".", suffix=".partial", dir=os.path.dirname(dst) or "."
        )
        try:
            digest = _copy(answer, handle, _Progress(int(length) if length else None, progress))
            if hash_prefix and not digest.startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
            os.chmod(partial, 0o666 & ~_umask())
            shutil.move(partial, dst)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(partial)


def _copy(source: Any, handle: int, progress: _Progress) -> str:
    """Copies until the end; the SHA-256 of what was copied."""
    digest = hashlib.sha256()
    with os.fdopen(handle, "wb") as target:
        while block := source.read(READ_DATA_CHUNK):
            target.write(block)
            digest.update(block)
            progress.update(len(block))
    progress.close()
    return digest.hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """The checkpoint at a URL, kept in `model_dir` (at first, `checkpoints` in the hub's folder) for the next time."""
    from .serialization import load as load_file

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.path.expanduser(model_dir)
    os.makedirs(folder, exist_ok=True)
    name = file_name if file_name is not None else os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress=progress)
    if zipfile.is_zipfile(path) and _is_archive_of_one(path):
        path = _unpack(path, folder)
    return load_file(path, map_location=map_location, weights_only=weights_only)


def _is_archive_of_one(path: str) -> bool:
    """Whether a file is a zip archive around a checkpoint; checkpoints are themselves zip archives, of several
    files.
    """
    with zipfile.ZipFile(path) as archive:
        return len(archive.infolist()) == 1


def _unpack(path: str, folder: str) -> str:
    with zipfile.ZipFile(path) as archive:
        name = archive.infolist()[0].filename
        target = os.path.join(folder, name)
        if not os.path.exists(target):
            archive.extract(name, folder)
    return target


# --- repositories
def _parse_repo_info(github: str) -> tuple[str, str, str | None]:
    """(owner, name, branch or tag) of "owner/name:ref"."""
    repository, _, ref = github.partition(":")
    owner, slash, name = repository.partition("/")
    if not slash:
        raise ValueError(f"expected owner/name or owner/name:ref, got {github!r}")
    return owner, name, ref or None


def _fetch_repository(github: str, force_reload: bool, verbose: bool, skip_validation: bool) -> str:
    """The folder of a repository, from the cache or the network."""
    owner, name, ref = _parse_repo_info(github)
    os.makedirs(get_dir(), exist_ok=True)
    for guess in [ref] if ref else ["main", "master"]:
        folder = os.path.join(get_dir(), "_".join([owner, name, guess.replace("/", "_")]))
        if not force_reload and os.path.exists(folder):
            if verbose:
                sys.stderr.write(f"Using cache found in {folder}\n")
            return folder
    for guess in [ref] if ref else ["main", "master"]:
        folder = os.path.join(get_dir(), "_".join([owner, name, guess.replace("/", "_")]))
        archive = folder + ".zip"
        url = f"https://github.com/{owner}/{name}/zipball/{guess}"
        try:
            sys.stderr.write(f'Downloading: "{url}" to {archive}\n')
            download_url_to_file(url, archive, progress=False)
        except HTTPError as error:
            if error.code == 404 and not ref:
                continue
            raise
        _unpack_repository(archive, folder)
        return folder
    raise ValueError(
        f"It looks like there is no internet connection and the repo could not be found in the cache ({get_dir()})"
    )


def _unpack_repository(archive: str, folder: str) -> None:
    with zipfile.ZipFile(archive) as opened:
        top = opened.infolist()[0].filename.rstrip("/")
        with tempfile.TemporaryDirectory(dir=get_dir()) as room:
            opened.extractall(room)
            shutil.rmtree(folder, ignore_errors=True)
            shutil.move(os.path.join(room, top), folder)
    os.remove(archive)


def _check_repo_is_trusted(repo: str, trust_repo: Any) -> None:
    """Asks the user, once per repository, whether its code may run; EnvironmentError or Exception if not."""
    owner, name, _ = _parse_repo_info(repo)
    path = os.path.join(get_dir(), "trusted_list")
    os.makedirs(get_dir(), exist_ok=True)
    trusted: set[str] = set()
    if os.path.exists(path):
        with open(path) as f:
            trusted.update(f.read().splitlines())
    entry = f"{owner}_{name}"
    known = entry in trusted or owner in _TRUSTED_OWNERS
    if trust_repo is False or (trust_repo in (None, "check") and not known):
        question = (
            f"The repository {owner}_{name} does not belong to the list of trusted repositories and as such cannot be "
            "downloaded. Do you trust this repository and wish to add it to the trusted list of repositories (y/N)?"
        )
        if input(question).lower() not in ("y", "yes"):
            raise Exception("Untrusted repository.")
    if not known and entry not in trusted:
        with open(path, "a") as f:
            f.write(entry + "\n")


@contextlib.contextmanager
def _on_path(folder: str) -> Iterator[None]:
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _import_module(name: str, path: str) -> Any:
    """A module from a file."""
    from importlib import util

    spec = util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {path}")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entries(folder: str) -> Any:
    path = os.path.join(folder, MODULE_HUBCONF)
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    with _on_path(folder):
        return _import_module(MODULE_HUBCONF, path)


def _entry(module: Any, name: str) -> Any:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    missing = [d for d in getattr(module, VAR_DEPENDENCY, None) or () if importlib.util.find_spec(d) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(module, name, None)
    if found is None or not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


def _folder_of(
    repo_or_dir: str, source: str, trust_repo: Any, force_reload: bool, verbose: bool, skip_validation: bool
) -> str:
    if source.lower() not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source.lower() == "local":
        return os.path.expanduser(repo_or_dir)
    _check_repo_is_trusted(repo_or_dir, trust_repo)
    return _fetch_repository(repo_or_dir, force_reload, verbose, skip_validation)


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the function `model` of a repository's hubconf.py returns for the arguments.

    `source="local"` takes `repo_or_dir` as a folder; otherwise it is "owner/name" or "owner/name:ref" of GitHub.
    """
    folder = _folder_of(repo_or_dir, source, trust_repo, force_reload, verbose, skip_validation)
    with _on_path(folder):
        return _entry(_entries(folder), model)(*args, **kwargs)


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    verbose: bool = True,  # noqa: A001
    source: str = "github",
) -> Any:
    """The functions that a repository's hubconf.py offers."""
    module = _entries(_folder_of(github, source, trust_repo, force_reload, verbose, skip_validation))
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,  # noqa: A001
    source: str = "github",
) -> str | None:
    """The docstring of a function of a repository's hubconf.py."""
    folder = _folder_of(github, source, trust_repo, force_reload, True, skip_validation)
    return _entry(_entries(folder), model).__doc__


class _QuietProgress:
    """Stands for tqdm's bar where tqdm is not installed: iterates and counts, and prints nothing."""

    def __init__(self, iterable: Any = None, total: Any = None, **options: Any) -> None:
        self.iterable, self.total, self.n = iterable, total, 0

    def __iter__(self) -> Iterator[Any]:
        for item in self.iterable:
            yield item
            self.n += 1

    def update(self, n: int = 1) -> None:
        """Counts."""
        self.n += n

    def __enter__(self) -> _QuietProgress:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is open."""

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is printed."""


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module 'torch.hub' has no attribute '{name}'")
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return _QuietProgress
    return tqdm
