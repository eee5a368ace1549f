"""What is summed up in C, against sums made sample by sample."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.errors import ExhumeError
from exhume.model.arrays import U8, U32
from exhume.model.sample import Samples
from exhume.model.stack import Mode
from exhume.store import sums
from tests import sanitized

NS = 1_000_000_000
START = 7 * NS
THREADS, NODES = 6, 5
PROCESS_OF = np.array([0, 1, 1, 2, 0, 3], np.int32)
PROCESSES = 4
MODE: U8 = np.array([Mode.USER, Mode.SYSTEM, Mode.USER, Mode.IRQ, Mode.SOFTIRQ], np.uint8)

Row = tuple[int, int, int, int]
"""Core, time, thread, node: in the order in which they are summed up."""

# Some lie before the start, as they may where clocks are put together.
TIMES = st.integers(-NS, 130 * NS).map(lambda since: START + since)
ROWS = st.lists(
    st.tuples(st.integers(0, 3), TIMES, st.integers(0, THREADS - 1), st.integers(0, NODES - 1)),
    max_size=60,
).map(sorted)


def samples(rows: list[Row]) -> Samples:
    core, time, thread, node = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Samples(
        np.array(time, np.int64),
        np.array(core, np.uint16),
        np.array(thread, np.int32),
        np.array(node, np.int32),
        np.zeros(len(rows), np.uint32),
    )


def weight(row: Row) -> int:
    return 1_000_500 if row[1] % 2 else 10_309_278


def weights(rows: list[Row]) -> sums.Weights:
    return sums.Weights(np.array([weight(row) for row in rows], np.int64), 0)


@given(ROWS, st.lists(st.integers(0, 60), max_size=3).map(sorted))
def test_seconds_have_every_sample_once_however_it_is_cut(rows: list[Row], cuts: list[int]) -> None:
    seconds = sums.Seconds(START, PROCESS_OF, PROCESSES, MODE)
    found = []
    for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        part = rows[begin:end]
        found += list(zip(*seconds.add(sums.Piece(samples(part)), weights(part)), strict=True))
    found += list(zip(*seconds.close(), strict=True))

    user: Counter[tuple[int, int, int]] = Counter()
    system: Counter[tuple[int, int, int]] = Counter()
    total: Counter[tuple[int, int, int]] = Counter()
    for row in rows:
        core, time, thread, node = row
        key = core, max(0, time - START) // NS, int(PROCESS_OF[thread])
        (user if MODE[node] == Mode.USER else system)[key] += 1
        total[key] += weight(row)
    assert [tuple(map(int, row)) for row in found] == [
        (second, core, process, user[key], system[key], int(np.rint(total[key] / 1000)))
        for key in sorted(total)
        for core, second, process in [key]
    ]


@given(ROWS, st.integers(1, 3))
def test_minutes_count_by_node_and_what_lies_outside_at_the_ends(
    rows: list[Row], minutes: int
) -> None:
    for value in (None, 1_000_500):
        counts: U32 = np.zeros(minutes * NODES, np.uint32)
        each = np.array([weight(row) for row in rows], np.int64)
        wanted = sums.Weights(None if value is None else each, value or 1)
        sums.add_minutes(sums.Piece(samples(rows)), START, minutes, NODES, wanted, counts)
        expected = np.zeros_like(counts)
        for row in rows:
            if value in (None, weight(row)):
                minute = min(max(0, row[1] - START) // (60 * NS), minutes - 1)
                expected[minute * NODES + row[3]] += 1
        assert counts.tolist() == expected.tolist()


@given(ROWS, st.lists(TIMES, max_size=6, unique=True).map(sorted))
def test_places_lie_between_edges(rows: list[Row], edges: list[int]) -> None:
    held = sums.Piece(samples(rows))
    cell = np.arange(len(edges) + 1, dtype=np.int64)[::-1].copy() * len(Mode)
    for core in range(4):
        mine = [number for number, row in enumerate(rows) if row[0] == core]
        span = (mine[0], mine[-1] + 1) if mine else (0, 0)
        counts: U32 = np.zeros((len(edges) + 1) * len(Mode), np.uint32)
        sums.add_places(held, span, np.array(edges, np.int64), cell, MODE, counts)
        expected = np.zeros_like(counts)
        for number in mine:
            place = sum(edge <= rows[number][1] for edge in edges)
            expected[cell[place] + MODE[rows[number][3]]] += 1
        assert counts.tolist() == expected.tolist()


@pytest.mark.parametrize(("thread", "node"), [(THREADS, 0), (-1, 0), (0, NODES), (0, -1)])
def test_a_number_that_is_none_is_no_crash(thread: int, node: int) -> None:
    rows = [(0, START, 0, 0), (0, START + 1, thread, node)]
    seconds = sums.Seconds(START, PROCESS_OF, PROCESSES, MODE)
    with pytest.raises(ExhumeError, match="not there"):
        seconds.add(sums.Piece(samples(rows)), weights(rows))
    if node:
        counts: U32 = np.zeros(NODES, np.uint32)
        with pytest.raises(ExhumeError, match="not there"):
            sums.add_minutes(
                sums.Piece(samples(rows)), START, 1, NODES, sums.Weights(None, 1), counts
            )
        edges, cell = np.empty(0, np.int64), np.zeros(1, np.int64)
        with pytest.raises(ExhumeError, match="not there"):
            sums.add_places(sums.Piece(samples(rows)), (0, 2), edges, cell, MODE, counts)


# Every buffer has exactly the size that sums.py gives it, and the sanitizer looks on.
DRIVER = r"""
#include "sums.c"
static uint64_t state = 1;
static uint64_t any(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}
#define ROOM(type, n) ((type *)malloc((n) * sizeof(type) + !(n)))
int main(void) {
    for (int round = 0; round < 2000; round++) {
        uint64_t threads = any() % 9, processes = 1 + any() % 5, nodes = any() % 9;
        uint64_t edges = any() % 5, minutes = 1 + any() % 3, one_too_many = any() % 4 == 0;
        int32_t *process_of = ROOM(int32_t, threads);
        uint8_t *mode = ROOM(uint8_t, nodes);
        int64_t *edge = ROOM(int64_t, edges), *cell = ROOM(int64_t, edges + 1);
        for (uint64_t i = 0; i < threads; i++)
            process_of[i] = (int32_t)(any() % (processes + one_too_many));
        for (uint64_t i = 0; i < nodes; i++) mode[i] = (uint8_t)any();
        for (uint64_t i = 0; i <= edges; i++) cell[i] = (int64_t)(4 * i);
        for (uint64_t i = 0; i < edges; i++) edge[i] = (int64_t)any() - (1 << 30);
        xr_seconds *seconds = xr_seconds_new(processes);
        uint32_t *by_minute = calloc(minutes * nodes + 1, 4);
        uint32_t *by_place = calloc(4 * (edges + 1), 4);
        for (int piece = 0; piece < 3; piece++) {
            uint64_t n = any() % 40, room = n + xr_seconds_open(seconds);
            int64_t *time = ROOM(int64_t, n), *each = ROOM(int64_t, n);
            uint16_t *core = ROOM(uint16_t, n);
            int32_t *thread = ROOM(int32_t, n), *stack = ROOM(int32_t, n);
            for (uint64_t i = 0; i < n; i++) {
                time[i] = (int64_t)(any() << 7) - (1ll << 34);
                each[i] = (int64_t)(any() % 3), core[i] = any() % 3;
                thread[i] = (int32_t)(any() % (threads + one_too_many + !threads));
                stack[i] = (int32_t)(any() % (nodes + one_too_many + !nodes)) - (any() % 50 == 0);
            }
            xr_samples samples = {n, time, core, thread, stack};
            xr_weights weights = {any() % 2 ? each : NULL, 1};
            xr_rows rows = {ROOM(int32_t, room), ROOM(uint16_t, room), ROOM(int32_t, room),
                            ROOM(uint16_t, room), ROOM(uint16_t, room), ROOM(uint32_t, room)};
            uint64_t made = xr_seconds_add(seconds, &samples, 5, process_of, threads, mode, nodes,
                                           &weights, &rows);
            if (made != FAILED && made > room) return 1;
            xr_minutes_add(&samples, 5, minutes, nodes, &weights, by_minute);
            xr_places_add(&samples, 0, n, edge, edges, cell, mode, nodes, by_place);
            free(rows.second), free(rows.core), free(rows.process), free(rows.user);
            free(rows.system), free(rows.weight_us);
            free(time), free(each), free(core), free(thread), free(stack);
        }
        xr_seconds_free(seconds);
        free(by_minute), free(by_place), free(process_of), free(mode), free(edge), free(cell);
    }
    return 0;
}
"""


def test_no_samples_make_the_sums_leave_their_memory(tmp_path: Path) -> None:
    driver = sanitized.build(tmp_path, DRIVER, Path(sums.__file__).parent)
    run = subprocess.run([driver], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
