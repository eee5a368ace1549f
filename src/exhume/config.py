"""What a user may set, and what holds when nothing is set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

SYSTEM_DATA_DIR = Path("/var/lib/exhume")


def default_data_dir(environ: Mapping[str, str] | None = None, uid: int | None = None) -> Path:
    """Where recordings live: the system's place for root, the XDG state directory otherwise."""
    environ = os.environ if environ is None else environ
    if (os.geteuid() if uid is None else uid) == 0:
        return SYSTEM_DATA_DIR
    state = environ.get("XDG_STATE_HOME", "")
    # The XDG specification: a relative path is invalid and to be ignored.
    home = Path(environ.get("HOME") or "~").expanduser()
    base = Path(state) if state.startswith("/") else home / ".local" / "state"
    return base / "exhume"
