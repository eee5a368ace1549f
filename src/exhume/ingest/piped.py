"""`perf script | exhume import -`: what comes through a pipe is kept in a file while it is read.

An input is looked at more than once: what it is, where its names are, and then its samples.
"""

from __future__ import annotations

import os
import select
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from exhume.errors import EXIT_USAGE, ExhumeError

STANDARD_INPUT = "-"
_STANDARD_INPUT = (STANDARD_INPUT, "/dev/stdin", "/dev/fd/0")
_NAME = "standard-input"
_COPY_BYTES = 1 << 20
_SILENT_SECONDS = 1.0
_TERMINAL = "perf script | exhume import -"

Tell = Callable[[str], None]


def tell_nobody(_: str) -> None:
    """Nobody watches."""


@contextmanager
def without_pipes(
    given: Sequence[str], folder: Path, tell: Tell = tell_nobody
) -> Iterator[list[str]]:
    """The same inputs, with files in `folder` for the pipes among them, until the block ends.

    `tell`: called once for each that nothing comes from.
    """
    shutil.rmtree(folder, ignore_errors=True)  # of one that was killed
    try:
        yield [
            # Another place each time: it is not the file that was piped before, changed.
            str(_kept(text, folder / str(time.time_ns()), tell)) if _is_pipe(text) else text
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


def _kept(text: str, folder: Path, tell: Tell) -> Path:
    if text == STANDARD_INPUT and (sys.stdin is None or sys.stdin.isatty()):
        what = "closed" if sys.stdin is None else "a terminal"
        raise ExhumeError(
            f"standard input is {what}",
            todo=f"pipe something into it: {_TERMINAL}",
            exit_code=EXIT_USAGE,
        )
    kept = folder / (_NAME if text in _STANDARD_INPUT else Path(text).name)
    try:
        folder.mkdir(parents=True)
        with _opened(text, tell) as stream, open(kept, "wb") as file:
            shutil.copyfileobj(stream, file, _COPY_BYTES)
    except OSError as error:
        raise ExhumeError(
            f"what comes from {text} can't be kept in {folder}: {error.strerror}",
            todo="name another place with --into",
        ) from error
    return kept


def _opened(text: str, tell: Tell) -> BinaryIO:
    """Once something comes, or its other end was closed.

    To open a pipe would wait for who writes to it, and nobody could be told that it does.
    """
    if text == STANDARD_INPUT:
        fd = os.dup(sys.stdin.fileno())
    else:
        fd = os.open(text, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    stream = open(fd, "rb")  # noqa: SIM115
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        if not poll.poll(_SILENT_SECONDS * 1000):
            name = "standard input" if text in _STANDARD_INPUT else f"the pipe {text}"
            tell(f"waiting for {name}: nothing was written to it yet; Ctrl-C stops")
            poll.poll()
        if text != STANDARD_INPUT:
            os.set_blocking(fd, True)
    except BaseException:
        stream.close()
        raise
    return stream
