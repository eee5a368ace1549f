"""The segment closer: a process of its own, so that the second is never late and memory goes back.

    python -m exhume.record.close DATA --live NAME --keep-seconds S --max-bytes B --pinned-bytes B

Turns every head log but the live one into a segment, then lets retention do its work.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from exhume.errors import ExhumeError
from exhume.host import Host
from exhume.store.assemble import assemble
from exhume.store.headlog import FrameKind, HeadFile
from exhume.store.heads import head_files
from exhume.store.layout import heads_path, symbols_path
from exhume.store.symbols import SymbolStore

DAMAGED = ".damaged"


def close_heads(root: Path, live: str, host: Host) -> list[str]:
    """Closes what can be closed; returns what went wrong, a line each."""
    from exhume.store.minutes import write_minutes
    from exhume.store.writer import write_segment

    problems = []
    for path in head_files(root):
        if path.name == live:
            continue
        try:
            head = HeadFile(path)
            if any(frame.kind == FrameKind.TICK for frame in head.frames):
                data = assemble(head, SymbolStore(symbols_path(root), host))
                write_segment(root, data)
                write_minutes(root, data)
            path.unlink()
        except ExhumeError as error:
            # Kept aside for whoever wants to look; retention counts and drops it like a segment.
            path.rename(path.with_suffix(DAMAGED))
            problems.append(f"{path.name}: {error.what}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="exhume.record.close")
    parser.add_argument("data", type=Path)
    parser.add_argument("--live", default="")
    parser.add_argument("--keep-seconds", type=float, required=True)
    parser.add_argument("--max-bytes", type=int, required=True)
    parser.add_argument("--pinned-bytes", type=int, required=True)
    args = parser.parse_args()
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    os.nice(10)
    from exhume.store import retention

    heads_path(args.data).mkdir(parents=True, exist_ok=True)
    problems = close_heads(args.data, args.live, Host())
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
