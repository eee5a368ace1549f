"""What somebody put before every line of a tool's output, and what is left without it.

Nov 15 20:15:17 20:15:17     CPU    %usr …          of `mpstat 1 | ts`, or of a journal
> 20:15:17     CPU    %usr …                        quoted in a mail
    20:15:17     CPU    %usr …                      indented in a ticket

Colours (`S_COLORS=always`) go with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from exhume.ingest.lines import without_colours

_READ_BYTES = 4 << 20
_LONGEST_ESCAPE = 64
_LEAST_INDENT = 4
_CLOCK = rb"\d{1,2}(?::|[\x80-\xff]{3} ?)\d\d(?::|[\x80-\xff]{3} ?)\d\d(?:[\x80-\xff]{3})?"
# The heading of a table of sysstat: a time, or none, and the names of columns.
_HEADING = re.compile(
    rb"^(?P<before>[^\n]{0,120}?)(?:# +Time|%b(?: [^\s\d]{1,12})?|\d{10})[ \t]+"
    rb"(?:CPU|UID|USER|PID|TGID)[ \t][^\n]*%%(?:idle|system)\b" % _CLOCK,
    re.MULTILINE,
)
# Its first line, and what stands behind the end of that.
_BROKEN_HEADING = re.compile(
    rb"^(?P<first>%b(?: [^\s\d]{1,12})?[ \t]+CPU[ \t][^\n]{1,300})\n(?P<behind>[^\n:]{1,100})$"
    % _CLOCK,
    re.MULTILINE,
)
_BLANKS = 4
_IN_HEADING = (b"%idle", b"%system")
_QUOTED = re.compile(rb"[ \t>#|*]+")
_PART = re.compile(
    rb"(?P<word>[A-Za-z]{3}(?![A-Za-z]))|(?P<digits>\d+)|(?P<blank>[ \t]+)|.", re.DOTALL
)


class LinePrefix:
    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern

    @staticmethod
    def like(before: bytes) -> LinePrefix:
        """Of other lines it differs in its numbers, months and days of the week."""
        signs = before.rstrip(b" \t")
        form = b"".join(_form(part) for part in _PART.finditer(signs))
        blanks = rb"[ \t]{0,%d}" % (len(before) - len(signs))
        return LinePrefix(re.compile(rb"^" + form + blanks, re.MULTILINE))

    def stripped(self, text: bytes) -> bytes:
        return self._pattern.sub(b"", text)

    def lines(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The same without it, in chunks of whole lines but for the last."""
        rest = b""
        for chunk in chunks:
            text = rest + chunk
            whole = text.rfind(b"\n") + 1
            rest = text[whole:]
            yield self.stripped(text[:whole])
        yield self.stripped(rest)


class BrokenLines(LinePrefix):
    """Lines that a terminal broke: what stands behind the end of each goes to it."""

    def __init__(self, width: int, longest: int) -> None:
        behind = rb"[ \t\d.,%%a-z]{1,%d}\r?$" % longest
        super().__init__(re.compile(rb"(?<=^.{%d})\n(?=%b)" % (width, behind), re.MULTILINE))

    def lines(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        rest = b""
        for chunk in chunks:
            text = self.stripped(rest + chunk)
            # The last line may have its end in the next chunk, and what follows it may be that.
            whole = text.rfind(b"\n", 0, max(0, text.rfind(b"\n"))) + 1
            if len(text) - whole > _READ_BYTES:  # no table has such a line
                whole = len(text)
            rest = text[whole:]
            yield text[:whole]
        yield self.stripped(rest)


def prefix_of(head: bytes) -> LinePrefix | None:
    """None where lines are as the tool wrote them."""
    text = without_colours(head)
    whole = text.translate(None, b"\r\n")  # a terminal may have broken the word itself
    if not any(word in whole for word in _IN_HEADING):  # the search takes as long as all others
        return None
    found = _HEADING.search(text)
    if found is None and (broken := _BROKEN_HEADING.search(text)) is not None:
        first, behind = broken["first"], broken["behind"]
        if b"%idle" in first.rstrip(b"\r") + behind:
            return BrokenLines(len(first), len(behind) + _BLANKS)
    if found is None or not found["before"]:
        return None
    before = found["before"]
    if _QUOTED.fullmatch(before):
        # Some lines are quoted with a blank more or less.
        return LinePrefix(re.compile(rb"^[ \t>#|*]+", re.MULTILINE))
    return LinePrefix.like(before)


def indent_of(head: bytes) -> LinePrefix | None:
    """What every line is indented by, as in a ticket or on a page of Markdown. /proc/interrupts
    begins its lines with blanks, too: who asks looks first whether they mean something as they are.
    """
    lines = [line for line in without_colours(head).split(b"\n")[:-1] if line.strip()]
    blanks = min((line[: -len(line.lstrip(b" \t"))] for line in lines), key=len, default=b"")
    is_indent = len(blanks) >= _LEAST_INDENT or b"\t" in blanks
    if not is_indent or not all(line.startswith(blanks) for line in lines):
        return None
    return LinePrefix(re.compile(rb"^" + re.escape(blanks), re.MULTILINE))


def plain(head: bytes) -> bytes:
    """The first bytes of a file, without it."""
    head = without_colours(head)
    found = prefix_of(head)
    return head if found is None else found.stripped(head)


def chunks(stream: BinaryIO, prefix: LinePrefix | None) -> Iterator[bytes]:
    data = _uncoloured(iter(lambda: stream.read(_READ_BYTES), b""))
    return data if prefix is None else prefix.lines(data)


def _uncoloured(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        text = rest + chunk
        # One may end in the next chunk.
        escape = text.rfind(b"\x1b", max(0, len(text) - _LONGEST_ESCAPE))
        end = escape if escape >= 0 else len(text)
        rest = text[end:]
        yield without_colours(text[:end])
    yield without_colours(rest)


def _form(part: re.Match[bytes]) -> bytes:
    if part["word"] is not None:
        return rb"[A-Za-z]{3}"  # a month, or a day of the week
    if part["digits"] is not None:
        return rb"\d+"
    return rb"[ \t]+" if part["blank"] is not None else re.escape(part[0])
