"""Importing perf captures, against `perf script` and against a plain Python parser, in one run.

    python -m bench.ingest [--samples N] [--keep DIR]

Records a load until there are enough samples. What is compared is how long one waits; CPU seconds
and the memory of the largest process stand beside it. exhume reads a large file with all cores,
perf script with one; how exhume does with one is a row of its own. Both sides name the same
symbols, from the same files.

perf script ends with one of two things, and which one counts is not settled (docs/decisions/0007).
End to end, it is stacks that are summed up, by the script for that which comes with perf itself: no
text in between, and no recording that can be asked for a second or a core either. Half-way, it is
text of hundreds of megabytes, in a file, as whoever goes on with it needs it, or nowhere, which is
quicker.

Two things decide the ratio, so both are shown. Starting and reading symbols takes the same whatever
the capture: another row has the records five times over, each time later. And perf script takes its
time by the frame, we by the sample and the distinct stack. Three loads are a program with frame
pointers, as Go's are always and many distributions' are again, with stacks of 35, 21 and 14 frames,
of which nearly every sample has one of its own: on 21 perf script is about as quick as where the
plan's target comes from (74,000 samples a second). The others are without them, with all else that
goes on here: Python, whose stacks end after a few frames, and the tools of a shell, with hundreds
of programs started a second, as where the plan's figures were measured. Best of three for both
sides, of one for perf script on the long ones. Nothing passes or fails here.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from msgspec import Struct

from bench import _plain_script
from bench._captures import repeated
from bench.machine import describe
from exhume.ingest.script_stacks import ScriptStacks
from exhume.perf.datafile import PerfData
from exhume.perf.script import ScriptReader

ROUNDS = 3
RATE_HZ = 9999
_LOOK_MS = 20
_LEAST_MARK = np.uint64(2**64 - 4095)
"""PERF_CONTEXT_MAX: from here on a word of a call chain says whose addresses follow."""
# Keeps every core busy in both modes, with stacks of all depths and some programs that come and go.
LOAD = """
import hashlib, json, os, re, subprocess, sys, threading, time
def deep(n): return deep(n - 1) if n else [hashlib.sha256(os.urandom(4096)) for _ in range(20)]
end = time.time() + float(sys.argv[1])
while time.time() < end:
    deep(30); json.loads(json.dumps(list(range(2000)))); re.findall(r"(a|b)+", "ab" * 2000)
    for name in os.listdir("/proc/self"): os.path.exists("/proc/self/" + name)
    if time.time() % 1 < 0.02: subprocess.run(["true"])
"""
# What a node does that is not one large program: short ones, files, pipes. $1: how many seconds.
TOOLS_LOAD = """
end=$(($(date +%s) + $1))
while [ $(date +%s) -lt $end ]; do
    for _ in $(seq 20); do ls /usr/lib; grep Vm /proc/self/status | cat; true $(id); done
    tar -C /usr/share -cf - doc 2> /dev/null | gzip -1 | head -c 3000000
    grep -rs nowhere /usr/include
    find /usr/lib -xdev -name '*.so'
    head -c 20000000 /dev/urandom | sha256sum
done > /dev/null
"""
# A program with frame pointers: calls by one of 64 ways each, and the kernel. It is told how deep
# at least, how many depths there are, and for how many seconds.
DEEP_LOAD = """
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
static volatile unsigned long sink;
#define CALLER(name, next) \\
    __attribute__((noinline)) static void name(int depth, unsigned way) { next; sink += way; }
static void turn(int depth, unsigned way);
CALLER(even, turn(depth - 1, way / 2))
CALLER(odd, turn(depth - 1, way / 2))
__attribute__((noinline)) static void turn(int depth, unsigned way) {
    struct stat found;
    if (depth > 0) way & 1 ? odd(depth, way) : even(depth, way);
    else if (sink & 1) for (int i = 0; i < 2000; i++) sink += i;
    else for (int i = 0; i < 20; i++) stat("/proc/self/status", &found);
    sink++;
}
int main(int count, char **words) {
    time_t end = time(NULL) + atoi(words[3]);
    int least = atoi(words[1]), more = atoi(words[2]);
    for (unsigned way = 0; time(NULL) < end; way++) turn(least + way % more, way / more % 64);
    return count < 4;
}
"""


DEPTHS = {"deep": ("5", "16"), "as the plan's": ("3", "5"), "not so deep": ("1", "3")}
"""What DEEP_LOAD is told: how deep at least, and how many depths there are."""


WITHOUT = {
    "tools of a shell": ("bash", "-c", TOOLS_LOAD, "tools"),
    "Python": (sys.executable, "-c", LOAD),
}


class Cost(Struct, frozen=True):
    cpu_seconds: float
    wall_seconds: float
    peak_mib: float
    """Of the largest process."""


def of_process(command: Sequence[str], out: Path | None = None) -> Cost:
    os.sync()  # what the last one wrote is not waited for by this one
    began = time.perf_counter()
    peak_kib = 0
    # As installed: with Python's bytecode where it was left.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with open(out or os.devnull, "wb") as stdout:
        child = subprocess.Popen(command, stdout=stdout, stderr=subprocess.DEVNULL, env=env)
        handle, ended = os.pidfd_open(child.pid), select.poll()
        ended.register(handle, select.POLLIN)
        # ru_maxrss would count what we ourselves held when the child was started.
        while not ended.poll(_LOOK_MS):
            peak_kib = max(peak_kib, _peak_kib(child.pid))
    wall_seconds = time.perf_counter() - began
    os.close(handle)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command[:3])} failed with {status}")
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(cpu, wall_seconds, peak_kib / 1024)


def _peak_kib(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


def best_of(rounds: int, function: Callable[[], object]) -> float:
    """CPU seconds within this process."""
    found = []
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        function()
        found.append(time.process_time() - began)
    return min(found)


def deep_load(folder: Path) -> Path | None:
    """The program with frame pointers; None where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    source, program = folder / "deep.c", folder / "deep"
    source.write_text(DEEP_LOAD)
    flags = ["-O1", "-g0", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]
    subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True)
    return program


def record(folder: Path, load: Sequence[str], samples: int, *, alone: bool) -> Path:
    """So many at least, nearly; `alone`: without all else that runs here."""
    path = folder / "recorded.data"
    perf = shutil.which("perf")
    if perf is None:
        raise SystemExit("perf is not installed (apt: linux-perf)")
    cores = os.cpu_count() or 1
    seconds = math.ceil(1.05 * samples / (RATE_HZ * cores))
    command = [*load, str(seconds + 60)]
    loads = [subprocess.Popen(command, start_new_session=True) for _ in range(cores)]
    time.sleep(0.5)  # started: what is repeated later has no exec of theirs
    of = ["-p", ",".join(str(one.pid) for one in loads)] if alone else ["-a"]
    try:
        subprocess.run(
            [perf, "record", "-q", "-e", "cpu-clock", "-F", str(RATE_HZ), *of, "-g", "-o",
             str(path), "--", "sleep", str(seconds)],
            check=True,
        )  # fmt: skip
    finally:
        for one in loads:
            os.killpg(one.pid, signal.SIGKILL)  # with all that it started
            one.wait()
    return path


def decode(path: Path) -> int:
    data = PerfData(lambda: path.open("rb", buffering=0), str(path))
    return sum(len(walked.samples) for walked in data.walks())


def frames(path: Path) -> float:
    """Of a sample, on average; the marks between kernel and program are none."""
    total = count = 0
    for walked in PerfData(lambda: path.open("rb", buffering=0), str(path)).walks():
        ends = np.cumsum(walked.word_count)
        is_frame = np.concatenate([[0], np.cumsum(walked.words < _LEAST_MARK)])
        depth = is_frame[ends] - is_frame[ends - walked.word_count]
        total += int(depth[walked.samples.stack].sum())
        count += len(walked.samples)
    return total / max(1, count)


def parse(path: Path) -> int:
    """As far as the plain parser goes: columns, and stacks of names."""
    with path.open("rb", buffering=0) as stream:
        reader, stacks, count = ScriptReader(stream, str(path)), ScriptStacks(), 0
        for block in reader.blocks():
            stacks.learn(block)
            count += len(block.columns)
    return count


def import_(folder: Path, *files: Path, jobs: int | None = None) -> Cost:
    into = folder / "out"
    shutil.rmtree(into, ignore_errors=True)
    limit = () if jobs is None else ("--jobs", str(jobs))
    return of_process(
        [sys.executable, "-m", "exhume", "import", *map(str, files), "--into", str(into), *limit]
    )


def best(rounds: int, run: Callable[[], Cost]) -> Cost:
    """The least of each: others may use the machine."""
    found = [run() for _ in range(rounds)]
    return Cost(
        min(cost.cpu_seconds for cost in found),
        min(cost.wall_seconds for cost in found),
        max(cost.peak_mib for cost in found),
    )


def show(
    what: str,
    samples: int,
    size: int,
    cost: Cost | float,
    against: Cost | float | None,
    target: str,
) -> None:
    """How often as quick: by the clock, with the ratio of CPU seconds in brackets. Where `cost` is
    CPU seconds alone, by those."""
    if isinstance(cost, float):
        other = against.cpu_seconds if isinstance(against, Cost) else against
        print(f"{_line(what, samples, size, cost, other)}  {target}", flush=True)
        return
    wall = against.wall_seconds if isinstance(against, Cost) else against
    line = _line(what, samples, size, cost.wall_seconds, wall)
    line += f"  CPU {cost.cpu_seconds:5.2f} s"
    if isinstance(against, Cost):
        line += f" ({against.cpu_seconds / cost.cpu_seconds:.1f} ×)"
    print(f"{line}, {cost.peak_mib:4.0f} MiB  {target}", flush=True)


def _line(what: str, samples: int, size: int, seconds: float, other: float | None) -> str:
    line = f"{what:34} {samples / seconds / 1e3:8,.0f} k/s {size / seconds / 1e6:7,.0f} MB/s"
    return f"{line} {seconds:6.2f} s" + (f" {other / seconds:6.1f} ×" if other else f"{'':9}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=600_000)
    parser.add_argument("--keep", type=Path, help="leave the captures there")
    args = parser.parse_args()
    print(describe())
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        program = deep_load(folder)
        for title, depth in DEPTHS.items():
            if program is None:
                break
            print(f"\nWith frame pointers, {title}")
            recorded = record(folder, [str(program), *depth], args.samples, alone=True)
            compare_text(folder, compare(folder, recorded).plain_cpu_seconds)
        for title, load in WITHOUT.items():
            print(f"\nWithout frame pointers, {title}")
            recorded = record(folder, load, args.samples, alone=False)
            found = compare(folder, recorded)
            compare_text(folder, found.plain_cpu_seconds)
        compare_pieces(folder, recorded, found.script_wall_seconds)


def check_sum(folded: Path, samples: int) -> None:
    """Who sums up must have seen them all."""
    lines = folded.read_text("utf-8", "replace").splitlines()
    summed = sum(int(line.rpartition(" ")[2]) for line in lines)
    if summed != samples:
        print(f"  perf script summed up {summed:,} of {samples:,} samples", flush=True)


class Others(Struct, frozen=True):
    script_wall_seconds: float
    """That perf script takes for a sample."""
    plain_cpu_seconds: float
    """That the plain parser takes for its text."""


def summing_script() -> list[str]:
    """What makes perf script sum up stacks by itself; empty where perf came without it."""
    found = subprocess.run(["perf", "--exec-path"], capture_output=True, text=True, check=True)
    path = Path(found.stdout.strip(), "scripts", "python", "stackcollapse.py")
    return ["-s", str(path)] if path.exists() else []


def compare(folder: Path, data: Path) -> Others:
    text, summing = folder / "perf.txt", summing_script()
    samples, size = decode(data), data.stat().st_size
    print(
        f"perf.data: {samples:,} samples, {size / 1e6:,.0f} MB, {size / samples:.0f} B and "
        f"{frames(data):.0f} frames each"
    )
    print("seconds one waits, × against perf script; CPU seconds in brackets")

    def script_of(path: Path, out: Path | None = None, *options: str) -> Cost:
        return of_process(["perf", "script", "-f", "-i", str(path), *options], out)

    whole = None
    if summing:
        folded = folder / "perf.folded"
        whole = best(ROUNDS, lambda: script_of(data, folded, *summing))
        show("perf script end to end", samples, size, whole, None, "")
        check_sum(folded, samples)
    else:
        print("perf script end to end: this perf has no scripts in Python")
    script = best(ROUNDS, lambda: script_of(data, text))
    show("perf script, text in a file", samples, size, script, None, "")
    nowhere = best(ROUNDS, lambda: script_of(data))
    show("perf script, text to nowhere", samples, size, nowhere, None, "")
    show("decode (CPU)", samples, size, best_of(3, lambda: decode(data)), script, "≥ 2,000 k/s")
    ours = best(ROUNDS, lambda: import_(folder, data))
    show("exhume import, against end to end", samples, size, ours, whole, "≥ 10 ×, ≤ 500 MiB")
    show("  against its text in a file", samples, size, ours, script, "≥ 10 ×")
    show("  against its text to nowhere", samples, size, ours, nowhere, "")
    alone = best(ROUNDS, lambda: import_(folder, data, jobs=1))
    show("  with one process, end to end", samples, size, alone, whole, "")
    # What others do to come as far: perf's text, and a script that sums up its stacks.
    plain = best_of(1, lambda: _plain_script.read(text))
    collapsed = script.wall_seconds + plain
    told = f"exhume import: {collapsed / ours.wall_seconds:.1f} ×"
    print(f"{_line('perf script and a plain parser', samples, size, collapsed, None)}  {told}")
    long = folder / "long.data"
    repeated(data, long, 5)
    many, size = decode(long), long.stat().st_size
    long_script = script_of(long)  # to nowhere: the text would be gigabytes
    show("perf script, five times as long", many, size, long_script, None, "")
    ours = best(ROUNDS, lambda: import_(folder, long))
    show("exhume import, five times as long", many, size, ours, long_script, "")
    long.unlink()
    return Others(script.wall_seconds / samples, plain)


def compare_pieces(folder: Path, recorded: Path, perf_seconds: float) -> None:
    """As in the story: a night in pieces, read by all cores at once. Only wall time can be told."""
    pieces = [folder / f"piece-{number}.data" for number in range(4)]
    for number, piece in enumerate(pieces):
        repeated(recorded, piece, 1, first=number)
    samples = sum(map(decode, pieces))
    jobs = os.cpu_count() or 1
    cost = import_(folder, *pieces, jobs=jobs)
    rate = samples / cost.wall_seconds
    print(
        f"exhume import, 4 pieces, {jobs} processes: {samples:,} samples in "
        f"{cost.wall_seconds:.1f} s, {rate / 1e3:,.0f} k/s, {rate * perf_seconds:.1f} × wall time"
    )


def compare_text(folder: Path, plain: float) -> None:
    text = folder / "perf.txt"
    size, samples = text.stat().st_size, parse(text)
    print(f"\nits text: {samples:,} samples, {size / 1e6:,.0f} MB, {size / samples:.0f} B each")
    print("CPU seconds compared, × against a plain parser")
    show("plain Python, line by line", samples, size, plain, None, "")
    show("parse", samples, size, best_of(3, lambda: parse(text)), plain, "≥ 10 ×")
    show("exhume import", samples, size, import_(folder, text), plain, "≤ 500 MiB")


if __name__ == "__main__":
    main()
