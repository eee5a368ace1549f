from __future__ import annotations

from typing import Any

import numpy as np
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from exhume.model.arrays import I64
from exhume.model.event import Event
from exhume.model.reading import Reading
from exhume.model.series import MISSING
from exhume.perf.asof import Statement
from exhume.perf.records import (
    COMM_BYTES,
    NO_COMMS,
    NO_FORKS,
    NO_MAPPINGS,
    Comms,
    Forks,
    KernelSymbol,
    Mappings,
)
from exhume.store.columns import Columns, pack, unpack
from exhume.store.ticks import (
    TIME_UNIT_NS,
    FileEntry,
    State,
    Tick,
    TickSamples,
    decode_state,
    decode_tick,
    encode_state,
    encode_tick,
)

START = 86_400_000_000_123
SECOND = 1_000_000_000

U32S = st.integers(0, (1 << 32) - 1)
U64S = st.integers(0, (1 << 64) - 1)
PIDS = st.integers(-1, 1 << 22)
TEXTS = st.text(max_size=12)
# A ring may hold what came before the last drain, and a stalled recorder hours of it.
TIMES = st.integers(START - 3600 * SECOND, START + 5 * 3600 * SECOND)


def column(values: list[Any], dtype: str) -> NDArray[Any]:
    return np.array(values, dtype)


@st.composite
def tables(draw: st.DrawFn) -> tuple[TickSamples, Comms, Forks, Forks, Mappings]:
    def rows(*strategies: st.SearchStrategy[Any]) -> list[list[Any]]:
        drawn = draw(st.lists(st.tuples(*strategies), max_size=5))
        return [list(values) for values in zip(*drawn, strict=True)] or [[] for _ in strategies]

    def forks() -> Forks:
        time, *ids = rows(TIMES, PIDS, PIDS, PIDS, PIDS)
        return Forks(column(time, "<i8"), *(column(id_, "<i4") for id_ in ids))

    time, core, pid, tid, stack, cgroup = rows(TIMES, st.integers(0, 4095), PIDS, PIDS, U32S, U64S)
    samples = TickSamples(
        column(time, "<i8"), column(core, "<u2"), column(pid, "<i4"), column(tid, "<i4"),
        column(stack, "<u4"), column(cgroup, "<u8"),
    )  # fmt: skip
    time, pid, tid, names, is_exec = rows(
        TIMES, PIDS, PIDS, st.binary(max_size=COMM_BYTES - 1), st.booleans()
    )
    padded = b"".join(name.ljust(COMM_BYTES, b"\0") for name in names)
    comms = Comms(
        column(time, "<i8"), column(pid, "<i4"), column(tid, "<i4"),
        np.frombuffer(padded, np.uint8).reshape(-1, COMM_BYTES), column(is_exec, "|b1"),
    )  # fmt: skip
    time, pid, *places = rows(TIMES, PIDS, U64S, U64S, U64S, U64S)
    mappings = Mappings(
        column(time, "<i8"), column(pid, "<i4"), *(column(place, "<u8") for place in places)
    )
    return samples, comms, forks(), forks(), mappings


EVENTS = st.builds(
    Event,
    time_ns=TIMES,
    kind=st.sampled_from(["exec", "exit", "gap"]),
    subject=TEXTS,
    text=TEXTS,
    core=st.none() | st.integers(0, 9),
    pid=st.none() | PIDS,
    count=st.integers(1, 9),
    fields=st.dictionaries(TEXTS, TEXTS | st.integers() | st.floats(allow_nan=False), max_size=2),
)


@st.composite
def readings(draw: st.DrawFn) -> list[Reading]:
    names = st.sampled_from(["cpu.user", "cpu.idle", "self.rss_bytes"])
    values = st.integers(-(1 << 63), (1 << 63) - 1)
    found = []
    for name in draw(st.lists(names, unique=True)):
        row = draw(st.dictionaries(TEXTS, values, min_size=1, max_size=3))
        found.append(Reading.of_each(name, tuple(row), list(row.values())))
    return found


@st.composite
def ticks(draw: st.DrawFn) -> Tick:
    samples, comms, forks, exits, mappings = draw(tables())
    stacks = draw(st.lists(st.lists(U64S, min_size=1, max_size=4), max_size=3))
    return Tick(
        start_ns=START,
        end_ns=START + SECOND,
        epoch=draw(st.integers(0, 9)),
        samples=samples,
        stack_base=draw(st.integers(0, 1 << 20)),
        words=column([word for stack in stacks for word in stack], "<u8"),
        word_count=column([len(stack) for stack in stacks], "<u4"),
        comms=comms,
        forks=forks,
        exits=exits,
        mappings=mappings,
        files=draw(st.lists(st.builds(FileEntry, U64S, TEXTS, TEXTS), max_size=2)),
        cgroup_names=draw(st.dictionaries(U64S, TEXTS, max_size=2)),
        pid_cgroups=draw(st.dictionaries(PIDS, TEXTS, max_size=2)),
        kernel_symbols=draw(
            st.lists(st.builds(KernelSymbol, TIMES, U64S, U32S, TEXTS, st.booleans()), max_size=2)
        ),
        readings=draw(readings()),
        events=draw(st.lists(EVENTS, max_size=2)),
    )


def through_the_log(columns: Columns) -> Columns:
    return unpack(pack(columns, zstandard.ZstdCompressor(level=1)), "x", "y")


def rounded(time: I64) -> I64:
    return START + (time - START) // TIME_UNIT_NS * TIME_UNIT_NS


def check_table(found: Any, wanted: Any) -> None:
    """All columns equal; times to the unit that they are stored in."""
    for name in wanted.__struct_fields__:
        column_ = getattr(wanted, name)
        expected = rounded(column_) if name == "time" else column_
        np.testing.assert_array_equal(getattr(found, name), expected)


def check_readings(found: Tick, wanted: Tick) -> None:
    def plain(tick: Tick) -> list[tuple[str, tuple[str, ...], list[int]]]:
        return sorted((r.field, r.instances, r.values.tolist()) for r in tick.readings)

    assert plain(found) == plain(wanted)


@given(ticks())
@settings(deadline=None, max_examples=80)
def test_a_tick_comes_back_as_it_was(tick: Tick) -> None:
    columns = through_the_log(encode_tick(tick, {}))
    found = decode_tick(columns, tick.start_ns, tick.end_ns, {})
    for name in ("samples", "comms", "forks", "exits", "mappings"):
        check_table(getattr(found, name), getattr(tick, name))
    for name in ("start_ns", "end_ns", "epoch", "stack_base", "cgroup_names", "pid_cgroups"):
        assert getattr(found, name) == getattr(tick, name)
    assert found.words.tolist() == tick.words.tolist()
    assert found.word_count.tolist() == tick.word_count.tolist()
    assert list(found.files) == list(tick.files)
    assert list(found.kernel_symbols) == list(tick.kernel_symbols)
    assert list(found.events) == list(tick.events)
    check_readings(found, tick)


@given(tables(), st.dictionaries(PIDS, TEXTS, max_size=3), st.data())
@settings(deadline=None, max_examples=50)
def test_a_scan_comes_back_as_it_was(
    drawn: tuple[TickSamples, Comms, Forks, Forks, Mappings],
    cgroups: dict[int, str],
    data: st.DataObject,
) -> None:
    rows = data.draw(st.lists(st.tuples(TIMES, PIDS, PIDS), max_size=4))
    state = State(
        comms=drawn[1],
        parent_pid=Statement(*np.array(rows, np.int64).reshape(-1, 3).T),
        mappings=drawn[4],
        files=data.draw(st.lists(st.builds(FileEntry, U64S, TEXTS, TEXTS), max_size=2)),
        pid_cgroups=cgroups,
    )
    found = decode_state(through_the_log(encode_state(state, START)), START)
    check_table(found.comms, state.comms)
    check_table(found.mappings, state.mappings)
    check_table(found.parent_pid, state.parent_pid)
    assert list(found.files) == list(state.files)
    assert found.pid_cgroups == cgroups


# --- instances are named once an epoch ---------------------------------------------------------

EMPTY = Tick(
    START, START + SECOND, 0,
    TickSamples(*(np.empty(0, t) for t in ("<i8", "<u2", "<i4", "<i4", "<u4", "<u8"))),
    0, np.empty(0, "<u8"), np.empty(0, "<u4"), NO_COMMS, NO_FORKS, NO_FORKS, NO_MAPPINGS,
)  # fmt: skip


def reading_tick(**cores: int | None) -> Tick:
    names = tuple(name.removeprefix("c") for name in cores)
    return replace(EMPTY, readings=[Reading.of_each("cpu.user", names, list(cores.values()))])


def decoded(columns: Columns, known: dict[str, tuple[str, ...]]) -> Tick:
    return decode_tick(through_the_log(columns), START, START + SECOND, known)


def test_instances_are_written_when_they_change_and_read_from_then_on() -> None:
    sequence = [reading_tick(c0=1, c1=2), reading_tick(c0=3, c1=None), reading_tick(c1=5)]
    written: dict[str, tuple[str, ...]] = {}
    blocks = [encode_tick(tick, written) for tick in sequence]
    assert ["instances" in block.values for block in blocks] == [True, False, True]
    known: dict[str, tuple[str, ...]] = {}
    for block, tick in zip(blocks, sequence, strict=True):
        check_readings(decoded(block, known), tick)
    assert sequence[1].readings[0].values.tolist() == [3, MISSING]


def test_readings_whose_instances_nobody_named_are_left_out_and_not_guessed() -> None:
    written: dict[str, tuple[str, ...]] = {}
    encode_tick(reading_tick(c0=1, c1=2), written)
    nameless = encode_tick(reading_tick(c0=3, c1=4), written)
    assert decoded(nameless, {}).readings == []
    assert decoded(nameless, {"cpu.user": ("0",)}).readings == []


def test_an_empty_second_takes_next_to_nothing() -> None:
    columns = encode_tick(EMPTY, {})
    assert columns.arrays == {}
    assert len(pack(columns, zstandard.ZstdCompressor(level=1))) < 80


def test_times_are_never_later_than_they_were() -> None:
    time = START + np.array([0, 1, TIME_UNIT_NS - 1, TIME_UNIT_NS, -1], np.int64)
    tick = replace(EMPTY, forks=Forks(time, *(np.zeros(5, np.int32) for _ in range(4))))
    found = decoded(encode_tick(tick, {}), {}).forks.time - START
    assert found.tolist() == [0, 0, 0, TIME_UNIT_NS, -TIME_UNIT_NS]
