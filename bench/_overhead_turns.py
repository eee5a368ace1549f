"""One contender's turn: a recorder beside a paced load, then fixed amounts of work, timed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from bench._long_close import Closed, close_ten_minutes, segments
from bench._overhead_plan import NS, Contender, Plan
from bench._overhead_watch import (
    POLL_SECONDS,
    ROLES,
    Groups,
    Role,
    Snapshot,
    Watch,
    snapshot,
)
from bench.workloads import (
    Done,
    Kind,
    Pace,
    Timed,
    pace_for,
    unit_seconds,
)

KINDS: tuple[Kind, ...] = ("cpu", "syscalls")
USER_HZ = os.sysconf("SC_CLK_TCK")


class Memory(Struct, frozen=True):
    steady_bytes: int
    """RSS of the main process, median of the steady window."""
    peak_bytes: dict[Role, int]
    """Largest VmHWM of one process."""
    worst_rss_bytes: int
    """Of all processes together at the worst instant; pages shared by fork count twice."""
    worst_pss_bytes: int
    ring_bytes: int


class Turn(Struct, frozen=True):
    """One contender, one round. CPU in percent of one core, unless it says seconds."""

    contender: str
    start_up_cpu_seconds: float
    cpu_percent: dict[Role, float]
    """While a segment ends and is closed."""
    plain_percent: dict[Role, float]
    """While none does."""
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


class Bench(Struct):
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
            plain_seconds = plan.plain_seconds if contender.command is not None else 0
            load = self._load(pace, start_up_seconds + plan.steady_seconds + plain_seconds)
            pid = recorder.pid if recorder is not None else None
            _sleep_until(start + start_up_seconds, recorder, log)
            before = snapshot(self.groups, watch, pid)
            _sleep_until(start + start_up_seconds + plan.steady_seconds, recorder, log)
            after = snapshot(self.groups, watch, pid)
            end = start + start_up_seconds + plan.steady_seconds + plain_seconds
            _sleep_until(end, recorder, log)
            at_the_end = snapshot(self.groups, watch, pid)
            done = _answer(load)
            load_end_ns = time.monotonic_ns()
            load_seconds = (self.groups.cpu_ns("load") - load_before) / NS
            while watch is not None and time.monotonic() < start + 60:
                # The closer waits until the recorder's other children are done.
                if not watch.has_closer() and not _has_to_close(data):
                    break
                time.sleep(POLL_SECONDS)
            timed = {kind: [self._fixed(kind) for _ in range(plan.repeats)] for kind in KINDS}
            percent, machine_percent = _percent(before, after), _machine_percent(before, after)
            span = after.time - before.time
            known = sum(percent.values()) + 100 * (after.load_ns - before.load_ns) / NS / span
            turn = Turn(
                contender=contender.name,
                start_up_cpu_seconds=0.0,
                cpu_percent=percent,
                plain_percent=_percent(after, at_the_end) if plain_seconds else {},
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
        process = self.groups.start(command, group, log)
        self.started.append(process)
        return process

    def _end_all(self) -> None:
        for name in Groups.NAMES:
            self.groups.end(name)
        for process in self.started:
            process.wait()
        self.started.clear()

    def _load(self, pace: Pace, seconds: float) -> subprocess.Popen[bytes]:
        text = json.dumps(to_builtins(pace))
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
        data, load_end_ns = self.heads[contender]
        target = self.folder / f"long-{contender.replace('/', ' per ')}"
        return close_ten_minutes(self.groups, data, load_end_ns, target)


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


def _has_to_close(data: Path) -> bool:
    return len(list(data.glob("head/*.head"))) > 1


def _closed(data: Path, cpu_seconds: float, watch: Watch) -> Closed | None:
    seconds, samples, size = segments(data)
    if not seconds:
        return None
    return Closed(seconds, samples, cpu_seconds, size, watch.peak_bytes["closer"])
