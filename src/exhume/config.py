"""What a user may set, and what holds when nothing is set."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from exhume.errors import EXIT_USAGE, ExhumeError

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


def labels_of(environ: Mapping[str, str]) -> dict[str, str]:
    """The node's labels for its metrics: EXHUME_LABELS=zone=a,pool=gpu."""
    given = environ.get("EXHUME_LABELS", "")
    return parse_labels(part.strip() for part in given.split(",") if part.strip())


def parse_labels(given: Iterable[str]) -> dict[str, str]:
    """`zone=a` and the like."""
    labels: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise ExhumeError(
                f"{text[:60]!r} is not a label",
                todo="write --label zone=a, or EXHUME_LABELS=zone=a,pool=gpu",
                exit_code=EXIT_USAGE,
            )
        if labels.setdefault(name, value) != value:
            raise ExhumeError(
                f"the label {name[:40]!r} is given twice", todo="give it once", exit_code=EXIT_USAGE
            )
    return labels
