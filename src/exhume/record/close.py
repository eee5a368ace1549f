"""The segment closer: a process of its own, so that the second is never late and memory goes back.

    python -m exhume.record.close DATA --live NAME --keep-seconds S --max-bytes B --pinned-bytes B

Turns every head log older than the live one into a segment, then lets retention do its work.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from exhume.errors import ExhumeError
from exhume.host import Host
from exhume.processes import die_with
from exhume.store import retention
from exhume.store.allocator import give_back, tame_allocator
from exhume.store.assemble import assemble_aside
from exhume.store.headlog import DAMAGED, FrameKind, HeadFile, is_older
from exhume.store.heads import head_files
from exhume.store.layout import heads_path, symbols_path
from exhume.store.minutes import write_minutes
from exhume.store.symbols import SymbolStore
from exhume.store.writer import write_summed_up

DAMAGED_KEPT = 4
_LARGE_BYTES = 4 << 20
"""Blocks from this size on go back to the system when they are freed. With 1 MiB three times as
many pages are asked for again, at the same peak."""


def close_heads(root: Path, live: str, host: Host, last: str = "") -> list[str]:
    """Closes what can be closed, the log named `last` after the others.

    Returns what went wrong, a line each.
    """
    problems = []
    for path in sorted(head_files(root), key=lambda path: path.name == last):
        if not is_older(path.name, live):
            continue
        try:
            _close_with_room(root, path, host)
        except FileNotFoundError:
            continue  # the recorder needed the room
        except (OSError, MemoryError) as error:
            problems.append(f"{path.name}: {error}")  # nothing wrong with the log: next time
        except Exception as error:  # one bad log must not keep the others from being closed
            # Kept aside for whoever wants to look.
            path.rename(path.with_suffix(DAMAGED))
            what = error.what if isinstance(error, ExhumeError) else repr(error)
            problems.append(f"{path.name}: {what}")
    return problems


def _close_with_room(root: Path, path: Path, host: Host) -> None:
    try:
        _close(root, path, host)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        if not retention.make_room(root, path.stat().st_size):
            raise
        _close(root, path, host)


def _close(root: Path, path: Path, host: Host) -> None:
    head = HeadFile(path)
    if any(frame.kind == FrameKind.TICK for frame in head.frames):
        found = assemble_aside(head, SymbolStore(symbols_path(root), host), heads_path(root))
        give_back()
        _, summed_up = write_summed_up(root, found.data, found.apart())
        write_minutes(root, found.data, summed_up)
    path.unlink()


def drop_damaged(root: Path, keep_seconds: float, now_seconds: float) -> None:
    """Damaged logs are no segments, so retention does not know them."""
    found = sorted(heads_path(root).glob(f"*{DAMAGED}"), reverse=True)
    for index, path in enumerate(found):
        with suppress(FileNotFoundError):
            if index >= DAMAGED_KEPT or path.stat().st_mtime < now_seconds - keep_seconds:
                path.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(prog="exhume.record.close")
    parser.add_argument("data", type=Path)
    parser.add_argument("--live", default="")
    parser.add_argument("--keep-seconds", type=float, required=True)
    parser.add_argument("--max-bytes", type=int, required=True)
    parser.add_argument("--pinned-bytes", type=int, required=True)
    parser.add_argument("--recorder", type=int, default=0)
    parser.add_argument("--last", default="")
    args = parser.parse_args()
    if args.recorder:
        # Without it, the next recorder's closer would work on the same logs, and its live log is
        # not the one that we were told to leave alone.
        die_with(args.recorder)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    os.nice(10)
    tame_allocator(_LARGE_BYTES)
    heads_path(args.data).mkdir(parents=True, exist_ok=True)
    problems = close_heads(args.data, args.live, Host(), args.last)
    drop_damaged(args.data, args.keep_seconds, time.time())
    retention.apply(
        args.data,
        keep_ns=int(args.keep_seconds * 1e9),
        max_bytes=args.max_bytes,
        pinned_max_bytes=args.pinned_bytes,
        now_ns=time.time_ns(),
    )
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
