"""Copies of /proc files with a mark above each: `### EPOCH ISO uptime=SECONDS`.

For now only the marks are read: they tie the kernel's clock to wall time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median_low

from exhume.ingest.context import Context
from exhume.ingest.piece import Claim, ClockKind, Facts, Hints, Piece, Trust
from exhume.ingest.streams import Source

MARK = re.compile(
    rb"^### (\d{9,10})(?:\.(\d{1,9}))?(?: \S+)? uptime=(\d{1,9})(?:\.(\d{1,9}))?", re.M
)
_BLOCK_BYTES = 4 << 20
_MAX_MARKS = 1 << 17


def is_marked(head: bytes) -> bool:
    return MARK.search(head[:4096]) is not None


def read(source: Source, context: Context) -> Iterator[Piece]:
    offsets: list[int] = []
    with source.open(context.progress) as stream:
        rest = b""
        while len(offsets) < _MAX_MARKS and (data := stream.read(_BLOCK_BYTES)):
            text = rest + data
            whole = text.rfind(b"\n") + 1
            offsets += [_ns(m[1], m[2]) - _ns(m[3], m[4]) for m in MARK.finditer(text[:whole])]
            rest = text[whole:][-_BLOCK_BYTES:]
    claim = None
    if offsets:
        how = f"by {len(offsets)} readings of wall time and uptime in {source.path.name}"
        claim = Claim(median_low(offsets), Trust.UPTIME, how)
    note = "only its marks of the time were read"
    yield Piece(Hints(), ClockKind.KERNEL_LOG, claim, facts=Facts(notes=(note,)))


def _ns(seconds: bytes, fraction: bytes | None) -> int:
    return int(seconds) * 1_000_000_000 + int((fraction or b"0").ljust(9, b"0"))
