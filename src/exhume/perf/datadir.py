"""perf.data as a folder (`perf record --threads`): `data`, and what each thread wrote, `data.0` on.

The files tell of the same time, so they are read side by side: always the one that is furthest
behind. Where all have passed a time, everything before it is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from exhume.perf.datachunk import Chunk
from exhume.perf.dataorder import newest_ns

MAIN = "data"
MAX_PARTS = 4096
_PART = re.compile(r"data\.(\d{1,6})")


def parts_of(main: Path) -> list[Path]:
    """What the threads wrote, beside `data`."""
    found = {
        int(name[1]): path
        for path in main.parent.iterdir()
        if (name := _PART.fullmatch(path.name)) and path.is_file()
    }
    return [found[number] for number in sorted(found)][:MAX_PARTS]


def side_by_side(streams: Sequence[Iterator[Chunk]]) -> Iterator[Chunk]:
    """Chunks of all, with marks for `in_order`: two where nothing before the last mark is missing.

    Within a file records may be out of order as in any; a chunk later they are not.
    """
    reached, before = [0] * len(streams), [0] * len(streams)
    live = set(range(len(streams)))
    newest = marked = 0
    while live:
        last = min(live, key=before.__getitem__)
        chunk = next(streams[last], None)
        if chunk is None:
            live.discard(last)
            continue
        before[last], reached[last] = reached[last], max(reached[last], newest_ns(chunk))
        newest = max(newest, reached[last])
        is_due = min(before[one] for one in live) >= marked
        marked = newest if is_due else marked
        yield replace(chunk, rounds=2 if is_due else 0)
