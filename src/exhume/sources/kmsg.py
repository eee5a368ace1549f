"""/dev/kmsg: the kernel log, record by record: `prio,seq,usec,flags;text` and ` KEY=value` lines.

A line written by user space arrives with facility 1 or more, whatever it claims to be: only
facility 0 is the kernel, and nothing else may fake a kernel fault. Opening replays everything
since boot, so records are told apart by boot id and sequence number.
"""

from __future__ import annotations

import errno
import os

from msgspec import Struct, field

from exhume.errors import ParseError
from exhume.host import Host
from exhume.sources.scan import number

PATH = "dev/kmsg"
_RECORD_BYTES = 1 << 14  # PRINTKRB_RECORD_MAX and more: a shorter buffer gets EINVAL
_HEX_DIGITS = frozenset(b"0123456789abcdefABCDEF")


class KmsgRecord(Struct, frozen=True):
    level: int
    """0 emergency … 7 debug."""
    facility: int
    """0 is the kernel."""
    sequence: int
    kernel_log_ns: int
    """On the kernel log's own clock; `model.clock.ClockMap.from_kernel_log` knows it."""
    text: str
    """May have line breaks and anything else in it: hostile."""
    fields: dict[str, str] = field(default_factory=dict)
    """SUBSYSTEM and DEVICE, where a driver gave them."""


class KmsgBatch(Struct, frozen=True):
    records: tuple[KmsgRecord, ...]
    lost: int
    """Records the kernel overwrote before they were read, by the gaps in the sequence."""
    broken: int
    """Records that made no sense."""
    has_more: bool
    """The limit was reached before the end of the log."""


class KmsgReader(Struct):
    """New records at each call, never waiting for one."""

    host: Host
    trust_user: bool = False
    """Take lines of user space too. For tests: who may write /dev/kmsg could fake a fault."""
    next_sequence: int = 0
    """Records before this one are skipped: what an earlier recorder of this boot has stored."""
    _fd: int = -1
    _last_seen: int = -1

    def read(self, limit: int = 10_000) -> KmsgBatch | None:
        """None where there is no /dev/kmsg. PermissionError without CAP_SYSLOG."""
        if self._fd < 0:
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
            try:
                self._fd = os.open(self.host.kmsg_path(), flags)
            except FileNotFoundError:
                return None
        records: list[KmsgRecord] = []
        lost = broken = 0
        for _ in range(limit):
            try:
                data = os.read(self._fd, _RECORD_BYTES)
            except BlockingIOError:
                return KmsgBatch(tuple(records), lost, broken, has_more=False)
            except OSError as error:
                if error.errno == errno.EPIPE:  # overwritten under us; the next read goes on
                    continue
                if error.errno == errno.EINVAL:  # a record larger than any kernel writes
                    broken += 1
                    continue
                raise
            if not data:  # a plain file in a test; the device never ends
                return KmsgBatch(tuple(records), lost, broken, has_more=False)
            try:
                record = parse(data)
            except ParseError:
                broken += 1
                continue
            lost += self._gap(record.sequence)
            if record.sequence >= self.next_sequence and (self.trust_user or not record.facility):
                records.append(record)
        return KmsgBatch(tuple(records), lost, broken, has_more=True)

    @property
    def position(self) -> int:
        """Sequence number of the first record not yet read."""
        return max(self._last_seen + 1, self.next_sequence)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _gap(self, sequence: int) -> int:
        """How many records are missing before this one. At the start of the log, none are."""
        last, self._last_seen = self._last_seen, max(sequence, self._last_seen)
        if last < 0:
            return max(0, sequence - self.next_sequence) if self.next_sequence else 0
        return max(0, sequence - last - 1)


def parse(data: bytes) -> KmsgRecord:
    prefix, semicolon, rest = data.partition(b";")
    columns = prefix.split(b",")
    if not semicolon or len(columns) < 3:  # flags came in 3.5 and more may follow
        raise ParseError(PATH, "record", "`prio,seq,usec,flags;text`")
    priority, sequence, usec = (number(column, PATH, "record") for column in columns[:3])
    text, _, dictionary = rest.partition(b"\n")
    fields: dict[str, str] = {}
    for line in dictionary.split(b"\n"):
        key, equals, value = line.partition(b"=")
        if line.startswith(b" ") and equals:
            fields[_text(key[1:])] = _text(value)
    return KmsgRecord(
        level=priority & 7,
        facility=priority >> 3,
        sequence=sequence,
        kernel_log_ns=usec * 1000,
        text=_text(text),
        fields=fields,
    )


def _text(data: bytes) -> str:
    """Bytes below 32, above 126 and the backslash come as `\\x0a`: the kernel escapes them."""
    if b"\\x" not in data:
        return data.decode("utf-8", "replace")
    out = bytearray()
    at = 0
    while (found := data.find(b"\\x", at)) >= 0:
        out += data[at:found]
        digits = data[found + 2 : found + 4]
        if len(digits) == 2 and _HEX_DIGITS.issuperset(digits):
            out.append(int(digits, 16))
            at = found + 4
        else:
            out += b"\\x"
            at = found + 2
    out += data[at:]
    return out.decode("utf-8", "replace")
