"""What a recorder last said about itself, and whether it still lives."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import replace

from exhume.errors import ParseError
from exhume.model.jsonable import from_jsonable
from exhume.model.status import Disk, Status
from exhume.record import lock
from exhume.store.usage import imported, is_recording, look

STATUS_FILE = "status.json"


def read(directory: Path) -> Status:
    """What the recorder last wrote about itself."""
    path = directory / STATUS_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return _without_recorder(directory)
    except UnicodeDecodeError:
        raise ParseError(str(path), "the start", "UTF-8") from None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ParseError(str(path), "the start", "JSON") from None
    status = from_jsonable(Status, data, path=str(path))
    if status.state == "running" and lock.holder(directory) is None:
        # It was killed, or the machine went down: nobody was left to say so.
        status = replace(status, state="stopped", pid=None, since_wall_ns=status.updated_wall_ns)
    return replace(status, disk=look(directory, status.disk))


def _without_recorder(directory: Path) -> Status:
    """Nobody records here; files may have been imported, or segments copied."""
    nothing = Disk(None, None)
    disk = look(directory, nothing) if is_recording(directory) else nothing
    found = imported(directory)
    if found is None:
        return Status("never", str(directory), disk)
    files, node = found
    return Status("imported", str(directory), disk, node=node, imported=files)
