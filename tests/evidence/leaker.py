"""Makes memory cgroups that outlive their directory, run as a program of its own.

    python leaker.py PARENT TMPFS COUNT BURST PAUSE_SECONDS

Each is joined, charged with a page of a file on tmpfs, left and removed: the page keeps it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

PAGE = b"x" * 4096


def leak(parent: Path, tmpfs: Path, elsewhere: Path, number: int) -> None:
    """`elsewhere`: where this process goes in between; with a controller a parent has none."""
    folder = parent / f"z{number}"
    folder.mkdir()
    (folder / "cgroup.procs").write_text("0")
    (tmpfs / f"{number}").write_bytes(PAGE)
    elsewhere.write_text("0")
    folder.rmdir()


def main() -> None:
    parent, tmpfs = Path(sys.argv[1]), Path(sys.argv[2])
    count, burst, pause = int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
    elsewhere = parent.parent / "cgroup.procs"
    due = time.monotonic()
    for number in range(count):
        if number and number % burst == 0:
            due += pause
            time.sleep(max(0.0, due - time.monotonic()))
        if os.getppid() == 1:
            return  # whoever wanted them is gone
        leak(parent, tmpfs, elsewhere, number)


if __name__ == "__main__":
    main()
