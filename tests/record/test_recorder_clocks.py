"""Steps of the wall clock, and when a log ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.host import Host
from exhume.store.assemble import assemble
from exhume.store.headlog import HeadFile
from exhume.store.layout import heads_path
from exhume.store.symbols import SymbolStore
from tests.record.fake import (
    BOOT_NS,
    SECOND,
    WALL_NS,
    Desk,
    Script,
    ticks_of,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.mark.parametrize("seconds", [3_600, -3_600, 0.5, -0.5])
def test_a_step_of_the_wall_clock_is_told_and_both_mappings_are_kept(
    seconds: float, desk: Desk
) -> None:
    def script() -> Script:
        yield 1
        yield 2
        desk.clock.wall_offset_ns += int(seconds * SECOND)
        yield 3
        yield 4

    desk.run(script())
    (step,) = desk.events("clock-step")
    assert step.time_ns == BOOT_NS + 3 * SECOND
    assert step.fields["seconds"] == pytest.approx(seconds)
    assert f"{seconds:+.3f} s" in step.text
    old = (step.time_ns - 1, WALL_NS + 3 * SECOND - 1)
    new = (step.time_ns, WALL_NS + 3 * SECOND + int(seconds * SECOND))
    assert {old, new} <= set(desk.pairs())
    data = assemble(HeadFile(min(heads_path(desk.data).iterdir())), SymbolStore(desk.data))
    before, after = BOOT_NS + 2 * SECOND, BOOT_NS + 3 * SECOND + 1
    assert data.clock.wall(before) == WALL_NS + 2 * SECOND
    assert data.clock.wall(step.time_ns - 1) == WALL_NS + 3 * SECOND - 1
    assert data.clock.wall(after) == WALL_NS + 3 * SECOND + 1 + int(seconds * SECOND)


def test_clocks_that_are_merely_slewed_are_no_step(desk: Desk) -> None:
    def script() -> Script:
        for second in range(150):
            desk.clock.wall_offset_ns += 400_000  # 400 ppm
            yield second

    desk.run(script())
    assert desk.events("clock-step") == []
    minutes = [pair for pair in desk.pairs() if pair[0] > BOOT_NS]
    assert len(minutes) == 2  # paired once a minute


def test_logs_begin_at_whole_multiples_of_wall_time(host: Host, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path / "data", segment_seconds=10)
    desk.clock.wall_offset_ns += 3 * SECOND + 250_000_000
    desk.run_for(40)
    starts = [desk.clock.wall_offset_ns + mono for mono, _ in desk.pairs()]
    logs = sorted(heads_path(desk.data).iterdir())
    assert len(logs) == len(desk.rotated) == 5
    assert [ticks_of(path)[0].end_ns for path in logs[1:]]
    offsets = [(wall - WALL_NS) // SECOND for wall in sorted(starts)][1:]
    assert offsets == [10, 20, 30, 40]
    assert desk.rotated == [path.name for path in logs]


def test_each_log_has_all_that_is_needed_to_read_it(host: Host, tmp_path: Path) -> None:
    desk = Desk(host, tmp_path / "data", segment_seconds=10)
    desk.run_for(25)
    logs = sorted(heads_path(desk.data).iterdir())
    assert len(logs) == 3
    for path in logs:
        data = assemble(HeadFile(path), SymbolStore(desk.data))
        assert {"cpu.user", "cpu.idle", "self.cpu_ns"} <= {block.field for block in data.blocks}
        (idle,) = [block for block in data.blocks if block.field == "cpu.idle"]
        assert (idle.values == 500).all()


@pytest.mark.parametrize("step_seconds", [-86_400 * 365, -5, 86_400])
def test_a_step_never_leaves_a_log_open_for_longer_than_it_should_be(
    step_seconds: int, host: Host, tmp_path: Path
) -> None:
    desk = Desk(host, tmp_path / "data", segment_seconds=10)

    def script() -> Script:
        yield from range(14)
        desk.clock.wall_offset_ns += step_seconds * SECOND
        yield from range(30)

    desk.run(script())
    lengths = [len(ticks_of(path)) for path in heads_path(desk.data).iterdir()]
    assert max(lengths) <= 16
    assert len({tick.end_ns for tick in desk.ticks()}) == 46
