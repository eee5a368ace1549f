"""What children do for the recorder: scan /proc, read symbol tables, find the idle loop.

One at a time, and none beside the segment closer, as far as it can wait: each has the memory of a
recorder again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from msgspec import Struct

from exhume.host import Host
from exhume.model.arrays import U64
from exhume.perf.symbols.mapped import MappedFile
from exhume.record import captures
from exhume.record.aside import Aside
from exhume.record.captures import Captures
from exhume.record.head import Head
from exhume.record.scan import file_key, run_scan, unpack_scan
from exhume.sampler.cgroup_watch import NAMES as CGROUP_EVENTS
from exhume.sampler.sampler import Drained
from exhume.sampler.tracepoints import Tracepoint, run_read, unpack
from exhume.store.headlog import FrameKind

URGENT = "symbols"
"""Of files mapped while we watched: who maps them may be gone in a second."""
OLDER = "older symbols"
SYMBOLS = (URGENT, OLDER)
NAMES = ("tracepoints", URGENT, "scan", "kernel", OLDER)
"""In the order in which they are let go."""
SCAN_TIMEOUT_SECONDS = 120
SYMBOLS_TIMEOUT_SECONDS = 60
SHORT_NS = 1_000_000_000
"""How long what is urgent waits for another child to end."""
LONG_NS = 60_000_000_000
"""How long anything waits for the segment closer."""


class _Job(Struct, frozen=True):
    work: Callable[[int], bytes]
    """Gets the time of its start."""
    timeout_seconds: float
    asked_ns: int
    nice: int = 10


class Background:
    def __init__(self, host: Host, head: Head, folder: Path, problems: dict[str, str]) -> None:
        """`problems` is the recorder's: what fails here is noted there, by name."""
        self._host = host
        self._head = head
        self._captures = Captures(folder)
        self._problems = problems
        self._asides: dict[str, Aside] = {}
        self._waiting: dict[str, _Job] = {}
        self._started_ns = 0
        """The last child."""
        self.is_crowded: Callable[[], bool] = lambda: False
        """Whether the segment closer runs."""
        self._modules: frozenset[str] | None = None
        """Of the kernel whose symbols were read last; None: read them."""
        self.idle_ranges: U64 = np.empty((0, 2), np.uint64)
        """Addresses of the kernel's idle loop, ordered; empty until its symbols are read."""
        self.on_tracepoints: Callable[[tuple[Tracepoint, ...]], None] = lambda _: None
        """Called once with the formats of the cgroup tracepoints, empty where there are none."""

    @property
    def is_quiet(self) -> bool:
        return not self._asides and not self._waiting

    def look_around(self, now_ns: int) -> None:
        """At the start of each head log: who is there, and what the kernel's functions are."""
        self.scan(now_ns)
        host, folder = self._host, self._captures.folder
        modules = loaded_modules(host)
        if modules != self._modules:  # a third of a second of CPU, so only for something new
            self._modules = modules
            self._ask("kernel", lambda _: captures.run_kernel(host, folder), now_ns)

    def scan(self, now_ns: int) -> None:
        self._ask("scan", lambda started_ns: run_scan(self._host, started_ns), now_ns)

    def ask_for_tracepoints(self, now_ns: int) -> None:
        self._ask("tracepoints", lambda _: run_read(self._host, CGROUP_EVENTS), now_ns)

    def _ask(self, name: str, work: Callable[[int], bytes], now_ns: int) -> None:
        if name not in self._asides:
            self._waiting.setdefault(name, _Job(work, SCAN_TIMEOUT_SECONDS, now_ns))
        self._start_next(now_ns)

    def learn_files(self, drained: Drained) -> None:
        """Files mapped for the first time, and unread ones that are mapped again."""
        rows = drained.mappings
        for hash_, pid, identity in drained.files:
            first = np.flatnonzero(rows.file_hash == np.uint64(hash_))[:1]
            if len(first):
                start = int(rows.start[first[0]])
                end = start + int(rows.length[first[0]])
                build_id = identity.build_id or None
                inode = identity.device_inode[2]
                key = file_key(identity)
                file = MappedFile(key, build_id, identity.path, pid, start, end, inode)
                self._captures.want(file, hash_)
        self._captures.seen_again(rows)

    def poll(self, now_ns: int) -> None:
        """Collect what children finished; send out the next batch of files to read."""
        for name, aside in list(self._asides.items()):
            result = aside.poll(now_ns)
            if result is None:
                continue
            del self._asides[name]
            if aside.problem:
                self._problems[name] = aside.problem
                if name == "kernel":
                    self._modules = None
                if name == "tracepoints":
                    self.on_tracepoints(())
                continue
            self._problems.pop(name, None)
            self._take(name, result)
        self._start_next(now_ns)

    def _start_next(self, now_ns: int) -> None:
        """One at a time; but a crash-looper is gone before all files of a node are read."""
        if self._asides:
            if URGENT not in self._asides and now_ns - self._started_ns >= SHORT_NS:
                self._start_urgent(now_ns)
            return
        for name in NAMES:
            if name == URGENT:
                self._start_urgent(now_ns)
            elif name == OLDER and not self.is_crowded():
                self._read_symbols(OLDER, now_ns)
            elif name in self._waiting and self._may_go(self._waiting[name], now_ns):
                self._start(name, self._waiting.pop(name), now_ns)
            if self._asides:
                return

    def _may_go(self, job: _Job, now_ns: int) -> bool:
        """The closer is mostly done within seconds; where it is not, we go beside it."""
        return not self.is_crowded() or now_ns - job.asked_ns >= LONG_NS

    def _start_urgent(self, now_ns: int) -> None:
        if self._captures.has_urgent:
            self._read_symbols(URGENT, now_ns)

    def _read_symbols(self, name: str, now_ns: int) -> None:
        is_urgent = name == URGENT
        if batch := self._captures.next_batch(urgent=is_urgent):
            host, folder = self._host, self._captures.folder
            job = _Job(
                lambda _: captures.run_batch(host, batch, folder),
                SYMBOLS_TIMEOUT_SECONDS,
                now_ns,
                nice=0 if is_urgent else 10,
            )
            self._start(name, job, now_ns)

    def _take(self, name: str, result: bytes) -> None:
        if name in SYMBOLS:
            self._captures.finished(result)
        elif name == "scan":
            started_ns, to_capture, payload = unpack_scan(result)
            self._head.write_packed(FrameKind.STATE, started_ns, started_ns, payload)
            for file in to_capture:
                self._captures.want(file)
        elif name == "tracepoints":
            self.on_tracepoints(unpack(result))
        elif name == "kernel":
            answer = json.loads(result)
            if "problem" in answer:
                self._problems["kernel"] = answer["problem"]
                self._modules = None
            else:
                self.idle_ranges = np.array(sorted(answer["idle"]), np.uint64).reshape(-1, 2)

    def _start(self, name: str, job: _Job, now_ns: int) -> None:
        try:
            self._asides[name] = Aside.start(
                name, lambda: job.work(now_ns), now_ns, job.timeout_seconds, job.nice
            )
            self._started_ns = now_ns
        except OSError as error:
            self._problems[name] = f"could not start a child: {error.strerror}"

    def stop(self) -> None:
        for aside in self._asides.values():
            aside.stop()
        self._asides.clear()
        self._waiting.clear()


def loaded_modules(host: Host) -> frozenset[str]:
    """Names and places of the kernel's modules: where these are the same, so are its symbols.

    BPF programs come and go without; the side band tells of those.
    """
    try:
        text = host.read_proc("modules") or ""
    except OSError:
        text = ""
    lines = (line.split() for line in text.splitlines())
    return frozenset(f"{words[0]} {words[5]}" for words in lines if len(words) > 5)
