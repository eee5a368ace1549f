"""Profiles made up: drawn by hypothesis, and one of a recording that is written and read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from exhume.model.core import NO_CORE
from exhume.model.event import Event
from exhume.model.profile import Profile, ProfiledThread, SampleBatch, Tables
from exhume.model.segment import SegmentData
from exhume.model.stack import Frame, FrameKind, StackTree
from exhume.store.recording import Recording
from exhume.store.writer import write_segment
from tests.cli.made_up import HOSTILE
from tests.store.make import SECOND, START, T0, at, by_hand, jiffies

PERIOD = SECOND // 100
WINDOW = at(0, 10)
CGROUP = "/system.slice/kubelet.service"
STACKS = (
    ("kubelet", "main", "k_entry_SYSCALL_64", "k_memcg_stat_show"),
    ("python", "train_step"),
    ("kubelet", "main"),
)
THREADS = (
    (10, 10, "kubelet", CGROUP),
    (10, 12, "worker", CGROUP),
    (20, 20, "python", "/a"),
)


def segment(events: tuple[Event, ...] = ()) -> SegmentData:
    """Ten seconds at 100 Hz: core 1 in the kernel for the kubelet from second 2 to 4, python on
    core 0 every tenth of a second, a thread of the kubelet's on core 3 now and then."""
    samples = [(1, 2 + index / 100, 0, 0) for index in range(200)]
    samples += [(0, index / 10, 2, 1) for index in range(100)]
    samples += [(3, index + 0.5, 1, 2) for index in range(10)]
    return by_hand(
        samples,
        stacks=STACKS,
        threads=THREADS,
        events=events,
        blocks=jiffies(10, {core: {"user": 20, "system": 5, "idle": 75} for core in range(4)}),
    )


def recording(root: Path, *segments: SegmentData) -> Recording:
    for data in segments or (segment(),):
        write_segment(root, data)
    return Recording.open(root)


def event(second: float, kind: str, subject: str, text: str = "", core: int | None = None) -> Event:
    return Event(START + round(second * SECOND), kind, subject, text, core, fields={"level": 3})


def profile(
    samples: Sequence[tuple[float, int, int, int]],
    *,
    threads: Sequence[ProfiledThread],
    tree: StackTree,
    weight_ns: int = PERIOD,
) -> Profile:
    """Samples are (second, core, thread, node)."""
    ordered = sorted(samples)
    batch = SampleBatch(
        wall_ns=np.array([T0 + round(s[0] * SECOND) for s in ordered], np.int64),
        core=np.array([s[1] for s in ordered], np.uint16),
        thread=np.array([s[2] for s in ordered], np.int32),
        stack=np.array([s[3] for s in ordered], np.int32),
        weight_ns=np.full(len(ordered), weight_ns, np.int64),
    )
    tables = Tables(WINDOW, "node-1", "6.18", "cpu-clock", tree, tuple(threads))
    return Profile(tables, batch)


names = st.sampled_from([*HOSTILE, "</script>", "]]>", "=1+1", "a\"b'c&d<e>"]) | st.text(max_size=6)


@st.composite
def trees(draw: st.DrawFn) -> StackTree:
    """The first level are processes; the rest any kind."""
    kinds = st.sampled_from([FrameKind.USER, FrameKind.KERNEL, FrameKind.UNKNOWN])
    frames = [Frame("", "", FrameKind.UNKNOWN)]
    parent, frame = [-1], [0]
    for index in range(draw(st.integers(1, 12))):
        above = draw(st.integers(0, index))
        kind = FrameKind.PROCESS if above == 0 else draw(kinds)
        module = "" if kind == FrameKind.PROCESS else draw(names)
        one = Frame(draw(names), module, kind)
        if one not in frames:
            frames.append(one)
        parent.append(above)
        frame.append(frames.index(one))
    return StackTree(
        np.array(parent, np.int32),
        np.array(frame, np.int32),
        np.zeros(len(parent), np.uint8),
        tuple(frames),
    )


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    tree = draw(trees())
    some_names = names
    threads = draw(
        st.lists(
            st.builds(
                ProfiledThread,
                pid=st.integers(-1, 3),
                tid=st.integers(-1, 3),
                comm=some_names,
                cgroup=some_names,
                unit=some_names,
                container=some_names,
                pod=some_names,
                boot_id=st.sampled_from(["a", "b"]),
            ),
            min_size=1,
            max_size=5,
            unique=True,
        )
    )
    samples = draw(
        st.lists(
            st.tuples(
                st.integers(0, 99_999).map(lambda tick: tick / 10_000),
                st.sampled_from([0, 1, 39, NO_CORE]),
                st.integers(0, len(threads) - 1),
                st.integers(0, len(tree.parent) - 1),
            ),
            max_size=30,
        )
    )
    return profile(samples, threads=threads, tree=tree)


def stack_names(tree: StackTree, node: int) -> list[str]:
    found: list[str] = []
    while node > 0:
        found.append(tree.frames[int(tree.frame[node])].name)
        node = int(tree.parent[node])
    return found[::-1]
