"""A damaged head log costs what was in the damage, and is true in all the rest."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from exhume.errors import ParseError
from exhume.model.reading import Reading
from exhume.model.sample import Stretch
from exhume.store.headlog import FrameKind
from tests.store.head_maker import (
    CORE_TIME,
    IN_MAIN,
    IN_READ,
    IN_SOFTIRQ,
    IN_WORK,
    LOST,
    NODE,
    PATHS,
    T0,
    WALL,
    Hit,
    Log,
    S,
    seen,
)


def three_seconds(log: Log) -> Log:
    log.begin().scan(NODE)
    cores = [Reading.of_each(CORE_TIME, ("0", "1"), [10, 20])]
    log.tick(Hit(0, 0, 100, IN_READ), Hit(1, 1, 100, IN_MAIN), readings=cores)
    log.tick(Hit(0, 0, 100, IN_READ), Hit(1, 1, 100, IN_WORK), readings=cores)
    log.tick(
        Hit(0, 0, 100, IN_READ), Hit(1, 1, 100, IN_WORK), Hit(2, 1, 0, IN_SOFTIRQ), readings=cores
    )
    return log


def test_a_damaged_tick_costs_its_own_second_and_the_stacks_first_seen_in_it(log: Log) -> None:
    data = three_seconds(log).damage("tick 1").read()
    assert [(s.ms, s.path) for s in seen(data)] == [
        (0, PATHS[IN_READ]),
        (2000, PATHS[IN_READ]),
        (1, PATHS[IN_MAIN]),
        (2001, LOST),  # IN_WORK was told in the second that is gone
        (2002, PATHS[IN_SOFTIRQ]),
    ]
    (block,) = data.blocks
    assert block.tick_ns.tolist() == [T0 + S, T0 + 3 * S]


def test_a_damaged_first_tick_costs_its_stacks_until_the_next_epoch(log: Log) -> None:
    three_seconds(log).new_epoch().tick(Hit(0, 0, 100, IN_READ))
    log.damage("tick 0")
    assert [(s.ms, s.path) for s in seen(log.read())] == [
        (1000, LOST),
        (2000, LOST),
        (3000, PATHS[IN_READ]),
        (1001, PATHS[IN_WORK]),
        (2001, PATHS[IN_WORK]),
        (2002, PATHS[IN_SOFTIRQ]),
    ]


def test_a_damaged_scan_costs_names_and_not_samples(log: Log) -> None:
    data = three_seconds(log).damage("state").read()
    assert {s.comm for s in seen(data)} == {":100", "swapper"}
    assert len(data.samples) == 7


def test_a_damaged_change_of_rate_leaves_the_rate_before(log: Log) -> None:
    log.begin().tick(Hit(0, 0, 0, IN_SOFTIRQ))
    log.clock(1)
    log.value(FrameKind.STRETCH, to_builtins(Stretch(T0 + S, "cpu-clock", 10.0)))
    log.frames[-1] = "slower"
    log.tick(Hit(0, 0, 0, IN_SOFTIRQ))
    assert [s.weight_ms for s in seen(log.read())] == [10, 100]
    assert [s.weight_ms for s in seen(log.damage("slower").read())] == [10, 10]


@pytest.mark.parametrize("frame", ["origin", "clock"])
def test_without_origin_or_clock_the_log_is_refused_with_a_reason(log: Log, frame: str) -> None:
    three_seconds(log).damage(frame)
    with pytest.raises(ParseError) as caught:
        log.read()
    assert "the origin and a pair of clocks" in caught.value.what
    assert caught.value.todo


def test_a_log_with_only_its_origin_is_refused_and_with_a_clock_it_is_empty(log: Log) -> None:
    with pytest.raises(ParseError):
        log.origin().read()
    data = log.clock().read()
    assert len(data.samples) == len(data.threads) == len(data.blocks) == len(data.events) == 0
    assert data.start_ns == T0
    assert data.tree.parent.tolist() == [-1]


def test_a_second_clock_makes_up_for_a_damaged_first_one(log: Log) -> None:
    data = three_seconds(log.origin().clock()).damage("clock").read()
    assert data.clock.wall(T0 + 2 * S) == WALL + 2 * S


def test_frames_of_a_kind_that_nobody_knows_yet_are_passed_over(log: Log) -> None:
    log.begin().tick(Hit(0, 0, 0, IN_SOFTIRQ))
    log.writer.write_packed(99, T0, T0, b"from the future")  # type: ignore[arg-type]
    log.tick(Hit(0, 0, 0, IN_SOFTIRQ))
    assert len(log.read().samples) == 2


@given(st.data())
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_bit_flips_what_is_left_is_true(log: Log, data: st.DataObject) -> None:
    if not log.frames:
        three_seconds(log)
        log.writer.close()
        object.__setattr__(log, "good", log.path.read_bytes())
    good: bytes = log.__dict__["good"]
    log.path.write_bytes(good)
    wanted = {(s.core, s.ms): s for s in seen(log.read())}
    broken = bytearray(good)
    bit = data.draw(st.integers(0, len(good) * 8 - 1))
    broken[bit // 8] ^= 1 << bit % 8
    log.path.write_bytes(broken)
    with suppress(ParseError):
        found = seen(log.read())
        assert len(found) >= len(wanted) - 3
        for s in found:
            true = wanted[s.core, s.ms]
            assert s.comm in (true.comm, f":{true.pid}")
            assert s.path in (true.path, LOST) or s.path[0] == "[unknown]"
