"""Close one segment in a process of its own, as the recorder does, and print what it took.

python -m bench._closer MAKE DIR CORES STACKS SECONDS     make the input of a closing
python -m bench._closer CLOSE DIR                         close it; JSON on standard output
"""

from __future__ import annotations

import json
import pickle
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from exhume.model.sample import Samples

_COLUMNS = (("time_ns", "int64"), ("core", "uint16"), ("thread", "int32"), ("stack", "int32"))
_ROWS = 1 << 15


def make(directory: Path, cores: int, stacks: int, seconds: float) -> None:
    from bench.synthetic import make_node, make_segment

    data = make_segment(make_node(cores, stacks), seconds)
    directory.mkdir(parents=True, exist_ok=True)
    for name, _ in _COLUMNS:
        getattr(data.samples, name).tofile(directory / name)
    with open(directory / "rest", "wb") as file:
        pickle.dump(replace(data, samples=_read(directory, 0, 0)), file)


def close(directory: Path) -> dict[str, float]:
    """Samples come from files piece by piece: what lies in memory is the closer's own."""
    from exhume.store.minutes import write_minutes
    from exhume.store.writer import Apart, write_summed_up

    with open(directory / "rest", "rb") as file:
        data = pickle.load(file)
    count = (directory / "core").stat().st_size // 2

    def pieces() -> Iterator[Samples]:
        for begin in range(0, count, _ROWS):
            yield _read(directory, begin, min(_ROWS, count - begin))

    root = directory / "root"
    shutil.rmtree(root, ignore_errors=True)
    began = time.process_time()
    _, summed_up = write_summed_up(root, data, Apart(pieces))
    write_minutes(root, data, summed_up)
    return {
        "samples": count,
        "cpu_seconds": time.process_time() - began,
        "peak_rss_mib": _peak_rss_mib(),
    }


def _peak_rss_mib() -> float:
    """Not ru_maxrss: that one begins with what the parent had before exec."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


def _read(directory: Path, begin: int, count: int) -> Samples:
    parts = {
        name: np.fromfile(directory / name, dtype, count, offset=begin * np.dtype(dtype).itemsize)
        for name, dtype in _COLUMNS
    }
    return Samples(**parts, weight_ns=np.empty(0, np.uint32))


if __name__ == "__main__":
    what, place, *numbers = sys.argv[1:]
    if what == "MAKE":
        make(Path(place), int(numbers[0]), int(numbers[1]), float(numbers[2]))
    else:
        print(json.dumps(close(Path(place))))
