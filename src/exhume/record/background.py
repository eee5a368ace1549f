"""What children do for the recorder: scan /proc, read symbol tables, find the idle loop."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

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

SYMBOLS = ("symbols", "older symbols")
NAMES = ("scan", "kernel", *SYMBOLS, "tracepoints")
SCAN_TIMEOUT_SECONDS = 120
SYMBOLS_TIMEOUT_SECONDS = 60


class Background:
    def __init__(self, host: Host, head: Head, folder: Path, problems: dict[str, str]) -> None:
        """`problems` is the recorder's: what fails here is noted there, by name."""
        self._host = host
        self._head = head
        self._captures = Captures(folder)
        self._problems = problems
        self._asides: dict[str, Aside] = {}
        self._modules: frozenset[str] | None = None
        """Of the kernel whose symbols were read last; None: read them."""
        self.idle_ranges: U64 = np.empty((0, 2), np.uint64)
        """Addresses of the kernel's idle loop, ordered; empty until its symbols are read."""
        self.on_tracepoints: Callable[[tuple[Tracepoint, ...]], None] = lambda _: None
        """Called once with the formats of the cgroup tracepoints, empty where there are none."""

    def look_around(self, now_ns: int) -> None:
        """At the start of each head log: who is there, and what the kernel's functions are."""
        self.scan(now_ns)
        host, folder = self._host, self._captures.folder
        modules = loaded_modules(host)
        if modules != self._modules:  # a third of a second of CPU, so only for something new
            self._modules = modules
            self._start(
                "kernel", lambda: captures.run_kernel(host, folder), now_ns, SCAN_TIMEOUT_SECONDS
            )

    def scan(self, now_ns: int) -> None:
        host = self._host
        self._start("scan", lambda: run_scan(host, now_ns), now_ns, SCAN_TIMEOUT_SECONDS)

    def ask_for_tracepoints(self, now_ns: int) -> None:
        host = self._host
        self._start(
            "tracepoints", lambda: run_read(host, CGROUP_EVENTS), now_ns, SCAN_TIMEOUT_SECONDS
        )

    def learn_files(self, drained: Drained) -> None:
        """Files mapped for the first time, and unread ones that are mapped again."""
        rows = drained.mappings
        for hash_, pid, identity in drained.files:
            first = np.flatnonzero(rows.file_hash == np.uint64(hash_))[:1]
            if len(first):
                start = int(rows.start[first[0]])
                end = start + int(rows.length[first[0]])
                build_id = identity.build_id or None
                file = MappedFile(file_key(identity), build_id, identity.path, pid, start, end)
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
        # Two at a time: a crash-looper is gone before all files of a node's processes are read.
        for name in SYMBOLS:
            if name not in self._asides:
                self._read_symbols(name, now_ns)

    def _read_symbols(self, name: str, now_ns: int) -> None:
        urgent = name == SYMBOLS[0]
        if batch := self._captures.next_batch(urgent=urgent):
            host, folder = self._host, self._captures.folder
            self._start(
                name,
                lambda: captures.run_batch(host, batch, folder),
                now_ns,
                SYMBOLS_TIMEOUT_SECONDS,
                nice=0 if urgent else 10,
            )

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

    def _start(
        self, name: str, work: Callable[[], bytes], now_ns: int, timeout: float, nice: int = 10
    ) -> None:
        if name in self._asides:
            return
        try:
            self._asides[name] = Aside.start(name, work, now_ns, timeout, nice)
        except OSError as error:
            self._problems[name] = f"could not start a child: {error.strerror}"

    def stop(self) -> None:
        for aside in self._asides.values():
            aside.stop()
        self._asides.clear()


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
