"""A load that goes up and down, as samples of it and as counters of the same cores."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from exhume.ingest.load_fit import STEP_NS
from exhume.ingest.piece import ClockKind, Hints, Piece, Sampled
from exhume.ingest.row_table import Rows, RowTable
from exhume.model.arrays import F64, I64
from exhume.model.sample import Threads
from exhume.model.series import Block
from exhume.model.stack import Frame, FrameKind, StackTree

NS = 1_000_000_000
EVENING = int(datetime(2026, 11, 15, 20, tzinfo=UTC).timestamp())
BOOTED_NS = 5000 * NS
"""What the capture's clock says at its first sample."""
SECONDS = 90
RATE_HZ = 100
NOBODY = np.zeros(1, np.int32)


def uneven(cores: int = 2, seed: int = 7, seconds: int = SECONDS) -> F64:
    """How busy each core is in each tenth of a second: bursts of all lengths, at once the first."""
    lengths = np.random.default_rng(seed).integers(2, 40, (cores, 10 * seconds))
    turn = (np.arange(10 * seconds) + 1) % 2
    return np.array([np.repeat(turn, one)[: 10 * seconds] for one in lengths]) * 0.9 + 0.05


def taken(busy: F64) -> list[tuple[int, int]]:
    """When and where samples are taken, up to a hundred a second and core."""
    return sorted(
        (tenth * STEP_NS + i * STEP_NS // 10, core)
        for core, shares in enumerate(busy.tolist())
        for tenth, share in enumerate(shares)
        for i in range(round(10 * share))
    )


def captured(busy: F64) -> list[Piece]:
    time, core = (np.array(column, np.int64) for column in zip(*taken(busy), strict=True))
    ids = np.zeros(len(time), np.int32)
    tree = StackTree(
        np.array([-1], np.int32), NOBODY, np.zeros(1, np.uint8), (Frame("", "", FrameKind.PROCESS),)
    )
    rows = Rows(BOOTED_NS + time, ids, ids, core.astype(np.uint16))
    threads = Threads(NOBODY, NOBODY, NOBODY, ("",), ("",))
    sampled = Sampled(RowTable.of(rows), tree, threads, ())
    return [Piece(Hints(), ClockKind.KERNEL_LOG, None, sampled=sampled)]


def jiffies(busy: F64) -> I64:
    """Of each core and second."""
    percent: F64 = busy.reshape(len(busy), -1, 10).mean(axis=2) * 100
    return percent.round().astype(np.int64)


def counters(busy: F64) -> list[Block]:
    """Read each second."""
    ran = np.pad(jiffies(busy).cumsum(axis=1), ((0, 0), (1, 0))).T
    seconds = np.arange(len(ran))
    names = tuple(map(str, range(len(busy))))
    idle = seconds[:, None] * 100 - ran
    values = {"cpu.user": ran * 0, "cpu.system": ran, "cpu.idle": idle}
    return [Block(field, names, (EVENING + seconds) * NS, table) for field, table in values.items()]
