"""Decoding perf samples: the C walker against numpy alone and against plain Python, in one run.

What docs/decisions/0001 rests on. All three turn the same ring contents (IP, TID, TIME, CPU and
call chain, 150 bytes a sample) into columns and deduplicated stacks.
"""

from __future__ import annotations

import argparse
import struct
import time
from collections.abc import Callable

import numpy as np

from bench.machine import describe
from exhume.model.arrays import U8, U64
from exhume.perf.attr import CONTEXT_KERNEL, SampleType
from exhume.perf.native import Layout, Walker

SAMPLE_TYPE = (
    SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.CPU | SampleType.CALLCHAIN
)
FIXED_BYTES = 8 + 8 + 8 + 8 + 8 + 8
DISTINCT_STACKS = 20_000
ROUNDS = 5


def make_buffer(samples: int, seed: int = 1) -> U8:
    """Stacks of 4 to 20 addresses, drawn so that few are common and most are rare."""
    rng = np.random.default_rng(seed)
    stacks = [
        np.concatenate(
            ([CONTEXT_KERNEL], rng.integers(1 << 40, 1 << 47, rng.integers(4, 21), dtype=np.uint64))
        ).astype(np.uint64)
        for _ in range(DISTINCT_STACKS)
    ]
    chosen = np.minimum(rng.zipf(1.2, samples) - 1, DISTINCT_STACKS - 1)
    parts = []
    for i, which in enumerate(chosen.tolist()):
        words = stacks[which]
        size = FIXED_BYTES + 8 * len(words)
        fixed = (9, 1, size, int(words[1]), i % 500, i % 4000, i * 107, i % 96, 0)
        head = struct.pack("<IHHQIIQII", *fixed)
        parts.append(head + struct.pack("<Q", len(words)) + words.tobytes())
    return np.frombuffer(b"".join(parts), np.uint8)


def with_c(buffer: U8) -> tuple[int, int]:
    walker = Walker([Layout(int(SAMPLE_TYPE), 0, 0, 0, 0, 1)])
    walked = walker.walk(buffer)
    return len(walked.samples), walker.stack_count


def with_numpy(buffer: U8) -> tuple[int, int]:
    """Boundaries by a tight loop over the sizes, all else by columns."""
    sizes = memoryview(buffer.tobytes()).cast("H")
    offsets, at, end = [], 0, len(buffer)
    while at < end:
        offsets.append(at)
        at += sizes[(at >> 1) + 3]
    words: U64 = buffer.view(np.uint64)
    start = np.array(offsets, np.int64) >> 3
    columns = [words[start + k] for k in (1, 2, 3, 4)]
    length = words[start + 5].astype(np.int64)
    first = start + 6
    # A polynomial hash of each chain by running sums, the length mixed in.
    powers = np.cumprod(np.full(int(length.max()), 0x9E3779B97F4A7C15, np.uint64))
    owner_start = np.repeat(np.cumsum(length) - length, length)
    place = np.arange(int(length.sum())) - owner_start
    flat = words[np.repeat(first, length) + place]
    mixed = np.add.reduceat(flat * powers[place], np.cumsum(length) - length)
    stacks = np.unique(mixed ^ length.astype(np.uint64))
    return len(columns[0]), len(stacks)


def with_python(buffer: U8) -> tuple[int, int]:
    data = buffer.tobytes()
    seen: dict[bytes, int] = {}
    rows = []
    at = 0
    while at < len(data):
        _, _, size, ip, pid, tid, when, cpu, _ = struct.unpack_from("<IHHQIIQII", data, at)
        (length,) = struct.unpack_from("<Q", data, at + 40)
        chain = data[at + 48 : at + 48 + 8 * length]
        rows.append((ip, pid, tid, when, cpu, seen.setdefault(chain, len(seen))))
        at += size
    return len(rows), len(seen)


def best_seconds(function: Callable[[U8], object], buffer: U8, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        function(buffer)
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=500_000)
    args = parser.parse_args()
    print(describe())
    buffer = make_buffer(args.samples)
    print(f"{args.samples:,} samples, {len(buffer) / args.samples:.0f} bytes a sample")
    answers = {f.__name__: f(buffer) for f in (with_c, with_numpy, with_python)}
    assert len(set(answers.values())) == 1, f"they disagree: {answers}"
    slowest = best_seconds(with_python, buffer, 2)
    for name, function in (("C walker", with_c), ("numpy", with_numpy)):
        seconds = best_seconds(function, buffer, ROUNDS)
        rate = args.samples / seconds / 1e6
        print(f"{name:12} {rate:6.2f} M samples/s   {slowest / seconds:5.1f} × plain Python")
    print(f"{'plain Python':12} {args.samples / slowest / 1e6:6.2f} M samples/s")
    print("budget: ≥ 2 M samples/s decoded")


if __name__ == "__main__":
    main()
