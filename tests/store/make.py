"""Small segments for tests: written out by hand, or drawn by hypothesis."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import strategies as st
from msgspec.structs import replace

from bench.synthetic import START_NS, START_WALL_NS, Burst, Node, make_node, make_segment
from exhume.model.clock import ClockMap, ClockPair
from exhume.model.event import Event
from exhume.model.sample import Samples, Stretch, Threads
from exhume.model.segment import Origin, SegmentData
from exhume.model.series import MISSING, Block
from exhume.model.stack import Frame, FrameKind, StackTree
from exhume.model.window import Window

SECOND = 1_000_000_000
T0 = START_WALL_NS
"""Wall time at which the segments of `busy_node` begin."""
BURST = Burst(core=2, start_second=70.0, seconds=4.0)
START, END = START_NS, START_NS + 130 * SECOND


def at(seconds: float, length: float = 0.0) -> Window:
    """A window so many seconds after `T0`."""
    start = T0 + round(seconds * SECOND)
    return Window(start, start + round(length * SECOND))


@cache
def small_node() -> Node:
    return make_node(cores=4, stacks=400)


@cache
def busy_node(seconds: float = 130.0, start_ns: int = START, busy: float = 0.6) -> SegmentData:
    """Four cores, 97 Hz; core 2 is at 100 % system in the kubelet from second 70 to 74."""
    return make_segment(small_node(), seconds, start_ns, busy=busy, burst=BURST)


def by_hand(
    samples: list[tuple[int, float, int, int]],
    *,
    stacks: tuple[tuple[str, ...], ...] = (("app", "main"),),
    threads: tuple[tuple[int, int, str, str], ...] = ((10, 10, "app", "/a"),),
    blocks: tuple[Block, ...] = (),
    events: tuple[Event, ...] = (),
    seconds: float = 10.0,
    hz: float = 100.0,
    stretches: tuple[Stretch, ...] | None = None,
    boot_id: str = "b0071d00-1111",
    start_ns: int = START,
    clock: ClockMap | None = None,
) -> SegmentData:
    """Samples are (core, seconds since the start, thread, stack); the last two index the tuples.

    A stack begins with its process; names that start with `k_` are the kernel's.
    """
    tree, nodes = tree_of(stacks)
    ordered = sorted(samples)
    count = len(ordered)
    times = [start_ns + round(s[1] * SECOND) for s in ordered]
    return SegmentData(
        origin=Origin("node-1", boot_id, "6.18", "x86_64", 100, "test"),
        clock=clock or ClockMap.of([ClockPair(start_ns, T0 + start_ns - START, None)]),
        start_ns=start_ns,
        end_ns=start_ns + round(seconds * SECOND),
        stretches=(Stretch(start_ns, "cpu-clock", hz),) if stretches is None else stretches,
        samples=Samples(
            np.array(times, np.int64),
            np.array([s[0] for s in ordered], np.uint16),
            np.array([s[2] for s in ordered], np.int32),
            np.array([nodes[s[3]] for s in ordered], np.int32),
            np.full(count, round(1e9 / hz), np.uint32),
        ),
        tree=tree,
        threads=Threads(
            np.array([t[0] for t in threads], np.int32),
            np.array([t[1] for t in threads], np.int32),
            np.full(len(threads), -1, np.int32),
            tuple(t[2] for t in threads),
            tuple(t[3] for t in threads),
        ),
        blocks=blocks,
        events=events,
    )


def tree_of(stacks: tuple[tuple[str, ...], ...]) -> tuple[StackTree, list[int]]:
    paths = {stack[:end] for stack in stacks for end in range(len(stack) + 1)} | {()}
    ordered = sorted(paths, key=lambda path: (len(path), path))
    place = {path: index for index, path in enumerate(ordered)}
    frames: dict[Frame, int] = {Frame("", "", FrameKind.UNKNOWN): 0}
    numbers, modes = [], []
    for path in ordered:
        frame = _frame(path)
        numbers.append(frames.setdefault(frame, len(frames)))
        modes.append(1 if frame.kind == FrameKind.KERNEL else 0)
    tree = StackTree(
        np.array([place[path[:-1]] if path else -1 for path in ordered], np.int32),
        np.array(numbers, np.int32),
        np.array(modes, np.uint8),
        tuple(frames),
    )
    return tree, [place[stack] for stack in stacks]


def _frame(path: tuple[str, ...]) -> Frame:
    if not path:
        return Frame("", "", FrameKind.UNKNOWN)
    if len(path) == 1:
        return Frame(path[0], "", FrameKind.PROCESS)
    if path[-1].startswith("k_"):
        return Frame(path[-1], "[kernel]", FrameKind.KERNEL)
    return Frame(path[-1], "a.out", FrameKind.USER)


def jiffies(
    seconds: int, cores: dict[int, dict[str, int]], start_ns: int = START
) -> tuple[Block, ...]:
    """Per-core times that rise by so many jiffies each second."""
    ticks = start_ns + np.arange(seconds + 1, dtype=np.int64) * SECOND
    modes = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    return tuple(
        Block(
            f"cpu.{mode}",
            tuple(str(core) for core in cores),
            ticks,
            np.arange(seconds + 1)[:, np.newaxis]
            * np.array([c.get(mode, 0) for c in cores.values()]),
        )
        for mode in modes
    )


def moved_clock(data: SegmentData, pairs: list[tuple[float, float]]) -> SegmentData:
    """The same with clock pairs of (seconds since the start, seconds of wall time since T0)."""
    return replace(
        data,
        clock=ClockMap.of(
            [ClockPair(data.start_ns + round(m * SECOND), T0 + round(w * SECOND)) for m, w in pairs]
        ),
    )


names = st.text(max_size=8) | st.sampled_from(["\x1b[2J", "<b>", "naïve", "日本", "a" * 300])
words = st.lists(st.sampled_from(["a", "b", "k_c", "k_d"]), min_size=1, max_size=5).map(tuple)
counters = st.integers(-(2**62), 2**62) | st.just(MISSING) | st.integers(0, 1000)


@st.composite
def segments(draw: st.DrawFn) -> SegmentData:
    """Anything a segment may be: no samples, odd names, cores with holes, readings that fail."""
    stacks = tuple(draw(st.lists(words, min_size=1, max_size=6, unique=True)))
    threads = tuple(
        draw(
            st.lists(
                st.tuples(st.integers(-1, 2**31 - 1), st.integers(-1, 99), names, names),
                min_size=1,
                max_size=4,
            )
        )
    )
    sample = st.tuples(
        st.integers(0, 5) | st.just(65_535),
        st.floats(0, 9.99),
        st.integers(0, len(threads) - 1),
        st.integers(0, len(stacks) - 1),
    )
    ticks = draw(st.integers(0, 4))
    blocks = tuple(
        Block(
            field,
            instances,
            START + np.arange(ticks, dtype=np.int64) * SECOND,
            np.array(
                draw(
                    st.lists(
                        counters, min_size=ticks * len(instances), max_size=ticks * len(instances)
                    )
                ),
                np.int64,
            ).reshape(ticks, len(instances)),
        )
        for field, instances in (
            ("cpu.user", ("0", "5")),
            ("cpu.idle", ("0",)),
            ("self.rss_bytes", ("",)),
        )
    )
    events = tuple(
        Event(START + offset, kind, subject, text, core, pid, count, fields)
        for offset, kind, subject, text, core, pid, count, fields in draw(
            st.lists(
                st.tuples(
                    st.integers(0, 10**10),
                    st.sampled_from(["exec", "exit", "gap"]),
                    names,
                    names,
                    st.none() | st.integers(0, 500),
                    st.none() | st.integers(-1, 2**31),
                    st.integers(1, 10**6),
                    st.dictionaries(names, names | st.integers(-5, 5), max_size=2),
                ),
                max_size=3,
            )
        )
    )
    return by_hand(
        draw(st.lists(sample, max_size=40)),
        stacks=stacks,
        threads=threads,
        blocks=blocks,
        events=events,
        hz=draw(st.sampled_from([97.0, 49.0, 997.0])),
    )
