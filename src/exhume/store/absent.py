"""Where there is no recording: an import of several nodes makes one in a folder each."""

from __future__ import annotations

import shlex
from pathlib import Path

from exhume import config
from exhume.errors import ExhumeError
from exhume.store import layout

_NAMED = 12
UNFINISHED = "an import into it was stopped, or kept nothing"
GOES_ON = (
    "call the same `exhume import` again: it goes on where it stopped, or says why nothing was kept"
)


def recordings_inside(root: Path) -> list[Path]:
    """Folders right below that hold a recording; none where it is one itself."""
    if _is_recording(root):
        return []
    try:
        return sorted(folder for folder in root.iterdir() if _is_recording(folder))
    except OSError:
        return []


def elsewhere(inside: list[Path]) -> str:
    more = f" and {len(inside) - _NAMED} more" if len(inside) > _NAMED else ""
    return (
        f"recordings are in {', '.join(folder.name for folder in inside[:_NAMED])}{more} below it"
    )


def no_recording(root: Path) -> ExhumeError:
    what = f"there is no recording in {root}"
    if inside := recordings_inside(root):
        example = f"--data {shlex.quote(str(inside[0]))}"
        return ExhumeError(f"{what} itself; {elsewhere(inside)}", todo=f"name one: {example}")
    if is_unfinished_import(root):
        return ExhumeError(f"{what}: {UNFINISHED}", todo=GOES_ON)
    if _holds_files(root):
        todo = f"files become one: exhume import {shlex.quote(str(root))}"
        return ExhumeError(what, todo=todo)
    if hint := of_the_system(root):
        return ExhumeError(what, todo=hint)
    return ExhumeError(what, todo="start one with `exhume up`, or say where it is with --data DIR")


def is_unfinished_import(root: Path) -> bool:
    """Where there is no recording: did an import begin to make one?"""
    return layout.import_path(root).is_dir() and not _is_recording(root)


def of_the_system(root: Path) -> str:
    """Who is not root and names no directory asks a place of his own, while root records."""
    system = config.SYSTEM_DATA_DIR
    if root == system or root != config.default_data_dir() or not system.is_dir():
        return ""
    return f"root's recorder has one: --data {system}, as root or another who may read it"


def _holds_files(root: Path) -> bool:
    try:
        return root.is_file() or any(path.is_file() for path in root.iterdir())
    except OSError:
        return False


def _is_recording(root: Path) -> bool:
    return layout.segments_path(root).is_dir() or layout.heads_path(root).is_dir()
