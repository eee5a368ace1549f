"""A file that a command writes: standard output, or FILE, which appears when it is whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from exhume.cli.safe import printable
from exhume.errors import EXIT_DATA, EXIT_PERMISSION, ExhumeError


@contextmanager
def opened(output: str | None) -> Iterator[IO[bytes]]:
    """A file appears when it is whole; what is no plain file (a pipe, a device) is written to."""
    if output is None or output == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    given, path = Path(output), Path(os.path.realpath(output))
    # By the name given: /dev/stdout may be a link to `pipe:[4711]`, which is no path.
    is_special = given.exists() and not given.is_file()
    part = given if is_special else path.with_name(f".{path.name[:200]}.{os.getpid()}.part")
    try:
        with part.open("wb" if is_special else "xb") as file:
            if not is_special and path.exists():
                os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            yield file
        if not is_special:
            part.replace(path)
    except OSError as error:
        code = EXIT_PERMISSION if isinstance(error, PermissionError) else EXIT_DATA
        what = f"{printable(output)} can't be written: {error.strerror or error}"
        raise ExhumeError(what, todo="give another FILE with -o", exit_code=code) from error
    finally:
        if not is_special:
            with suppress(OSError):
                part.unlink()
