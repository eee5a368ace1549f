"""Standard output and error that are closed, full, or read by nobody any more."""

from __future__ import annotations

import errno
import fcntl
import os
import sys

_CLOSED = (("stdout", 1, os.O_RDONLY), ("stderr", 2, os.O_WRONLY))
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def reopen_closed() -> None:
    """So that no file gets their number. What is written to standard output still fails, what is
    said on standard error is lost, as whoever closed it wanted."""
    for name, number, mode in _CLOSED:
        if getattr(sys, name) is None:
            _open_null(number, mode)
            setattr(sys, name, os.fdopen(number, "w", closefd=False))


def silence_stdout() -> None:
    """Nothing may be flushed into it on the way out: that would fail again."""
    _open_null(1, os.O_WRONLY)


def unwritable(error: OSError) -> str:
    """What could not be written and why; empty where that is not what went wrong."""
    if error.errno == errno.EBADF and fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        return "standard output is closed"
    if error.errno in _FULL:
        return f"{error.filename or 'the output'} can't be written: {error.strerror}"
    return ""


def _open_null(number: int, mode: int) -> None:
    opened = os.open(os.devnull, mode)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
