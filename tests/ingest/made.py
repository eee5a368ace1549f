"""Inputs made up for the tests, and the import of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from exhume.host import Host
from exhume.ingest.clocks import ClockHints
from exhume.ingest.context import Context
from exhume.ingest.importing import Options, run
from exhume.ingest.report import ImportReport, InputReport
from exhume.ingest.room import PROGRAM_BYTES, Memory
from exhume.ingest.symbols import Places
from exhume.model.stack import Frame
from exhume.store.memory import as_samples
from exhume.store.recording import Recording
from exhume.store.segment import Segment
from tests.perf import datafile_encoder as made
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE, Capture
from tests.perf.records_encoder import KERNEL, USER, Mapped, Sample, Who

NS = 1_000_000_000
TEXT = 0xFFFF_FFFF_8100_0000
KALLSYMS = f"""{TEXT:016x} T _stext
{TEXT:016x} T _text
{TEXT + 0x1000:016x} t native_safe_halt
{TEXT + 0x2000:016x} T do_syscall_64
{TEXT + 0x3000:016x} T memcg_numa_stat_show
{TEXT + 0x4000:016x} D end_of_it
"""
IDLE, SYSCALL, WALK = TEXT + 0x1004, TEXT + 0x2004, TEXT + 0x3004
RATE_HZ = 100
STEP_NS = NS // RATE_HZ


def capture(
    seconds: float = 1.0,
    *,
    start_ns: int = 5 * NS,
    cores: int = 2,
    host: str = "node-1",
    text: int = TEXT,
    features: dict[int, bytes] | None = None,
    clock_id: int | None = None,
) -> Capture:
    """Core 0 runs `worker` in a system call, the others are idle."""
    shift = text - TEXT
    records = [
        made.old_mmap(SHAPE, -1, text, 0x4000, text, b"[kernel.kallsyms]_text"),
        enc.comm(SHAPE, 70, 70, b"worker"),
        enc.mmap2(SHAPE, Mapped(pid=70, start=0x40_0000, path=b"/opt/worker")),
    ]
    for i in range(round(seconds * RATE_HZ)):
        time = start_ns + i * STEP_NS
        chain = (KERNEL, WALK + shift, SYSCALL + shift, USER, 0x40_0123)
        records.append(
            enc.sample(SHAPE, Sample(ip=WALK + shift, pid=70, tid=70, time=time, chain=chain))
        )
        records += [
            enc.sample(
                SHAPE,
                Sample(ip=IDLE + shift, time=time + core, cpu=core, chain=(KERNEL, IDLE + shift)),
            )
            for core in range(1, cores)
        ]
    flags = made.FLAG_FREQ | made.FLAG_SAMPLE_ID_ALL | made.FLAG_COMM_EXEC
    event = made.Event(value=RATE_HZ, flags=flags)
    if clock_id is not None:
        event = made.Event(value=RATE_HZ, flags=flags | made.FLAG_USE_CLOCKID, clock_id=clock_id)
    told = {made.HOSTNAME: made.string(host), made.OSRELEASE: made.string("5.4.0")}
    return Capture([*records, made.FINISHED_ROUND], [event], {**told, **(features or {})})


def script(seconds: float = 1.0, *, start_ns: int = 5 * NS, host: str = "", cpus: int = 2) -> str:
    """The text that perf makes of such a capture."""
    out = []
    if host:
        out.append(
            f"# ========\n# captured on    : Sun Nov 15 20:21:09 2026\n# hostname : {host}\n#\n"
        )
    for i in range(round(seconds * RATE_HZ)):
        for cpu in range(cpus):
            time = start_ns + i * STEP_NS + cpu
            when = f"{time // NS}.{time % NS // 1000:06d}"
            who = "worker    70" if cpu == 0 else "swapper     0"
            out.append(f"{who} [{cpu:03d}] {when}: {STEP_NS} cpu-clock: \n")
            leaf = "memcg_numa_stat_show+0x4" if cpu == 0 else "native_safe_halt+0x4"
            out.append(f"\tffffffff81003004 {leaf} ([kernel.kallsyms])\n")
            if cpu == 0:
                out.append("\tffffffff81002004 do_syscall_64+0x4 ([kernel.kallsyms])\n")
                out.append("\t          400123 main+0x3 (/opt/worker)\n")
            out.append("\n")
    return "".join(out)


def write(path: Path, data: bytes | str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


def do_import(into: Path, *files: str, **options: object) -> ImportReport:
    return run(Options(files=files, into=into, **options), Host())  # type: ignore[arg-type]


def by_name(report: ImportReport) -> dict[str, InputReport]:
    return {Path(one.path).name: one for one in report.inputs}


def memory_of(folder: Path, own_bytes: int) -> Memory:
    """Of a process that does nothing but import, and has so much of its own by now."""
    pages, of_files = own_bytes // os.sysconf("SC_PAGESIZE"), 9000
    statm = folder / "proc/self/statm"
    statm.parent.mkdir(parents=True, exist_ok=True)
    statm.write_text(f"{9 * pages} {pages + of_files} {of_files} 1 0 {pages} 0\n")
    return Memory(Host(proc=folder / "proc"), PROGRAM_BYTES)


def context(folder: Path, **places: object) -> Context:
    return Context(folder, Places(Host(), **places), ClockHints())  # type: ignore[arg-type]


def segments(root: Path) -> list[Segment]:
    views = Recording.open(root).views()
    return [view for view in views if isinstance(view, Segment)]


def stacks(root: Path) -> dict[tuple[str, ...], int]:
    """Of a whole recording: the names of each stack, root first, and how often it was seen."""
    found: dict[tuple[str, ...], int] = {}
    for segment in segments(root):
        tree = segment.tree().tree
        for node in as_samples(segment.samples()).stack.tolist():
            names: list[Frame] = []
            while node > 0:
                names.append(tree.frames[tree.frame[node]])
                node = int(tree.parent[node])
            key = tuple(frame.name for frame in reversed(names))
            found[key] = found.get(key, 0) + 1
    return found


def total(root: Path) -> int:
    return sum(segment.sample_count for segment in segments(root))


def nothing() -> Sequence[bytes]:
    return [enc.comm(SHAPE, 1, 1, b"x", Who(time=1))]
