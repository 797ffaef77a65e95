"""`torch.distributed.checkpoint.format_utils`: between checkpoints in folders and files of `torch.save`.

python -m mindtorch_v2.distributed.checkpoint.format_utils {torch_to_dcp,dcp_to_torch} SOURCE DESTINATION
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

from ... import load as load_file
from ... import save as save_file
from ._files import read_entries
from ._load import read_entry
from ._save import save
from ._tree import Index, Path, built

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Writes a checkpoint as one file, with whole tensors."""
    folder = os.fspath(dcp_checkpoint_dir)

    def values() -> Iterator[tuple[Path, Any]]:
        for name, entry in read_entries(folder).items():
            path: Path = [Index(part) if at in entry.lists else part for at, part in enumerate(entry.path)]
            yield path, read_entry(folder, name, entry)

    save_file(built(values()), torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Writes what a file of `torch.save` holds as a checkpoint, which any number of processes loads."""
    save(load_file(torch_save_path, map_location="cpu"), checkpoint_id=dcp_checkpoint_dir, no_dist=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Converts checkpoints.")
    parser.add_argument("mode", choices=["torch_to_dcp", "dcp_to_torch"])
    parser.add_argument("src", help="the file or folder to read")
    parser.add_argument("dst", help="the folder or file to write")
    given = parser.parse_args()
    if not os.path.exists(given.src):
        parser.error(f"there is no {given.src!r}")
    convert = torch_save_to_dcp if given.mode == "torch_to_dcp" else dcp_to_torch_save
    convert(given.src, given.dst)


if __name__ == "__main__":
    main()
