"""Work to be slowed down: a paced mixed load, and fixed amounts of work to time.

    python -m bench.workloads mixed --seconds 20 --pace JSON
    python -m bench.workloads fixed cpu --units 900 --core 0

The mixed load does the same work every second whatever else runs, so that a rise of its CPU time is
somebody else's doing: Python and C compute with stacks of many shapes on every core, system calls,
and programs that live for a millisecond. It ends by itself, and with whoever started it. Both
print one JSON line when done.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct, to_builtins

Kind = Literal["cpu", "syscalls"]

PERIOD_SECONDS = 0.02
COMPUTE_SHARE = 0.45
"""Of every core; with the rest of the load some 70 % of a machine of 2."""
SYSCALL_SHARE = 0.2
"""Of one core for every two."""
EXECS_PER_SECOND = 100.0
CALIBRATION_SECONDS = 0.3
PR_SET_PDEATHSIG = 1
EPOCH_SECONDS = 60
"""After which the recorder writes stacks anew."""

_DOCUMENT = {"nodes": [{"name": f"node-{i}", "zone": i % 3, "load": i / 7} for i in range(12)]}
_BYTES = bytes(range(256)) * 32
_PATTERN = re.compile(r"(\w+)-(\d+)")


def die_with_parent() -> None:
    """In a child before exec: the kernel ends it when its parent is gone, however that ended."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _recurse(depth: int) -> int:
    return depth if depth < 2 else _recurse(depth - 1) + _recurse(depth - 2)


def _document() -> int:
    return len(json.loads(json.dumps(_DOCUMENT, indent=1))["nodes"])


def _text() -> int:
    return len(_PATTERN.sub(r"\2-\1", " ".join(f"node-{i}" for i in range(60))))


def _order() -> int:
    return sorted(range(300), key=lambda value: -(value * 7919 % 1009))[0]


def _squeeze() -> int:
    return len(zlib.compress(_BYTES, 1)) + len(hashlib.sha256(_BYTES).digest())


_TASKS: tuple[Callable[[], int], ...] = (
    lambda: _recurse(6),
    lambda: _recurse(8),
    _document,
    _text,
    _order,
    _squeeze,
    lambda: _recurse(9),
)


def compute(units: int) -> None:
    for unit in range(units):
        _TASKS[unit % len(_TASKS)]()


def system_calls(units: int) -> None:
    """Mostly kernel time: a page through a pipe and back, and a file looked up."""
    read_end, write_end = os.pipe()
    page = b"x" * 4096
    try:
        for _ in range(units):
            for _ in range(20):
                os.write(write_end, page)
                os.read(read_end, 4096)
            os.access("/proc/self/status", os.R_OK)
    finally:
        os.close(read_end)
        os.close(write_end)


WORK: dict[Kind, Callable[[int], None]] = {"cpu": compute, "syscalls": system_calls}


class Pace(Struct, frozen=True):
    """Found once and then kept: every contender gets the same work."""

    compute_units_per_second: float
    """Of each compute worker."""
    syscall_units_per_second: float
    execs_per_second: float
    compute_workers: int
    syscall_workers: int


def unit_seconds(kind: Kind) -> float:
    """CPU time of a unit: the best of several tries, since others may use the machine."""
    best = float("inf")
    units = 50
    for _ in range(5):
        before = time.process_time()
        while True:
            WORK[kind](units)
            spent = time.process_time() - before
            if spent > CALIBRATION_SECONDS / 5:
                break
            units *= 2
            before = time.process_time()
        best = min(best, spent / units)
    return best


def pace_for(compute_unit_seconds: float, syscall_unit_seconds: float, cores: int) -> Pace:
    return Pace(
        COMPUTE_SHARE / compute_unit_seconds,
        SYSCALL_SHARE / syscall_unit_seconds,
        EXECS_PER_SECOND,
        cores,
        max(1, cores // 2),
    )


class Done(Struct, frozen=True):
    """What one worker got done of what it was to do."""

    kind: str
    units: int
    planned_units: int


def _paced(kind: str, do: Callable[[int], None], per_second: float, seconds: float) -> Done:
    """Equal portions at equal times; a late portion is made up for, so the total stays."""
    start = time.monotonic()
    done = 0
    while (elapsed := time.monotonic() - start) < seconds:
        due = int(per_second * min(elapsed + PERIOD_SECONDS, seconds))
        # No more than 5 portions without a look at the clock: it must end on time.
        some = min(due - done, int(per_second * PERIOD_SECONDS * 5) + 1)
        if some > 0:
            do(some)
            done += some
        time.sleep(max(0.0, start + done / per_second - time.monotonic()))
    return Done(kind, done, int(per_second * seconds))


def _run_programs(count: int) -> None:
    program = shutil.which("true") or "/bin/true"
    for _ in range(count):
        os.waitpid(os.posix_spawn(program, [program], {}), 0)


def mixed(pace: Pace, seconds: float) -> list[Done]:
    """Run all workers to their end. Interrupted, it takes them with it."""
    workers: list[tuple[str, Callable[[int], None], float]] = [
        *[("cpu", compute, pace.compute_units_per_second)] * pace.compute_workers,
        *[("syscalls", system_calls, pace.syscall_units_per_second)] * pace.syscall_workers,
        ("execs", _run_programs, pace.execs_per_second),
    ]
    running: dict[int, int] = {}
    try:
        for kind, do, per_second in workers:
            pid, fd = _forked(lambda k=kind, d=do, p=per_second: _paced(k, d, p, seconds))  # type: ignore[misc]
            running[pid] = fd
        return [Done(**json.loads(_result(running, pid))) for pid in list(running)]
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _forked(work: Callable[[], Done]) -> tuple[int, int]:
    """The child's pid, and where it will write its result."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            die_with_parent()
            os.write(write_end, json.dumps(to_builtins(work())).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write_end)
    return pid, read_end


def _result(running: dict[int, int], pid: int) -> bytes:
    with open(running[pid], "rb") as pipe:
        result = pipe.read()
    os.waitpid(pid, 0)
    del running[pid]
    return result


class Timed(Struct, frozen=True):
    wall_seconds: float
    cpu_seconds: float


def fixed(kind: Kind, units: int, core: int | None) -> Timed:
    if core is not None:
        os.sched_setaffinity(0, {core})
    WORK[kind](max(1, units // 20))  # caches and the core's clock are warm
    wall, cpu = time.perf_counter(), time.process_time()
    WORK[kind](units)
    return Timed(time.perf_counter() - wall, time.process_time() - cpu)


def lengthen(source: Path, target: Path, end_ns: int, seconds: float) -> None:
    """Work for the closer: a head log's frames up to `end_ns`, over and over, for so long.

    Processes that were born in it get new ids in each copy, the others live on. Stacks are written
    once a minute, as the recorder does. Times within a frame count from its start.
    """
    # Here, because the load must not carry them.
    import numpy as np

    from exhume.store.columns import Columns
    from exhume.store.headlog import FrameKind, HeadFile, HeadWriter

    head = HeadFile(source)
    frames = [frame for frame in head.frames if frame.end_ns <= end_ns]
    ticks = [frame for frame in frames if frame.kind == FrameKind.TICK]
    contents = [head.read(frame) for frame in ticks]
    span = ticks[-1].end_ns - ticks[0].start_ns
    born = np.concatenate([np.empty(0, "<i4"), *(c.get("fork.tid", "<i4") for c in contents)])
    epochs = 1 + contents[-1].values["epoch"] - contents[0].values["epoch"]
    per_epoch = max(1, int(EPOCH_SECONDS * 1e9 / span)) if epochs == 1 else 1

    def again(columns: Columns, copy: int) -> Columns:
        arrays = dict(columns.arrays)
        is_over = np.isin(columns.get("exit.tid", "<i4"), born)
        for name, numbers in columns.arrays.items():
            if name.endswith(("pid", "tid")):
                arrays[name] = (numbers + np.isin(numbers, born) * (copy << 16)).astype("<i4")
            if name.startswith("exit."):
                arrays[name] = arrays[name][is_over]
        if copy % per_epoch:
            arrays.pop("stack.words", None)
            arrays.pop("stack.count", None)
        values = {name: value for name, value in columns.values.items() if name != "events"}
        values["epoch"] += copy // per_epoch * epochs
        return Columns(arrays, values)

    writer = HeadWriter(target)
    for frame in frames:
        if frame.kind != FrameKind.TICK:
            writer.write(FrameKind(frame.kind), frame.start_ns, frame.end_ns, head.read(frame))
    for copy in range(round(seconds * 1e9 / span)):
        for frame, columns in zip(ticks, contents, strict=True):
            times = frame.start_ns + copy * span, frame.end_ns + copy * span
            writer.write(FrameKind.TICK, *times, again(columns, copy))
    writer.close()


def _end(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.workloads", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    load = commands.add_parser("mixed")
    load.add_argument("--seconds", type=float, required=True)
    load.add_argument("--pace", required=True, help="a Pace as JSON")
    one = commands.add_parser("fixed")
    one.add_argument("kind", choices=get_args(Kind))
    one.add_argument("--units", type=int, required=True)
    one.add_argument("--core", type=int)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    if args.command == "mixed":
        print(
            json.dumps([to_builtins(d) for d in mixed(Pace(**json.loads(args.pace)), args.seconds)])
        )
    elif args.command == "fixed":
        print(json.dumps(to_builtins(fixed(args.kind, args.units, args.core))))
    else:
        print("no bench of its own: bench.overhead runs it")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
