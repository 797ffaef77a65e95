"""What a checkpoint is on disk: a folder with one file for each process that wrote, and `.metadata`, which says what is
where, in PyTorch's format.

`.metadata` appears last, by a rename. Files have names that no earlier checkpoint of the folder used, and
those of earlier ones are removed after that. So whenever a writer is killed, the folder holds the earlier checkpoint,
whole, or the new one, whole.
"""

from __future__ import annotations

import json
import os

from ..._files import atomic_file
from ._entries import CheckpointException, Entry, from_first_format
from ._pickled import entries_of, read_pickle, write_pickle

METADATA = ".metadata"


def write_metadata(folder: str, entries: dict[str, Entry], token: str) -> None:
    """Makes the new checkpoint the one that the folder holds, and removes the files of earlier ones."""
    with atomic_file(os.path.join(folder, METADATA), sync=True) as out:
        write_pickle(folder, entries, token, out)
    used = {piece.file for entry in entries.values() for piece in entry.pieces}
    for name in os.listdir(folder):
        if name.endswith(".distcp") and name not in used:
            os.unlink(os.path.join(folder, name))


def read_entries(folder: str) -> dict[str, Entry]:
    """What the checkpoint of a folder holds, by name; CheckpointException where there is none that is whole."""
    try:
        with open(os.path.join(folder, METADATA), "rb") as file:
            data = file.read()
        if data.startswith(b"{"):
            return from_first_format(json.loads(data)["entries"])
        return entries_of(folder, read_pickle(data))
    except FileNotFoundError:
        raise CheckpointException(f"{folder!r} holds no checkpoint (no {METADATA})") from None
    except CheckpointException:
        raise
    except Exception as error:  # a damaged pickle breaks in any way
        raise CheckpointException(f"{folder!r}: its {METADATA} is damaged, or no checkpoint's ({error})") from error
