"""From a data directory to a running recorder: lock, permissions, loop, and closer beside it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from exhume.errors import EXIT_PERMISSION, ExhumeError
from exhume.host import Host
from exhume.model.status import Missing
from exhume.record import lock, permissions
from exhume.record.cgroup_births import CgroupBirths
from exhume.record.head import Head
from exhume.record.kmsg_place import KmsgPlace
from exhume.record.recorder import Options, Recorder, origin_of
from exhume.record.report import Reporter, Retention
from exhume.sampler.kernel_clock import KernelClock
from exhume.sampler.sampler import Sampler
from exhume.sampler.syscall import OpenEvent, perf_event_open
from exhume.store import retention
from exhume.store.allocator import tame_allocator
from exhume.store.headlog import SUFFIX
from exhume.store.layout import heads_path, symbols_path

STOP_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
REPORT_EVERY_TICKS = 15
REPORT_FIRST_TICKS = (1, 3, 6)
NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    options: Options
    retention: Retention
    with_samples: bool = True


def record(settings: Settings, host: Host, open_event: OpenEvent = perf_event_open) -> None:
    """Record until SIGTERM or Ctrl-C."""
    tame_allocator()
    allow_open_files()
    data = settings.options.data
    prepare(data)
    held = lock.acquire(data)
    # The loop sleeps in sigtimedwait, so that a signal ends the sleep and nothing else.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    sampler, missing = open_sampler(settings, host, open_event)
    origin = origin_of(host)
    head = Head(heads_path(data), origin, lambda need: make_room(data, head.name, need))
    closer = Closer(settings)
    recorder = Recorder(
        host,
        settings.options,
        head,
        sampler,
        KernelClock(host.clock, open_event),
        lambda live: closer.start(live) if older_logs(data, live) else None,
        CgroupBirths(host, open_event),
        KmsgPlace.open(data, origin.boot_id),
    )
    reporter = Reporter(host, data, origin, settings.retention, missing)

    def wait(until_ns: int) -> bool:
        closer.poll(recorder)
        ticks = recorder.counters.ticks
        if ticks in REPORT_FIRST_TICKS or ticks % REPORT_EVERY_TICKS == 0:
            reporter.write(recorder, "running")
        left = (until_ns - host.clock.monotonic_ns()) / NS
        return signal.sigtimedwait(STOP_SIGNALS, max(0.0, left)) is not None

    try:
        recorder.run(wait)
    finally:
        closer.stop()
    reporter.write(recorder, "stopped")
    del held  # the kernel gives the lock back with the process


def prepare(data: Path) -> None:
    try:
        for folder in (data, heads_path(data), symbols_path(data)):
            folder.mkdir(parents=True, exist_ok=True, mode=0o750)
    except OSError as error:
        raise ExhumeError(
            f"cannot make {error.filename or data}: {error.strerror}",
            todo="run as root, or give --data a directory that you may write to",
            exit_code=EXIT_PERMISSION,
        ) from error


def make_room(data: Path, live: str, need_bytes: int) -> bool:
    """On a full disk the oldest segments go; without any, the oldest log that waits to close."""
    if retention.make_room(data, need_bytes):
        return True
    for path in sorted(heads_path(data).iterdir()):
        if path.name != live:
            with suppress(OSError):
                path.unlink()
                return True
    return False


def open_sampler(
    settings: Settings, host: Host, open_event: OpenEvent
) -> tuple[Sampler | None, tuple[Missing, ...]]:
    """No samples is not the end: per-core times go on without them."""
    missing = permissions.missing(host)
    if not settings.with_samples:
        return None, missing
    try:
        return Sampler(settings.options.rate_hz, 0, open_event), missing
    except OSError as error:
        return None, (permissions.why_no_samples(host, error), *missing)


def allow_open_files() -> None:
    """Several descriptors a core: a large machine needs more than the usual 1,024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def older_logs(data: Path, live: str) -> bool:
    """Is there anything to close? At the very start there mostly is not."""
    return any(path.name != live for path in heads_path(data).glob(f"*{SUFFIX}"))


class Closer:
    """Starts the segment closer when a head log is full, one at a time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._live = ""
        self._again = False

    def start(self, live: str) -> None:
        """`live` is the head log that must not be touched."""
        self._live = live
        if self._process is not None:
            self._again = True
            return
        keep = self._settings.retention
        command = [
            sys.executable, "-m", "exhume.record.close", str(self._settings.options.data),
            "--live", live, "--keep-seconds", str(keep.keep_ns / NS),
            "--max-bytes", str(keep.max_bytes), "--pinned-bytes", str(keep.pinned_max_bytes),
            "--recorder", str(os.getpid()),
        ]  # fmt: skip
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
        except OSError:
            self._again = True  # no process to be had right now

    def poll(self, recorder: Recorder) -> None:
        if self._process is not None:
            if self._process.poll() is None:
                return
            _, error = self._process.communicate()
            if self._process.returncode != 0:
                said = error.decode("utf-8", "replace").strip()[-500:]
                recorder.problems["closer"] = said or f"ended by {self._process.returncode}"
            else:
                recorder.problems.pop("closer", None)
            self._process = None
        if self._again:
            self._again = False
            self.start(self._live)

    def stop(self) -> None:
        """What it has not closed is closed at the next start."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
