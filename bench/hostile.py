"""Memory of importing captures that are made to take much: is it 500 MiB, whatever is in them?

    python -m bench.hostile [--files N ...] [--jobs N ...] [--kinds WORD ...] [--thousands N]

Each kind has a million of something that real captures have by the hundred. Several files of a kind
are of the same ten minutes and tell of different processes, names and addresses, so that what they
share is nothing. Memory is that of all processes, pages that they share counted once (PSS),
looked at every 20 ms.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.machine import describe
from tests.perf import datafile_encoder as encoder
from tests.perf import records_encoder as enc
from tests.perf.datafile_encoder import SHAPE, Capture
from tests.perf.records_encoder import USER, Mapped, Sample, Who

_PID, _TIME, _ADDRESS = 0x1122_3344, 0x1122_3344_5566_7788, 0x6655_4433_2211_0000
_TEXT = b"@@@@@@@@"
"""What stands in a template for what differs from one to the next."""
_FRAMES = 127
_EVERY_NS = 10_000
_LOOK_SECONDS = 0.02

_WHO = Who(pid=_PID, tid=_PID, time=_TIME)
_NAMED = enc.comm(SHAPE, _PID, _PID, _TEXT, _WHO)
_FILE = Mapped(pid=_PID, start=_ADDRESS, path=b"/x/" + _TEXT)
_MAPPED = enc.mmap2(SHAPE, _FILE, _WHO)
_BORN = enc.fork(SHAPE, (_PID, 1, _PID, 1), _TIME, _WHO)
_DEAD = enc.fork(SHAPE, (_PID, 1, _PID, 1), _TIME, _WHO, is_exit=True)


def _sampled(*chain: int, pid: int = _PID) -> bytes:
    found = Sample(ip=chain[0], pid=pid, tid=_PID, time=_TIME, chain=(USER, *chain))
    return enc.sample(SHAPE, found)


_DEEP = tuple(_ADDRESS + number for number in range(_FRAMES))
_LARGE = enc.mmap2(SHAPE, Mapped(pid=1, start=0, length=1 << 47, path=b"/x/large"))
KINDS: dict[str, tuple[int, bytes]] = {
    "processes with a file each": (1000, _NAMED + _MAPPED + _sampled(_ADDRESS)),
    "processes that die": (1000, _BORN + _NAMED + _MAPPED + _sampled(_ADDRESS) + _DEAD),
    "names and threads": (1500, _NAMED + _sampled(_ADDRESS)),
    "forked processes": (1500, _BORN + _sampled(_ADDRESS)),
    "addresses of one file": (1500, _sampled(_ADDRESS, pid=1)),
    "stacks of 127 frames": (500, _sampled(*_DEEP, pid=1)),
}
"""How many thousand, and the records of one."""


def write(path: Path, count: int, template: bytes, file: int) -> None:
    """So many times the template, each with numbers, a name and addresses of its own."""
    rng = np.random.default_rng(file)
    head = np.frombuffer(_LARGE, np.uint8)
    one = np.frombuffer(template, np.uint8)
    with open(path, "wb") as out:
        shell = Capture(features={encoder.HOSTNAME: encoder.string("hostile")}).file()
        sections_at = len(Capture().file())
        out.write(shell[:sections_at])
        out.write(head.tobytes())
        for begin in range(0, count, 1 << 14):
            numbers = np.arange(begin, min(count, begin + (1 << 14)), dtype=np.uint64)
            rows = np.tile(one, (len(numbers), 1))
            own = numbers + np.uint64(1000 + file * count)
            _put(rows, template, _PID.to_bytes(4, "little"), own.astype("<u4"))
            _put(rows, template, _TIME.to_bytes(8, "little"), 10**9 + numbers * _EVERY_NS)
            text = np.char.add("n", np.strings.zfill(own.astype("U7"), 7)).astype("S8")
            _put(rows, template, _TEXT, text)
            for frame in _DEEP:
                where = rng.integers(0x1000, 1 << 46, len(numbers), np.uint64) & ~np.uint64(0xFFF)
                _put(rows, template, frame.to_bytes(8, "little"), where)
            out.write(rows.tobytes() + encoder.FINISHED_ROUND)
        size = out.tell() - sections_at
        out.write(_moved(shell[sections_at:], size))
        out.seek(48)
        out.write(size.to_bytes(8, "little"))


def _moved(sections: bytes, by: int) -> bytes:
    """One feature: where it lies, how long it is, and what it says."""
    at = int.from_bytes(sections[:8], "little") + by
    return at.to_bytes(8, "little") + sections[8:]


def _put(
    rows: NDArray[np.uint8], template: bytes, mark: bytes, values: NDArray[np.generic]
) -> None:
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(len(rows), len(mark))
    at = template.find(mark)
    while at >= 0:
        rows[:, at : at + len(mark)] = raw
        at = template.find(mark, at + len(mark))


def peak_mib(command: list[str]) -> tuple[float, float]:
    """Of all its processes together at one moment; and the seconds that it took."""
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while child.poll() is None:
        peak = max(peak, sum(map(_pss_kib, _with_children(child.pid))))
        time.sleep(_LOOK_SECONDS)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {child.returncode}")
    return peak / 1024, time.perf_counter() - began


def _with_children(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        with suppress(OSError):
            text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
            found += map(int, text.split())
    return found


def _pss_kib(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--kinds", nargs="+", default=[""], help="those whose name has the word")
    parser.add_argument("--thousands", type=int, help="instead of each kind's own")
    args = parser.parse_args()
    print(describe())
    print("MiB of all processes at most (budget 500), and seconds\n")
    for kind, (thousands, template) in KINDS.items():
        if not any(word in kind for word in args.kinds):
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            count = 1000 * (args.thousands or thousands)
            paths = [folder / f"{number}.data" for number in range(max(args.files))]
            for number, path in enumerate(paths):
                write(path, count, template, number)
                os.utime(path, (1.7e9, 1.7e9))
            size = paths[0].stat().st_size / 1e6
            print(f"{kind}: {count:,} in a file of {size:,.0f} MB", flush=True)
            for files in args.files:
                line = f"  {files} file{'s' * (files > 1)}:"
                for jobs in args.jobs:
                    peak, seconds = _import(paths[:files], folder / "out", jobs)
                    line += f"   --jobs {jobs} {peak:5.0f} MiB {seconds:5.1f} s"
                print(line, flush=True)


def _import(paths: list[Path], into: Path, jobs: int) -> tuple[float, float]:
    shutil.rmtree(into, ignore_errors=True)
    told = [*map(str, paths), "--into", str(into), "--jobs", str(jobs)]
    return peak_mib([sys.executable, "-m", "exhume", "import", *told])


if __name__ == "__main__":
    main()
