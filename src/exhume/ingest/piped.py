"""`perf script | exhume import -`: what comes through a pipe is kept in a file while it is read.

An input is looked at more than once: what it is, where its names are, and then its samples.
"""

from __future__ import annotations

import shutil
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from exhume.errors import EXIT_USAGE, ExhumeError

STANDARD_INPUT = "-"
_STANDARD_INPUT = (STANDARD_INPUT, "/dev/stdin", "/dev/fd/0")
_NAME = "standard-input"
_COPY_BYTES = 1 << 20


@contextmanager
def without_pipes(given: Sequence[str], folder: Path) -> Iterator[list[str]]:
    """The same inputs, with files in `folder` for the pipes among them, until the block ends."""
    shutil.rmtree(folder, ignore_errors=True)  # of one that was killed
    try:
        yield [
            # Another place each time: it is not the file that was piped before, changed.
            str(_kept(text, folder / str(time.time_ns()))) if _is_pipe(text) else text
            for text in given
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_pipe(text: str) -> bool:
    if text == STANDARD_INPUT:
        return True
    try:
        mode = Path(text).stat().st_mode
    except OSError:
        return False  # told as missing, with all others that are
    return stat.S_ISFIFO(mode)


def _kept(text: str, folder: Path) -> Path:
    if text == STANDARD_INPUT and sys.stdin.isatty():
        raise ExhumeError(
            "standard input is a terminal",
            todo="pipe something into it: perf script | exhume import -",
            exit_code=EXIT_USAGE,
        )
    kept = folder / (_NAME if text in _STANDARD_INPUT else Path(text).name)
    source = sys.stdin.fileno() if text == STANDARD_INPUT else text
    try:
        folder.mkdir(parents=True)
        with (
            open(source, "rb", closefd=text != STANDARD_INPUT) as stream,
            open(kept, "wb") as file,
        ):
            shutil.copyfileobj(stream, file, _COPY_BYTES)
    except OSError as error:
        raise ExhumeError(
            f"what comes from {text} can't be kept in {folder}: {error.strerror}",
            todo="name another place with --into",
        ) from error
    return kept
