"""What an import has finished, one line a file: an interrupted one goes on where it stopped.

Lines are appended and synced. One that a crash cut off is not there.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct, convert, to_builtins

from exhume.ingest.boot_clocks import Anchor
from exhume.ingest.boot_marks import NO_MARKS
from exhume.ingest.inputs import Input
from exhume.ingest.overlaps import Covered
from exhume.ingest.piece import Claim, ClockKind, Trust
from exhume.ingest.report import BY_FILE_TIME, ZONE_IN_DOUBT, InputReport
from exhume.model.window import Window
from exhume.store import layout

_NAME = "manifest.jsonl"
_MAX_BYTES = 256 << 20


class Finished(Struct, frozen=True):
    """An input whose content is in the recording."""

    id: str
    path: str
    size_bytes: int
    modified_ns: int
    node: str
    folder: str | None
    """Of its recording, below that of the import; None where it has no content."""
    report: InputReport
    anchors: tuple[Anchor, ...]
    """What it said about a clock, boot by boot."""
    sketch: tuple[int, ...]
    covered: Covered | None = None
    """What its samples cover."""
    told: Window | None = None
    """Of a log: from its first line to its last, whether they mean anything or not."""


class Manifest:
    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._finished: dict[str, Finished] = {}
        with suppress(FileNotFoundError):
            if self._path.stat().st_size <= _MAX_BYTES:
                self._read(self._path.read_bytes())

    def _read(self, data: bytes) -> None:
        for line in data.split(b"\n"):
            with suppress(ValueError, KeyError, TypeError):
                one = _decode(json.loads(line))
                self._finished[one.id] = one

    def all(self) -> list[Finished]:
        return list(self._finished.values())

    def of(self, one: Input) -> Finished | None:
        return self._finished.get(one.id) or self._finished.get(one.named_id)

    def was_other(self, one: Input) -> bool:
        """Was a file of that name imported whose content was not what it is now?

        One of which nothing was kept (perf had not written a sample yet, a log told of no harm) has
        left nothing that would count twice.
        """
        path = str(one.path.resolve())
        return any(
            known.path == path and known.report.window is not None and not one.has_id(known.id)
            for known in self._finished.values()
        )

    def add(self, one: Finished) -> None:
        self._finished[one.id] = one
        line = json.dumps(to_builtins(one), separators=(",", ":")).encode() + b"\n"
        fd = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o640)
        try:
            os.write(fd, line)
            os.fsync(fd)
        finally:
            os.close(fd)


def has_log_of(root: Path, node: str, window: Window) -> bool:
    """Was a log imported that would have told of harm to that node in that time?

    Not one whose local times may be of another zone: then it tells of another time. A kernel's log
    ends with the last thing that went wrong, not when it was copied: that was at the time of its
    file at the latest. `root`: the recording, which has a folder of its own below that of the
    import where there are several.
    """
    logs = (
        (one, one.told)
        for folder in (root, root.parent)
        for one in Manifest(layout.import_path(folder)).all()
        if one.node == node and one.told is not None and not _is_in_doubt(one)
    )
    return any(
        told.start_ns < window.end_ns and max(told.end_ns, one.modified_ns) > window.start_ns
        for one, told in logs
    )


def placed_by_file_time(root: Path, node: str) -> tuple[str, ...]:
    """The captures of that node of which nothing else tells when they were taken. `root`: as
    above."""
    found = [
        Path(one.path).name
        for folder in (root, root.parent)
        for one in Manifest(layout.import_path(folder)).all()
        if one.node == node and one.report.kept and one.report.clock.startswith(BY_FILE_TIME)
    ]
    return tuple(dict.fromkeys(found))


def _is_in_doubt(one: Finished) -> bool:
    return any(note.startswith(ZONE_IN_DOUBT) for note in one.report.notes)


def _decode(values: dict[str, Any]) -> Finished:
    report = dict(values["report"])
    window = report["window"]
    report |= {
        "window": Window(**window) if window else None,
        "notes": tuple(report["notes"]),
        "problems": tuple(report["problems"]),
    }
    # Recordings that were begun by an older version have one at most.
    former = values.pop("anchor", None)
    anchors = values.get("anchors", [former] if former else [])
    covered, told = values.get("covered"), values.get("told")
    return Finished(
        **{
            **values,
            "report": InputReport(**report),
            "anchors": tuple(_anchor(one) for one in anchors),
            "sketch": tuple(values["sketch"]),
            "covered": covered and convert(covered, Covered),
            "told": Window(**told) if told else None,
        }
    )


def _anchor(values: dict[str, Any]) -> Anchor:
    trust = values["claim"]["trust"]
    trust = trust if trust >= 10 else trust * 10  # an older version counted them from 0 to 7
    claim = Claim(**{**values["claim"], "trust": Trust(trust)})
    kind, boot = ClockKind(values["kind"]), tuple(values.get("boot", NO_MARKS))
    return Anchor(values["node"], kind, claim, boot, values.get("until_ns", 0))
