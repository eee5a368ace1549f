"""/proc/interrupts: how often each interrupt came on each core; so, which queue is on which core.

At 96 cores and 200 lines this is 216 KB a second, nearly all of it unchanged. `InterruptsReader`
keeps the lines of the last tick and parses only those that differ.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct, field

from exhume.errors import ParseError
from exhume.host import Host, read_bytes
from exhume.model.arrays import I64
from exhume.model.reading import Reading
from exhume.sources.scan import core_columns, core_list, numbers

PATH = "proc/interrupts"

# The lines every architecture names for itself, by what they mean to us. x86, then arm64.
TIMER_NAMES = ("LOC", "arch_timer")
RESCHEDULE_NAMES = ("RES", "Rescheduling interrupts")
CALL_NAMES = ("CAL", "Function call interrupts")
TLB_NAMES = ("TLB",)
_COUNT_WIDTH = 11
_SINGLE = (b"ERR", b"MIS", b"Err")
"""Lines with one number for all cores."""


class Line(Struct, frozen=True):
    irq: str
    """`38`, or the name of a line that is no device's: `LOC`, `IPI0`."""
    chip: str
    """`PCI-MSIX-0000:00:03.0   1-edge`; empty for the lines that are no device's."""
    name: str
    """What the driver called it: `eth0-Tx-Rx-5`; several when shared: `uhci_hcd:usb1, eth0`."""

    @property
    def instance(self) -> str:
        """Numbers are reused and names are shared; together they are one line of one boot."""
        return f"{self.irq} {self.name}" if self.irq.isdigit() else self.irq


class Layout(Struct, frozen=True):
    """What stays the same from tick to tick, so that it is made once."""

    cores: tuple[str, ...]
    names: tuple[str, ...]
    """Instance of each line."""
    rows: tuple[tuple[str, I64], ...]
    """Field that is kept by core, and the lines that are summed for it."""

    @staticmethod
    def of(cores: tuple[int, ...], lines: tuple[Line, ...]) -> Layout:
        wanted = [("irq.device", [i for i, x in enumerate(lines) if x.irq.isdigit()])]
        for field_id, names in (
            ("irq.timer", TIMER_NAMES),
            ("irq.reschedule", RESCHEDULE_NAMES),
            ("irq.call", CALL_NAMES),
            ("irq.tlb", TLB_NAMES),
        ):
            rows = [i for i, x in enumerate(lines) if x.irq in names or x.name in names]
            wanted += [(field_id, rows)] if rows else []
        return Layout(
            tuple(map(str, cores)),
            tuple(line.instance for line in lines),
            tuple((field_id, np.array(rows, np.int64)) for field_id, rows in wanted),
        )


class Interrupts(Struct, frozen=True):
    cores: tuple[int, ...]
    lines: tuple[Line, ...]
    counts: I64
    """Shape (lines, cores). 32-bit in the kernel: they wrap."""
    layout: Layout


class _Known(Struct):
    """A line of the last tick, cut up: the bytes after the counts never change while it lives."""

    text: bytes
    head: bytes
    tail: bytes


class InterruptsReader(Struct):
    """Reads every tick, parses what changed."""

    host: Host
    _header: bytes = b""
    _known: list[_Known] = field(default_factory=list)
    _last: Interrupts | None = None

    def read(self) -> Interrupts | None:
        data = read_bytes(f"{self.host.proc}/interrupts")
        if data is None:
            return None
        header, *lines = data.rstrip(b"\n").split(b"\n")
        last = self._last
        if last is None or header != self._header or len(lines) != len(self._known):
            return self._start_over(data)
        width = len(last.cores)
        rows: list[int] = []
        bodies: list[bytes] = []
        for row, (line, known) in enumerate(zip(lines, self._known, strict=True)):
            if line == known.text:
                continue
            if not (line.startswith(known.head) and line.endswith(known.tail)):
                return self._start_over(data)
            body = _padded(line[len(known.head) : len(line) - len(known.tail)], width)
            if len(body.split()) != width:
                return self._start_over(data)
            known.text = line
            rows.append(row)
            bodies.append(body)
        if not rows:
            return last
        try:
            changed = numbers(b" ".join(bodies), len(rows) * width, PATH, "lines that changed")
        except ParseError:
            return self._start_over(data)
        counts = last.counts.copy()
        counts[rows] = changed.reshape(len(rows), width)
        self._last = Interrupts(last.cores, last.lines, counts, last.layout)
        return self._last

    def _start_over(self, data: bytes) -> Interrupts:
        self._last = None
        parsed, known = _parse(data)
        self._header, self._known, self._last = data.split(b"\n", 1)[0], known, parsed
        return parsed


def read(host: Host) -> Interrupts | None:
    data = read_bytes(f"{host.proc}/interrupts")
    return None if data is None else parse(data)


def parse(text: bytes) -> Interrupts:
    return _parse(text)[0]


def read_affinity(host: Host, interrupts: Interrupts) -> dict[str, tuple[int, ...]]:
    """By interrupt number, the cores it really goes to. Some 15 µs each: not every second."""
    found: dict[str, tuple[int, ...]] = {}
    for line in interrupts.lines:
        if not line.irq.isdigit():
            continue
        # effective_affinity_list says what the chip was told; before 4.13 only the wish is known.
        for name in ("effective_affinity_list", "smp_affinity_list"):
            path = f"irq/{line.irq}/{name}"
            text = host.read_proc(path)
            if text is not None and text.strip():
                found[line.irq] = core_list(text, f"proc/{path}")
                break
    return found


def readings(interrupts: Interrupts) -> tuple[Reading, ...]:
    """Each line summed over cores, and each core summed over lines: not 200 × 96 numbers a tick."""
    layout, counts = interrupts.layout, interrupts.counts
    by_core = (
        Reading(field_id, layout.cores, counts[rows].sum(axis=0)) for field_id, rows in layout.rows
    )
    return (Reading("irq.count", layout.names, counts.sum(axis=1)), *by_core)


def affinity_readings(
    interrupts: Interrupts, affinity: dict[str, tuple[int, ...]]
) -> tuple[Reading, ...]:
    routed = [line for line in interrupts.lines if affinity.get(line.irq)]
    if not routed:
        return ()
    names = tuple(line.instance for line in routed)
    values = [cores[0] if len(cores := affinity[line.irq]) == 1 else -1 for line in routed]
    return (Reading.of_each("irq.core", names, values),)


def _parse(text: bytes) -> tuple[Interrupts, list[_Known]]:
    header, *lines = text.rstrip(b"\n").split(b"\n")
    cores = core_columns(header, PATH)
    parsed: list[Line] = []
    known: list[_Known] = []
    bodies: list[bytes] = []
    for index, line in enumerate(lines, 2):
        head, body, tail = _cut(line, len(cores), index)
        bodies.append(body)
        parsed.append(_line(head.strip(b" :").decode("utf-8", "replace"), tail))
        known.append(_Known(line, head, tail))
    if not bodies:
        raise ParseError(PATH, 2, "at least one interrupt")
    # All at once: 180 lines one by one take twice as long.
    padded = b" ".join(_padded(body, len(cores)) for body in bodies)
    counts = numbers(padded, len(bodies) * len(cores), PATH, "whole file")
    found = tuple(parsed)
    layout = Layout.of(cores, found)
    return Interrupts(cores, found, counts.reshape(len(bodies), len(cores)), layout), known


def _cut(line: bytes, cores: int, index: int) -> tuple[bytes, bytes, bytes]:
    """Name, counts, and what follows the counts, which may start with digits itself."""
    head, colon, rest = line.partition(b":")
    if not colon or not head.strip():
        raise ParseError(PATH, index, "`name: counts`")
    if head.strip() in _SINGLE:
        if not rest.strip().isdigit():
            raise ParseError(PATH, index, "one count")
        return head + colon, rest, b""
    # A count is ten digits wide and has a blank before or after it; it can't be wider, as it has
    # 32 bits. So the counts end here, unless somebody formats them otherwise.
    end = _COUNT_WIDTH * cores
    if b" " in rest[end - 1 : end + 1] or len(rest) == end:
        body = rest[:end]
        if not body.translate(None, b"0123456789 ") and len(body.split()) == cores:
            return head + colon, body, rest[end:]
    match = re.match(rb"(?: +\d+){%d}(?= |$)" % cores, rest)
    if match is None:
        raise ParseError(PATH, index, f"an interrupt and {cores} counts")
    return head + colon, rest[: match.end()], rest[match.end() :]


def _padded(body: bytes, cores: int) -> bytes:
    """A line with one count for all cores counts as the first core's."""
    is_single = cores > 1 and len(body) <= 2 * _COUNT_WIDTH and len(body.split()) == 1
    return body + b" 0" * (cores - 1) if is_single else body


def _line(irq: str, tail: bytes) -> Line:
    text = tail.decode("utf-8", "replace").strip()
    if not irq.isdigit():
        return Line(irq, "", text)
    # Chip, number within the chip, trigger, actions; set apart by two or more spaces. The name
    # is what follows the trigger: `GICv3  47 Level     arch_timer`, `IO-APIC   5-edge      ACPI`.
    match = re.fullmatch(r"(.*?(?:-edge|-level|\bEdge|\bLevel|-fasteoi|-event))\s*(.*)", text)
    if match:
        return Line(irq, match.group(1), match.group(2))
    chip, _, name = text.rpartition("  ")
    return Line(irq, chip.strip(), name.strip())
