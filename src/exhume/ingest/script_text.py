"""Is it text of perf script, and without what others put before its lines?

[pod/perf-x7/perf] swapper     0 [001]     7.020221:   10309278 cpu-clock:
[pod/perf-x7/perf] 	ffffffffb44a2e1e native_safe_halt+0xe ([kernel.kallsyms])

`kubectl logs --prefix` and `--timestamps`, `docker compose logs` and journals do so.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, cast

from exhume.ingest.line_prefix import LinePrefix, chunks
from exhume.perf.script import Stream
from exhume.perf.script_scan import NO_NUMBER, fitting

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_LETTER = re.compile(rb"[A-Za-z]")
# `   8       0 sda 12 3` below `Sun Nov 15 20:15:17 UTC 2026`, whose year could be a process: an
# address is longer, and a name follows it.
_ROW = re.compile(rb"[ \t]+\d{1,5}[ \t]+\d")
_HEADER = b"# ========\n# captured on"
# What perf says on its other output, a line for each file: there may be hundreds above the text.
_COMPLAINTS = re.compile(
    rb"^(?:[^\n]*, continuing without symbols|no symbols found in [^\n]*|addr2line: [^\n]*"
    rb"|BFD: [^\n]*|\[ perf record: [^\n]*|failed to open [^\n]*|Warning:|\d+ out of order events.*"
    rb"|Processed \d+ events and lost [^\n]*|Check IO/CPU overload!|\d+ instruction trace errors.*"
    rb"| instruction trace error type [^\n]*)\r?$",
    re.MULTILINE,
)
# `\tffffffff9f49 do_idle+0x1e ([kernel.kallsyms])`, also where a page made spaces of the tab.
_FRAMES = re.compile(rb"^[ \t]+[0-9a-f]{4,16} [^\n]*\)\r?$", re.MULTILINE)
# Of containers' logs, also where no line of a stack is there to compare with.
_OF_CONTAINERS = re.compile(
    rb"(?=\S)(?:\[pod/[^\]\n]{1,200}\] |[\w.-]{1,64} +\| )?"
    rb"(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d) (?:std(?:out|err) [FP] )?)?"
)
# Of all others: what stands before the tab of a frame. Quoted mails are told apart elsewhere.
_BEFORE_FRAME = re.compile(
    rb"^(?!>)(?P<before>[^\n\t]{0,120}[^\n\t ] ?)\t *[0-9a-f]{4,16} [^\n]*\)\r?$", re.MULTILINE
)
# `     2\t\t          401136 main (/bin/a)`, of `cat -n` and `nl`: perf writes no second tab.
_NUMBERED_FRAME = re.compile(rb"^ *\d+\t\t *[0-9a-f]{4,16} [^\n]*\)\r?$", re.MULTILINE)
_NUMBERED = LinePrefix(re.compile(rb"^ *\d+\t", re.MULTILINE))
# Of a page whose code is set off by tabs.
_INDENTED = LinePrefix(re.compile(rb"^\t", re.MULTILINE))


def is_script(head: bytes) -> bool:
    """`head`: the first bytes of a file."""
    return _is_plain(head) or prefix_of(head) is not None


def prefix_of(head: bytes) -> LinePrefix | None:
    """None where lines begin as perf wrote them."""
    found = _OF_CONTAINERS.match(head)
    if found and found[0] and _is_plain((prefix := LinePrefix.like(found[0])).stripped(head)):
        return prefix
    if _NUMBERED_FRAME.search(head) and _is_plain(_NUMBERED.stripped(head)):
        return _NUMBERED
    frame = _BEFORE_FRAME.search(head)
    if (frame is None and not head.startswith(b"\t")) or _is_plain(head):
        return None
    prefix = _INDENTED if frame is None else LinePrefix.like(frame["before"])
    return prefix if _is_plain(prefix.stripped(head)) else None


def plain(stream: BinaryIO, prefix: LinePrefix | None) -> Stream:
    return cast(Stream, stream) if prefix is None else _Stripped(chunks(stream, prefix))


class _Stripped(io.RawIOBase):
    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        view = memoryview(buffer).cast("B")
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _is_plain(head: bytes) -> bool:
    if head.startswith(_HEADER):
        return True  # also where no sample follows
    _, found = fitting(head, at_end=True)
    with_time = int((found.time != NO_NUMBER).sum())
    # Without times only stacks tell it from a table of numbers: they are set off, or name files.
    with_stack = sum(
        1
        for text in found.new_stacks
        if (text[:1].isspace() and _LETTER.search(text) and not _ROW.match(text)) or b"(" in text
    )
    if not with_time and not with_stack:
        return False
    # A piece of a text begins in the middle of a stack, and `2>&1` with complaints.
    frames = sum(1 for text in found.new_lines if text.startswith(b"\t"))
    odd = found.odd - len(_COMPLAINTS.findall(head))
    if len(found) + frames > odd:
        return True
    # Of a page with a sample or two, prompts and prose are as many: what is theirs are all lines.
    return with_time > 0 and len(found) + len(_FRAMES.findall(head)) > odd
