"""The files inside a checkpoint, by name."""

from __future__ import annotations

import zipfile
from typing import Any


class PyTorchFileReader:
    """Reads the records of a checkpoint, which is a zip archive with one folder: `get_record("data.pkl")`."""

    def __init__(self, name_or_buffer: Any) -> None:
        try:
            self._archive = zipfile.ZipFile(name_or_buffer)
        except zipfile.BadZipFile as error:
            raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {error}") from None
        self._folder = self._archive.namelist()[0].partition("/")[0]

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return [n.partition("/")[2] for n in self._archive.namelist()]

    def has_record(self, name: str) -> bool:
        return f"{self._folder}/{name}" in self._archive.NameToInfo

    def get_record(self, name: str) -> bytes:
        """The bytes of a record; RuntimeError if there is none of that name."""
        if not self.has_record(name):
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
        return self._archive.read(f"{self._folder}/{name}")
