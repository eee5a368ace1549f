"""A file that a command writes: standard output, or FILE, which appears when it is whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
    path = Path(output).resolve()
    is_special = path.exists() and not path.is_file()
    part = path if is_special else path.with_name(f".{path.name[:200]}.{os.getpid()}.part")
    try:
        with part.open("wb" if is_special else "xb") as file:
            yield file
        if not is_special:
            part.replace(path)
    except OSError as error:
        code = EXIT_PERMISSION if isinstance(error, PermissionError) else EXIT_DATA
        what = f"{printable(output)} can't be written: {error.strerror or error}"
        raise ExhumeError(what, todo="give another FILE with -o", exit_code=code) from error
    finally:
        if not is_special:
            part.unlink(missing_ok=True)
