"""From a data directory to a running recorder: lock, permissions, loop, and closer beside it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from exhume.errors import EXIT_PERMISSION, ExhumeError
from exhume.host import Clock, Host
from exhume.model.status import Missing
from exhume.record import lock, permissions
from exhume.record.cgroup_births import CgroupBirths
from exhume.record.fingerprints import Fingerprints
from exhume.record.head import Head
from exhume.record.kmsg_place import KmsgPlace
from exhume.record.recorder import Options, Recorder, origin_of
from exhume.record.report import Reporter, Retention
from exhume.sampler.kernel_clock import KernelClock
from exhume.sampler.sampler import Sampler
from exhume.sampler.syscall import OpenEvent, perf_event_open
from exhume.store.allocator import tame_allocator
from exhume.store.headlog import DAMAGED, SUFFIX, is_older
from exhume.store.layout import heads_path, symbols_path

STOP_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
REPORT_EVERY_TICKS = 30
REPORT_FIRST_TICKS = (1, 3, 6)
PATIENCE_TICKS = 30
"""How long the closer waits for the recorder's other children."""
NS = 1_000_000_000
CLOSE_LEAST_NS = 15 * 60 * NS
"""No closer is ended before that, nor before three times the length of a segment."""
MOST_HANGS = 3
"""So often a log may keep the closer from ending: then it is set aside as a damaged one is."""
STOP_SECONDS = 5.0


class Settings(Struct, frozen=True):
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
    closer = Closer(settings, host.clock)
    recorder = Recorder(
        host,
        settings.options,
        head,
        sampler,
        KernelClock(host.clock, open_event),
        lambda live: closer.ask(live) if older_logs(data, live) else None,
        CgroupBirths(host, open_event),
        KmsgPlace.open(data, origin.boot_id),
    )
    reporter = Reporter(host, data, origin, settings.retention, missing)
    fingerprints = Fingerprints(host, data)
    # One child at a time, as far as it can wait: each has the memory of a recorder or more.
    recorder.background.is_crowded = lambda: closer.is_running or fingerprints.is_running
    closer.is_crowded = lambda: fingerprints.is_running or not recorder.background.is_quiet

    def wait(until_ns: int) -> bool:
        closer.poll(recorder)
        alone = recorder.background.is_quiet and not closer.is_running
        fingerprints.poll(recorder.problems, may_start=alone)
        ticks = recorder.counters.ticks
        if ticks in REPORT_FIRST_TICKS or ticks % REPORT_EVERY_TICKS == 0:
            reporter.write(recorder, "running")
        left = (until_ns - host.clock.monotonic_ns()) / NS
        return signal.sigtimedwait(STOP_SIGNALS, max(0.0, left)) is not None

    try:
        recorder.run(wait)
    finally:
        closer.stop()
        fingerprints.stop()
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
    from exhume.store import retention  # a mebibyte that most recorders never need

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

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self._started_ns = 0
        self._hung = ""
        """The log that this closer, or the one before, did not get done with."""
        self._hangs = 0
        self._is_ended = False
        self._told = ""
        """The log that was the live one when the closer was started."""
        self._live = ""
        self._is_asked = False
        self._polls = 0
        self.is_crowded: Callable[[], bool] = lambda: False
        """Whether another child of the recorder is at work."""

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def ask(self, live: str) -> None:
        """`live` is the head log that must not be touched."""
        self._live, self._is_asked, self._polls = live, True, 0

    def _start(self) -> None:
        keep = self._settings.retention
        command = [
            sys.executable, "-m", "exhume.record.close", str(self._settings.options.data),
            "--live", self._live, "--keep-seconds", str(keep.keep_ns / NS),
            "--max-bytes", str(keep.max_bytes), "--pinned-bytes", str(keep.pinned_max_bytes),
            "--recorder", str(os.getpid()), "--last", self._hung,
        ]  # fmt: skip
        self._started_ns, self._is_ended = self._clock.monotonic_ns(), False
        self._told = self._live
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            self._is_asked = False
        except OSError:
            pass  # no process to be had right now

    def poll(self, recorder: Recorder) -> None:
        if self._process is not None:
            if self._process.poll() is None:
                self._mind_hanging(self._process)
                return
            _, error = self._process.communicate()
            if self._is_ended:
                recorder.problems["closer"] = self._after_hanging()
            elif self._process.returncode != 0:
                said = error.decode("utf-8", "replace").strip()[-500:]
                recorder.problems["closer"] = said or f"ended by {self._process.returncode}"
            else:
                recorder.problems.pop("closer", None)
            self._process = None
        self._polls += 1
        if self._is_asked and (not self.is_crowded() or self._polls >= PATIENCE_TICKS):
            self._start()

    @property
    def _most_ns(self) -> int:
        return max(CLOSE_LEAST_NS, 3 * self._settings.options.segment_ns)

    def _mind_hanging(self, process: subprocess.Popen[bytes]) -> None:
        """Not waited for: one that hangs in the kernel ends when the kernel lets it go."""
        if not self._is_ended and self._clock.monotonic_ns() - self._started_ns > self._most_ns:
            self._is_ended = True
            process.kill()

    def _after_hanging(self) -> str:
        """Logs are closed one by one, the oldest first, and each goes when it is done with."""
        minutes = self._most_ns // (60 * NS)
        heads = sorted(heads_path(self._settings.options.data).glob(f"*{SUFFIX}"))
        left = [path for path in heads if is_older(path.name, self._told)]
        left.sort(key=lambda path: path.name == self._hung)
        if not left:
            return f"did not end within {minutes} minutes, and was ended"
        stuck = left[0]
        self._hangs = self._hangs + 1 if stuck.name == self._hung else 1
        self._hung = stuck.name
        self._is_asked |= len(left) > 1  # the others now, this one with the next segment
        if self._hangs < MOST_HANGS:
            return (
                f"did not get done with {stuck.name} within {minutes} minutes, and was ended: that "
                "stretch is tried again after the others"
            )
        with suppress(OSError):
            stuck.rename(stuck.with_suffix(DAMAGED))
        self._hung, self._hangs = "", 0
        return (
            f"did not get done with {stuck.name} within {minutes} minutes, {MOST_HANGS} times: it "
            f"is set aside as {stuck.with_suffix(DAMAGED).name}"
        )

    def stop(self) -> None:
        """What it has not closed is closed at the next start."""
        if self._process is not None:
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):  # stuck in the kernel: it ends when it can
                self._process.communicate(timeout=STOP_SECONDS)
            self._process = None
