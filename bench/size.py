"""What a recording takes on disk, and what closing a segment takes.

    python -m bench.size [--quick]

Ten-minute segments of a made-up busy 96-core node, measured file by file, against the raw perf.data
of the same samples (150 B each; real captures have 150 to 190) and the budget of DESIGN.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.machine import describe
from bench.synthetic import HZ, START_NS, Burst, make_node, make_segment
from exhume.store.files import size_of
from exhume.store.minutes import write_minutes
from exhume.store.segment import Segment
from exhume.store.writer import write_segment

RAW_BYTES_A_SAMPLE = 150
BUDGET_BYTES_A_SAMPLE = 3.7
BUDGET_12_H_BYTES = 1_500_000_000
CORES = 96
TWELVE_HOURS = 12 * 3600


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.size", description=__doc__)
    parser.add_argument("--segments", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--quick", action="store_true", help="two segments of one minute")
    args = parser.parse_args()
    segments, seconds = (2, 60.0) if args.quick else (args.segments, args.seconds)
    print(describe(), "", sep="\n")
    with TemporaryDirectory() as directory:
        disk(Path(directory), segments, seconds)
    closing(seconds)
    return 0


def disk(root: Path, segments: int, seconds: float) -> None:
    node = make_node(CORES)
    sizes: Counter[str] = Counter()
    rows: Counter[str] = Counter()
    samples = 0
    for index in range(segments):
        start = START_NS + round(index * seconds * 1e9)
        burst = Burst(39, seconds / 2, 5.0) if index % 2 else None
        data = make_segment(node, seconds, start, burst=burst)
        segment = Segment(write_segment(root, data))
        write_minutes(root, data)
        samples += segment.sample_count
        for name, facts in segment.meta.files.items():
            sizes[name] += facts.bytes
            rows[name] += facts.rows
        sizes["meta.json"] += (segment.path / "meta.json").stat().st_size
    sizes["minutes (kept 90 days)"] = size_of(root / "minutes")
    total = size_of(root)
    recorded = segments * seconds
    print(f"{segments} segments of {seconds:.0f} s, {CORES} cores at {HZ:.0f} Hz, all busy")
    print(f"{'file':26}{'bytes':>12}{'rows':>12}{'B a sample':>12}")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"{name:26}{size:12,}{rows[name]:12,}{size / samples:12.4f}")
    print(f"{'all':26}{total:12,}{samples:12,}{total / samples:12.4f}  measured")
    print(f"{'budget':26}{'':12}{'':12}{BUDGET_BYTES_A_SAMPLE:12.4f}")
    raw = samples * RAW_BYTES_A_SAMPLE
    print(f"raw perf.data of the same samples: {raw:,} bytes, {raw / total:.0f} times as much")
    extrapolated = total / recorded * TWELVE_HOURS
    print(
        f"12 h of it: {extrapolated / 1e9:.2f} GB (extrapolated from {recorded:.0f} s measured), "
        f"budget {BUDGET_12_H_BYTES / 1e9:.1f} GB\n"
    )


def closing(seconds: float) -> None:
    print(f"closing a segment of {seconds:.0f} s in a process of its own (Arrow and numpy in it)")
    print(f"{'cores':>6}{'samples':>12}{'CPU s':>10}{'of a core':>12}{'peak RSS':>12}")
    for cores, stacks in ((2, 6_000), (CORES, 48_000)):
        with TemporaryDirectory() as directory:
            words = ["MAKE", directory, str(cores), str(stacks), str(seconds)]
            _run(words)
            took = json.loads(_run(["CLOSE", directory]))
        share = took["cpu_seconds"] / seconds
        print(
            f"{cores:6}{int(took['samples']):12,}{took['cpu_seconds']:10.2f}{share:12.2%}"
            f"{took['peak_rss_mib']:8.1f} MiB"
        )


def _run(words: list[str]) -> str:
    command = [sys.executable, "-m", "bench._closer", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
