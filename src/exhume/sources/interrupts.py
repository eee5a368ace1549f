"""/proc/interrupts: how often each interrupt came on each core; so, which queue is on which core.

At 96 cores and 200 lines this is 216 KB a second, nearly all of it unchanged. `InterruptsReader`
keeps the lines of the last tick and parses only those that differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

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
_SINGLE = (b"ERR", b"MIS", b"Err")
"""Lines with one number for all cores."""


@dataclass(frozen=True, slots=True)
class Line:
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


@dataclass(frozen=True, slots=True)
class Interrupts:
    cores: tuple[int, ...]
    lines: tuple[Line, ...]
    counts: I64
    """Shape (lines, cores). 32-bit in the kernel: they wrap."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A line of the last tick, cut up: the bytes after the counts never change while it lives."""

    text: bytes
    head: bytes
    tail: bytes


@dataclass(slots=True)
class InterruptsReader:
    """Reads every tick, parses what changed."""

    host: Host
    _header: bytes = b""
    _known: list[_Known] = field(default_factory=list)
    _last: Interrupts | None = None

    def read(self) -> Interrupts | None:
        data = read_bytes(self.host.proc / "interrupts")
        if data is None:
            return None
        header, *lines = data.rstrip(b"\n").split(b"\n")
        last = self._last
        if last is None or header != self._header or len(lines) != len(self._known):
            return self._start_over(data)
        counts = last.counts.copy()
        for row, (line, known) in enumerate(zip(lines, self._known, strict=True)):
            if line == known.text:
                continue
            if not (line.startswith(known.head) and line.endswith(known.tail)):
                return self._start_over(data)
            body = line[len(known.head) : len(line) - len(known.tail)]
            try:
                counts[row] = _counts(body, len(last.cores), row + 2)
            except ParseError:
                return self._start_over(data)
            self._known[row] = _Known(line, known.head, known.tail)
        self._last = Interrupts(last.cores, last.lines, counts)
        return self._last

    def _start_over(self, data: bytes) -> Interrupts:
        self._last = None
        parsed, known = _parse(data)
        self._header, self._known, self._last = data.split(b"\n", 1)[0], known, parsed
        return parsed


def read(host: Host) -> Interrupts | None:
    data = read_bytes(host.proc / "interrupts")
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
    cores = tuple(map(str, interrupts.cores))
    names = tuple(line.instance for line in interrupts.lines)
    is_device = np.array([line.irq.isdigit() for line in interrupts.lines], np.bool_)
    counts = interrupts.counts
    found = [
        Reading("irq.count", names, counts.sum(axis=1)),
        Reading("irq.device", cores, counts[is_device].sum(axis=0)),
    ]
    for field_id, wanted in (
        ("irq.timer", TIMER_NAMES),
        ("irq.reschedule", RESCHEDULE_NAMES),
        ("irq.call", CALL_NAMES),
        ("irq.tlb", TLB_NAMES),
    ):
        rows = [i for i, x in enumerate(interrupts.lines) if x.irq in wanted or x.name in wanted]
        if rows:
            found.append(Reading(field_id, cores, counts[rows].sum(axis=0)))
    return tuple(found)


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
    # Compiled for this number of columns: what follows the counts may start with digits itself.
    shape = re.compile(rb"( *[^\s:]+:)((?: +\d+){%d})( .*|)" % len(cores))
    parsed: list[Line] = []
    known: list[_Known] = []
    rows: list[I64] = []
    for index, line in enumerate(lines, 2):
        match = shape.fullmatch(line)
        if match is None:
            head, colon, value = line.partition(b":")
            if head.strip() not in _SINGLE or not colon or len(value.split()) != 1:
                raise ParseError(PATH, index, f"an interrupt and {len(cores)} counts")
            head, body, tail = head + colon, value, b""
        else:
            head, body, tail = match.group(1), match.group(2), match.group(3)
        rows.append(_counts(body, len(cores), index))
        parsed.append(_line(head.strip(b" :").decode("utf-8", "replace"), tail))
        known.append(_Known(line, head, tail))
    if not rows:
        raise ParseError(PATH, 2, "at least one interrupt")
    return Interrupts(cores, tuple(parsed), np.stack(rows)), known


def _counts(body: bytes, cores: int, line: int) -> I64:
    if cores > 1 and len(body.split()) == 1:
        total = np.zeros(cores, np.int64)
        total[0] = numbers(body, 1, PATH, line)[0]
        return total
    return numbers(body, cores, PATH, line)


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
