"""What recording costs, against `perf record` and against nothing, on the same load in one run.

    python -m bench.overhead [--quick] [--json]

The contenders take turns, in another order each round, so that a slow minute of the machine hits
all of them. In its turn a recorder starts together with a paced mixed load (bench.workloads); a
steady window follows its start-up and holds one segment close; then fixed amounts of work are
timed on every core. CPU is what the kernel charged to cgroups of our own, so children that came
and went between two looks count. Nothing passes or fails here. Needs root; bench/README.md tells
how to read the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Literal

from bench.machine import describe
from bench.workloads import (
    COMPUTE_SHARE,
    SYSCALL_SHARE,
    Done,
    Kind,
    Pace,
    Timed,
    die_with_parent,
    lengthen,
    pace_for,
    unit_seconds,
)
from exhume.store import meta

HZ = 97.0
MANY_SAMPLES_PER_SECOND = 9_300
"""What 96 cores make at 97 Hz."""
NOTHING, EXHUME, MANY, PERF = "nothing", "exhume 97 Hz", "exhume 9,300/s", "perf 97 Hz"
POLL_SECONDS = 0.1
SEGMENT_SECONDS = 600
MIB = 1 << 20
NS = 1_000_000_000
MOST_SECONDS = 330
"""For all rounds; on a machine that nobody else uses they take some 290."""
MOST_OTHERS_PERCENT = 10.0
"""Of one core, by others than recorder and load: above it the figures are not to be quoted."""
KINDS: tuple[Kind, ...] = ("cpu", "syscalls")
USER_HZ = os.sysconf("SC_CLK_TCK")

Role = Literal["main", "aside", "closer"]
ROLES: tuple[Role, ...] = ("main", "aside", "closer")


@dataclass(frozen=True, slots=True)
class Plan:
    rounds: int
    start_up_seconds: float
    steady_seconds: float
    close_after_seconds: float
    """From the start of the recorder to the end of its first segment."""
    fixed_seconds: float
    repeats: int
    """Of each fixed work, a turn."""
    has_long_close: bool


# perf writes a new file every 5 s: a steady window holds a whole number of them.
FULL = Plan(3, 5, 15, 9, 0.8, 2, has_long_close=True)
QUICK = Plan(1, 3, 10, 7, 0.4, 1, has_long_close=False)


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    command: Callable[[Path, Plan], list[str]] | None
    """Writes into that directory; None for no recorder at all."""
    is_exhume: bool = False


def contenders(cores: int) -> tuple[Contender, ...]:
    many_hz = max(HZ, MANY_SAMPLES_PER_SECOND / cores)
    return (
        Contender(NOTHING, None),
        Contender(EXHUME, lambda data, plan: _exhume(data, plan, HZ), is_exhume=True),
        Contender(MANY, lambda data, plan: _exhume(data, plan, many_hz), is_exhume=True),
        Contender(PERF, _perf),
    )


def _exhume(data: Path, plan: Plan, hz: float) -> list[str]:
    segment = segment_ending_in(plan.close_after_seconds, time.time())
    return [
        sys.executable, "-m", "exhume", "record", "--data", str(data), "--hz", f"{hz:g}",
        "--budget", "100", "--segment", f"{segment}s",
    ]  # fmt: skip


def segment_ending_in(seconds: float, now: float) -> int:
    """Segments end at multiples of their length: one of which a multiple falls due just then."""
    for late in (0, 1, 2, 3):
        for length in range(120, 3600):
            if (round(now + seconds) + late) % length == 0:
                return length
    return round(seconds)


def _perf(data: Path, _plan: Plan) -> list[str]:
    return [
        shutil.which("perf") or "/usr/bin/perf", "record", "-F", f"{HZ:g}", "-g", "-a",
        "--switch-output=5s", "--switch-max-files=2", "-o", str(data / "perf.data"),
    ]  # fmt: skip


class Groups:
    """Cgroups of our own, for what they are charged with; nothing is limited."""

    NAMES = (*ROLES, "load")

    def __init__(self) -> None:
        mounts = (Path("/sys/fs/cgroup") / name for name in ("cpuacct", "cpu,cpuacct", "."))
        base = next(path for path in mounts if (path / "cgroup.procs").exists())
        self._root = base / f"exhume-bench-{os.getpid()}"
        self._is_v1 = (base / "cpuacct.usage").exists()

    def __enter__(self) -> Groups:
        self._root.mkdir()
        for name in self.NAMES:
            (self._root / name).mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.NAMES:
            self.end(name)
        for path in (*(self._root / name for name in self.NAMES), self._root):
            with suppress(OSError):
                path.rmdir()

    def end(self, name: str) -> None:
        """Kill what is left there, one by one: all of it descends from us."""
        for _ in range(50):
            pids = self.pids(name)
            for pid in pids:
                with suppress(ProcessLookupError, ChildProcessError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, os.WNOHANG)
            if not pids:
                return
            time.sleep(0.02)

    def pids(self, name: str) -> list[int]:
        with suppress(OSError):
            return [int(line) for line in (self._root / name / "cgroup.procs").read_text().split()]
        return []

    def put(self, pid: int, name: str) -> None:
        (self._root / name / "cgroup.procs").write_text(str(pid))

    def cpu_ns(self, name: str) -> int:
        if self._is_v1:
            return int((self._root / name / "cpuacct.usage").read_text())
        lines = (self._root / name / "cpu.stat").read_text().splitlines()
        return int(dict(line.split() for line in lines)["usage_usec"]) * 1000


@dataclass(frozen=True, slots=True)
class Instant:
    """Memory of a recorder's processes at one moment."""

    time: float
    rss_bytes: dict[Role, int]
    pss_bytes: int | None


class Watch(threading.Thread):
    """Looks at a recorder's processes 10 times a second, and sorts its children into cgroups."""

    def __init__(self, groups: Groups, main_pid: int) -> None:
        super().__init__(daemon=True)
        self._groups = groups
        self._main_pid = main_pid
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._moved_ns = dict.fromkeys(ROLES, 0)
        """CPU that was charged to one role's cgroup and belongs to another."""
        self.instants: list[Instant] = []
        self.peak_bytes = dict.fromkeys(ROLES, 0)
        self.ring_bytes = 0

    def run(self) -> None:
        while not self._stopped.wait(POLL_SECONDS):
            with self._lock:
                self._look()

    def stop(self) -> None:
        self._stopped.set()
        self.join()

    def cpu_ns(self) -> dict[Role, int]:
        with self._lock:
            return {role: self._groups.cpu_ns(role) + self._moved_ns[role] for role in ROLES}

    def has_closer(self) -> bool:
        return bool(self._groups.pids("closer"))

    def _look(self) -> None:
        rss: dict[Role, int] = dict.fromkeys(ROLES, 0)
        pids = [(pid, group) for group in ROLES for pid in self._groups.pids(group)]
        # A walk over page tables: where nothing happens, twice a second will do.
        wants_pss = len(pids) > 1 or len(self.instants) % 5 == 0
        pss = 0
        for pid, group in pids:
            with suppress(OSError, KeyError):  # gone meanwhile, or a zombie
                role = self._role(pid, group)
                if role != group:
                    spent = _spent_ns(pid)
                    self._groups.put(pid, role)
                    self._moved_ns[group] -= spent
                    self._moved_ns[role] += spent
                status = _fields(Path(f"/proc/{pid}/status"))
                rss[role] += _kib(status["VmRSS"])
                self.peak_bytes[role] = max(self.peak_bytes[role], _kib(status["VmHWM"]))
                if wants_pss:
                    pss += _kib(_fields(Path(f"/proc/{pid}/smaps_rollup"))["Pss"])
        self.instants.append(Instant(time.monotonic(), rss, pss if wants_pss else None))
        if len(self.instants) % 20 == 0:
            with suppress(OSError):
                self.ring_bytes = max(self.ring_bytes, _ring_bytes(self._main_pid))

    def _role(self, pid: int, before: Role) -> Role:
        if pid == self._main_pid:
            return "main"
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        if not command:  # a zombie: what it did is where it belongs
            return before
        return "closer" if b"exhume.record.close" in command else "aside"


def _spent_ns(pid: int) -> int:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def _fields(path: Path) -> dict[str, str]:
    return {
        name: rest.strip()
        for name, colon, rest in (line.partition(":") for line in path.read_text().splitlines())
        if colon
    }


def _kib(text: str) -> int:
    return int(text.removesuffix(" kB")) * 1024


def _ring_bytes(pid: int) -> int:
    """Rings are memory of the kernel, which newer ones don't count in RSS (remap_pfn_range)."""
    total = 0
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if "perf_event" in line:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            total += end - start
    return total


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that is counted, at one moment."""

    time: float
    cpu_ns: dict[Role, int]
    load_ns: int
    written_bytes: int
    busy_ticks: int
    own_seconds: float


def _snapshot(groups: Groups, watch: Watch | None, pid: int | None) -> Snapshot:
    # Children that were waited for are in their parent's figures.
    io = _fields(Path(f"/proc/{pid}/io")) if pid is not None else {}
    times = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq = times[:7]
    return Snapshot(
        time.monotonic(),
        watch.cpu_ns() if watch is not None else dict.fromkeys(ROLES, 0),
        groups.cpu_ns("load"),
        int(io.get("wchar", 0)),
        user + nice + system + irq + softirq,
        time.process_time(),
    )


@dataclass(frozen=True, slots=True)
class Memory:
    steady_bytes: int
    """RSS of the main process, median of the steady window."""
    peak_bytes: dict[Role, int]
    """Largest VmHWM of one process."""
    worst_rss_bytes: int
    """Of all processes together at the worst instant; pages shared by fork count twice."""
    worst_pss_bytes: int
    ring_bytes: int


@dataclass(frozen=True, slots=True)
class Closed:
    """What the closer did, and what it left."""

    recorded_seconds: float
    samples: int
    cpu_seconds: float
    segment_bytes: int
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One contender, one round. CPU in percent of one core, unless it says seconds."""

    contender: str
    start_up_cpu_seconds: float
    cpu_percent: dict[Role, float]
    load_seconds_per_work: float
    """CPU seconds of the load per second of work as calibrated."""
    pace_ratio: float
    """How much of its work the load got done; under 1 the machine was too busy."""
    machine_percent: float
    """Busy time of the whole machine, the bench's own left out."""
    others_percent: float
    """The part of it that is neither the recorder's nor the load's."""
    written_bytes_per_second: float
    memory: Memory | None
    closed: Closed | None
    timed: dict[Kind, list[Timed]]


@dataclass
class Bench:
    plan: Plan
    cores: int
    groups: Groups
    folder: Path
    unit_seconds: dict[Kind, float] = field(default_factory=dict)
    heads: dict[str, tuple[Path, int]] = field(default_factory=dict)
    """By contender: a data directory with a head log left, and when its load ended."""
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def calibrate(self) -> Pace:
        self.unit_seconds = {kind: unit_seconds(kind) for kind in KINDS}
        return pace_for(self.unit_seconds["cpu"], self.unit_seconds["syscalls"], self.cores)

    def turn(self, contender: Contender, round_: int, pace: Pace) -> Turn:
        data = self.folder / f"{round_}-{contender.name.replace('/', ' per ')}"
        data.mkdir()
        plan = self.plan
        with ExitStack() as stack:
            stack.callback(self._end_all)
            load_before = self.groups.cpu_ns("load")
            recorder_before = sum(self.groups.cpu_ns(role) for role in ROLES)
            watch, recorder, log, start_up_seconds = None, None, data / "log", 0.0
            if contender.command is not None:
                # Its clean end is part of the turn; whatever goes wrong, the cgroup's end is sure.
                recorder = self._start(contender.command(data, plan), "main", log)
                watch = Watch(self.groups, recorder.pid)
                start_up_seconds = plan.start_up_seconds
                watch.start()
                stack.callback(watch.stop)
            start = time.monotonic()
            load = self._load(pace, start_up_seconds + plan.steady_seconds)
            pid = recorder.pid if recorder is not None else None
            _sleep_until(start + start_up_seconds, recorder, log)
            before = _snapshot(self.groups, watch, pid)
            _sleep_until(start + start_up_seconds + plan.steady_seconds, recorder, log)
            after = _snapshot(self.groups, watch, pid)
            done = _answer(load)
            load_end_ns = time.monotonic_ns()
            load_seconds = (self.groups.cpu_ns("load") - load_before) / NS
            while watch is not None and watch.has_closer() and time.monotonic() < start + 60:
                time.sleep(POLL_SECONDS)
            timed = {kind: [self._fixed(kind) for _ in range(plan.repeats)] for kind in KINDS}
            percent, machine_percent = _percent(before, after), _machine_percent(before, after)
            span = after.time - before.time
            known = sum(percent.values()) + 100 * (after.load_ns - before.load_ns) / NS / span
            turn = Turn(
                contender=contender.name,
                start_up_cpu_seconds=0.0,
                cpu_percent=percent,
                load_seconds_per_work=load_seconds / self._work(done),
                pace_ratio=sum(d.units for d in done) / sum(d.planned_units for d in done),
                machine_percent=machine_percent,
                others_percent=machine_percent - known,
                written_bytes_per_second=(after.written_bytes - before.written_bytes) / span,
                memory=None,
                closed=None,
                timed=timed,
            )
            if watch is None or recorder is None:
                return turn
            last = watch.cpu_ns()
            recorder.terminate()
            recorder.wait(60)
            started = sum(before.cpu_ns.values()) - recorder_before
            turn = replace(turn, start_up_cpu_seconds=started / NS, memory=_memory(watch, before))
            if contender.is_exhume:
                closer = (last["closer"] - before.cpu_ns["closer"]) / NS
                turn = replace(turn, closed=_closed(data, closer, watch))
                self.heads[contender.name] = data, load_end_ns
            return turn

    def _start(
        self, command: Sequence[str], group: str, log: Path | None
    ) -> subprocess.Popen[bytes]:
        def prepare() -> None:
            die_with_parent()
            self.groups.put(os.getpid(), group)

        # An installed exhume has its byte code; compiling it at each start is not what it costs.
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        with ExitStack() as stack:
            output = subprocess.PIPE if log is None else stack.enter_context(open(log, "wb"))
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=None if log is None else subprocess.STDOUT,
                preexec_fn=prepare,
                env=env,
                cwd=Path(__file__).parent.parent,
            )
        self.started.append(process)
        return process

    def _end_all(self) -> None:
        for name in Groups.NAMES:
            self.groups.end(name)
        for process in self.started:
            process.wait()
        self.started.clear()

    def _load(self, pace: Pace, seconds: float) -> subprocess.Popen[bytes]:
        text = json.dumps(asdict(pace))
        words = ["mixed", "--seconds", f"{seconds:g}", "--pace", text]
        return self._start([sys.executable, "-m", "bench.workloads", *words], "load", None)

    def _fixed(self, kind: Kind) -> Timed:
        """The same work on every core at once, so that nobody hides on an idle one; their mean."""
        units = str(round(self.plan.fixed_seconds / self.unit_seconds[kind]))
        work = [sys.executable, "-m", "bench.workloads", "fixed", kind, "--units", units]
        workers = [
            self._start([*work, "--core", str(core)], "load", None)
            for core in sorted(os.sched_getaffinity(0))
        ]
        results = [Timed(**json.loads(_output(worker))) for worker in workers]
        return Timed(
            sum(r.wall_seconds for r in results) / len(results),
            sum(r.cpu_seconds for r in results) / len(results),
        )

    def _work(self, done: Sequence[Done]) -> float:
        """In seconds as calibrated. Programs are left out: they are few, and paced for sure."""
        return sum(
            d.units * self.unit_seconds[kind] for d in done for kind in KINDS if d.kind == kind
        )

    def long_close(self, contender: str) -> Closed:
        """The closer on ten minutes made from the seconds that a turn left behind."""
        data, load_end_ns = self.heads[contender]
        target = self.folder / f"long-{contender.replace('/', ' per ')}"
        (target / "head").mkdir(parents=True)
        (target / "symbols").symlink_to(data / "symbols")
        source = max((data / "head").glob("*.head"))
        lengthen(source, target / "head" / source.name, load_end_ns, SEGMENT_SECONDS)
        command = [
            sys.executable, "-m", "exhume.record.close", str(target),
            "--keep-seconds", "1e9", "--max-bytes", str(1 << 40), "--pinned-bytes", "0",
        ]  # fmt: skip
        process = self._start(command, "closer", target / "log")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds, samples, size = _segments(target)
        spent = usage.ru_utime + usage.ru_stime
        return Closed(seconds, samples, spent, size, usage.ru_maxrss * 1024)


def _sleep_until(when: float, recorder: subprocess.Popen[bytes] | None, log: Path) -> None:
    while (left := when - time.monotonic()) > 0:
        time.sleep(min(left, 0.5))
        if recorder is not None and recorder.poll() is not None:
            raise RuntimeError(f"the recorder ended: {log.read_text(errors='replace')[-2000:]}")


def _output(process: subprocess.Popen[bytes]) -> bytes:
    output, _ = process.communicate(timeout=60)
    return output


def _answer(load: subprocess.Popen[bytes]) -> list[Done]:
    return [Done(**one) for one in json.loads(_output(load))]


def _percent(before: Snapshot, after: Snapshot) -> dict[Role, float]:
    span_ns = (after.time - before.time) * NS
    return {role: 100 * (after.cpu_ns[role] - before.cpu_ns[role]) / span_ns for role in ROLES}


def _machine_percent(before: Snapshot, after: Snapshot) -> float:
    busy = (after.busy_ticks - before.busy_ticks) / USER_HZ
    return 100 * (busy - (after.own_seconds - before.own_seconds)) / (after.time - before.time)


def _memory(watch: Watch, before: Snapshot) -> Memory:
    instants = watch.instants
    steady = [i.rss_bytes["main"] for i in instants if i.time >= before.time]
    return Memory(
        int(median(steady)),
        dict(watch.peak_bytes),
        max(sum(i.rss_bytes.values()) for i in instants),
        max(i.pss_bytes or 0 for i in instants),
        watch.ring_bytes,
    )


def _segments(data: Path) -> tuple[float, int, int]:
    """Seconds, samples and bytes of what was closed."""
    found = [meta.read(path) for path in sorted((data / "segments").glob("2*"))]
    seconds = sum(m.end_ns - m.start_ns for m in found) / NS
    return seconds, sum(m.samples for m in found), sum(m.size_bytes for m in found)


def _closed(data: Path, cpu_seconds: float, watch: Watch) -> Closed | None:
    seconds, samples, size = _segments(data)
    if not seconds:
        return None
    return Closed(seconds, samples, cpu_seconds, size, watch.peak_bytes["closer"])


@dataclass(frozen=True, slots=True)
class Case:
    """All that a figure may be made of: one turn, and what to compare it with."""

    turn: Turn
    base: Turn
    """The turn of the same round without a recorder."""
    long: Closed | None
    work_per_second: float
    """Of the load, in CPU seconds as calibrated."""
    steady_seconds: float

    def slowdown_percent(self, kind: Kind, clock: Literal["wall_seconds", "cpu_seconds"]) -> float:
        with_it, without = (
            median(getattr(timed, clock) for timed in turn.timed[kind])
            for turn in (self.turn, self.base)
        )
        return float(100 * (with_it / without - 1))

    def load_extra_percent(self) -> float:
        more = self.turn.load_seconds_per_work - self.base.load_seconds_per_work
        return 100 * more * self.work_per_second

    def long_memory_mib(self) -> float | None:
        if self.long is None or self.turn.memory is None:
            return None
        return (self.long.peak_bytes + self.turn.memory.steady_bytes) / MIB

    def with_long_segments_percent(self) -> float | None:
        """Children run once a segment, the closer does ten minutes at once."""
        if self.long is None:
            return None
        aside_seconds = self.turn.cpu_percent["aside"] / 100 * self.steady_seconds
        per_segment = aside_seconds + self.long.cpu_seconds
        return self.turn.cpu_percent["main"] + 100 * per_segment / SEGMENT_SECONDS


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    unit: str
    figure: Callable[[Case], float | None]
    budget: str = ""
    is_extra: bool = False
    """A difference to the turn without a recorder: near zero, so no ratio to perf makes sense."""


def _of(part: str, figure: Callable[[Any], float]) -> Callable[[Case], float | None]:
    """A figure of an optional part of a turn."""

    def get(case: Case) -> float | None:
        value = case.long if part == "long" else getattr(case.turn, part)
        return None if value is None else figure(value)

    return get


def _recorded(figure: Callable[[Turn], float]) -> Callable[[Case], float | None]:
    """A figure that only a recorder has."""
    return lambda case: None if case.turn.memory is None else figure(case.turn)


# fmt: off
ROWS: tuple[Row, ...] = (
    Row("recorder, start-up", "CPU s", _recorded(lambda t: t.start_up_cpu_seconds)),
    Row("recorder, steady, a close in the window", "% core",
        _recorded(lambda t: sum(t.cpu_percent.values())), "≤ 1; ≤ 3"),
    Row("  its loop", "% core", _recorded(lambda t: t.cpu_percent["main"])),
    Row("  its children (scans, symbols)", "% core", _recorded(lambda t: t.cpu_percent["aside"])),
    Row("  the closer", "% core", _recorded(lambda t: t.cpu_percent["closer"])),
    Row("closer, for a recorded minute", "CPU s",
        _of("closed", lambda c: 60 * c.cpu_seconds / c.recorded_seconds)),
    Row("closer, ten minutes at once", "CPU s", _of("long", lambda c: c.cpu_seconds)),
    Row("recorder, with 10-minute segments", "% core", Case.with_long_segments_percent, "≤ 1; ≤ 3"),
    Row("more CPU in the load for the same work", "% core", Case.load_extra_percent, is_extra=True),
    Row("whole machine, busy", "% core", lambda c: c.turn.machine_percent),
    Row("  more than with nothing", "% core",
        lambda c: c.turn.machine_percent - c.base.machine_percent, is_extra=True),
    Row("  neither recorder nor load", "% core", lambda c: c.turn.others_percent),
    Row("load: work done of work planned", "%", lambda c: 100 * c.turn.pace_ratio),
    Row("CPU-bound work, longer by", "% time",
        lambda c: c.slowdown_percent("cpu", "wall_seconds"), is_extra=True),
    Row("  more CPU by", "% CPU",
        lambda c: c.slowdown_percent("cpu", "cpu_seconds"), is_extra=True),
    Row("syscall-bound work, longer by", "% time",
        lambda c: c.slowdown_percent("syscalls", "wall_seconds"), is_extra=True),
    Row("  more CPU by", "% CPU",
        lambda c: c.slowdown_percent("syscalls", "cpu_seconds"), is_extra=True),
    Row("recorder RSS, steady", "MiB", _of("memory", lambda m: m.steady_bytes / MIB)),
    Row("recorder RSS, peak", "MiB", _of("memory", lambda m: m.peak_bytes["main"] / MIB)),
    Row("its children RSS, peak", "MiB", _of("memory", lambda m: m.peak_bytes["aside"] / MIB)),
    Row("closer RSS, peak", "MiB", _of("closed", lambda c: c.peak_bytes / MIB)),
    Row("all processes RSS, worst instant", "MiB",
        _of("memory", lambda m: m.worst_rss_bytes / MIB), "≤ 120"),
    Row("all processes PSS, worst instant", "MiB",
        _of("memory", lambda m: m.worst_pss_bytes / MIB)),
    Row("closer RSS, peak, ten minutes at once", "MiB", _of("long", lambda c: c.peak_bytes / MIB)),
    Row("  and the steady recorder", "MiB", Case.long_memory_mib, "≤ 120"),
    Row("rings (kernel memory)", "MiB", _of("memory", lambda m: m.ring_bytes / MIB)),
    Row("written", "KiB/s", _recorded(lambda t: t.written_bytes_per_second / 1024)),
    Row("kept on disk", "KiB/s",
        _of("closed", lambda c: c.segment_bytes / c.recorded_seconds / 1024)),
    Row("  ten minutes at once", "KiB/s",
        _of("long", lambda c: c.segment_bytes / c.recorded_seconds / 1024), "≤ 34 at 9,300/s"),
    Row("samples kept (idle ones are not)", "1/s",
        _of("closed", lambda c: c.samples / c.recorded_seconds)),
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Figure:
    what: str
    unit: str
    budget: str
    values: dict[str, list[float]]
    """By contender, one a round; empty where it has no such figure."""
    ratio_to_perf: float | None


def figures(
    turns: Sequence[Sequence[Turn]], long: dict[str, Closed], plan: Plan, cores: int
) -> list[Figure]:
    """`turns` by round, the one without a recorder among them."""
    work = COMPUTE_SHARE * cores + SYSCALL_SHARE * max(1, cores // 2)
    cases = []
    for round_ in turns:
        base = next(turn for turn in round_ if turn.contender == NOTHING)
        cases += [
            Case(turn, base, long.get(turn.contender), work, plan.steady_seconds) for turn in round_
        ]
    result = []
    for row in ROWS:
        values: dict[str, list[float]] = {name: [] for name in (NOTHING, EXHUME, MANY, PERF)}
        for case in cases:
            value = row.figure(case)
            if value is not None and (not row.is_extra or case.turn is not case.base):
                values[case.turn.contender].append(value)
        ours, theirs = values[EXHUME], values[PERF]
        ratio = None
        if not row.is_extra and ours and theirs and median(theirs) > 0:
            ratio = median(ours) / median(theirs)
        result.append(Figure(row.what, row.unit, row.budget, values, ratio))
    return result


def table(found: Sequence[Figure]) -> str:
    names = (NOTHING, EXHUME, MANY, PERF)
    lines: list[tuple[str, ...]] = [("", "", *names, "exhume/perf", "budget")]
    for figure in found:
        ratio = "" if figure.ratio_to_perf is None else f"{figure.ratio_to_perf:.2f}"
        cells = (_cell(figure.values[name]) for name in names)
        lines.append((figure.what, figure.unit, *cells, ratio, figure.budget))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in (0, 1, len(line) - 1) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _cell(values: Sequence[float]) -> str:
    """The median, and where there are several the least and the most."""
    if not values:
        return "–"
    text = _short(median(values))
    return text if len(values) == 1 else f"{text} [{_short(min(values))}…{_short(max(values))}]"


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def notes(plan: Plan, turns: Sequence[Sequence[Turn]]) -> list[str]:
    everyone = [turn for round_ in turns for turn in round_]
    late = min(turn.pace_ratio for turn in everyone)
    others = max(turn.others_percent for turn in everyone)
    found = [
        f"{len(turns)} round(s), medians [least…most]; start-up is the first "
        f"{plan.start_up_seconds:g} s, steady the {plan.steady_seconds:g} s after them. The first "
        f"segment ends, and is closed, {plan.close_after_seconds:g} s after the start.",
        "% core: percent of one core. CPU of recorders: cgroup cpuacct, ended children included.",
    ]
    if plan.has_long_close:
        found.append(
            "Ten minutes at once: the turn's last seconds, repeated, closed by the closer."
        )
    if any(t.closed is None and t.contender in (EXHUME, MANY) for t in everyone):
        found.append("In one turn no segment was closed: the recorder was too slow to start.")
    if late < 0.99 or others > MOST_OTHERS_PERCENT:
        found.append(
            f"THE MACHINE WAS TOO BUSY: others took up to {others:.0f} % of a core; as little as "
            f"{100 * late:.0f} % of the load's work was done. Do not quote these figures."
        )
    return found


def run(plan: Plan, say: Callable[[str], None]) -> tuple[list[list[Turn]], dict[str, Closed]]:
    cores = len(os.sched_getaffinity(0))
    everyone = contenders(cores)
    turns: list[list[Turn]] = []
    with (
        tempfile.TemporaryDirectory(prefix="exhume-bench-", ignore_cleanup_errors=True) as folder,
        Groups() as groups,
    ):
        bench = Bench(plan, cores, groups, Path(folder))
        pace = bench.calibrate()
        start = time.monotonic()
        for round_ in range(plan.rounds):
            spent = time.monotonic() - start
            if round_ and spent * (1 + 1 / round_) > MOST_SECONDS:
                say("no time for another round: this machine is too busy")
                break
            turns.append([])
            order = everyone[round_ % len(everyone) :] + everyone[: round_ % len(everyone)]
            for contender in order:
                say(f"round {round_ + 1} of {plan.rounds}: {contender.name}")
                turns[-1].append(bench.turn(contender, round_, pace))
        long = {}
        for contender in everyone:
            if plan.has_long_close and contender.is_exhume:
                say(f"closing ten minutes: {contender.name}")
                long[contender.name] = bench.long_close(contender.name)
    return turns, long


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench.overhead", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="a look, in under a minute")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("perf") is None:
        print("bench.overhead needs root, and perf (Debian: linux-perf)", file=sys.stderr)
        return 0
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    plan = QUICK if args.quick else FULL
    machine = describe()  # now: later our own load would be in it
    if not args.json:
        print(machine, flush=True)
    try:
        turns, long = run(plan, lambda text: print(text, file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        print("interrupted: everything is cleaned up", file=sys.stderr)
        return 0
    found = figures(turns, long, plan, len(os.sched_getaffinity(0)))
    said = notes(plan, turns)
    if args.json:
        document = {
            "bench": "overhead", "machine": machine, "plan": asdict(plan), "notes": said,
            "figures": [asdict(figure) for figure in found],
            "turns": [[asdict(turn) for turn in round_] for round_ in turns],
            "ten_minutes": {name: asdict(closed) for name, closed in long.items()},
        }  # fmt: skip
        print(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        print("", table(found), "", *said, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
