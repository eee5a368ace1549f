"""Cgroups by name: made, removed, let go."""

from __future__ import annotations

from pathlib import Path

import pytest

from exhume.host import Host
from exhume.model.reading import Reading
from exhume.record.cgroup_births import MAX_NAMES, OTHERS, REPEAT_TICKS, CgroupBirths
from exhume.sampler import cgroup_watch
from exhume.sampler.cgroup_watch import CgroupEvent
from tests.record.fake import refuse

MEMORY = 4


class FakeWatch:
    """Gives what it was told of, once."""

    def __init__(self, *events: CgroupEvent) -> None:
        self.events = list(events)
        self.lost = 0

    def watch(self, cores: object) -> None:
        pass

    def drain(self) -> list[CgroupEvent]:
        events, self.events = self.events, []
        return events

    def close(self) -> None:
        pass


def made(path: str, hierarchy: int = MEMORY) -> CgroupEvent:
    return CgroupEvent("mkdir", hierarchy, 1, path)


@pytest.fixture
def watch() -> FakeWatch:
    return FakeWatch()


@pytest.fixture
def births(tmp_path: Path, watch: FakeWatch, monkeypatch: pytest.MonkeyPatch) -> CgroupBirths:
    (tmp_path / "cgroups").write_text(
        f"#subsys_name\thierarchy\tnum_cgroups\tenabled\nmemory\t{MEMORY}\t3\t1\n"
    )
    monkeypatch.setattr("exhume.record.cgroup_births.CgroupWatch", lambda *_: watch)
    births = CgroupBirths(Host(proc=tmp_path, sys=tmp_path), refuse)
    births.use_tracepoints(())
    return births


def born(readings: list[Reading]) -> dict[str, int]:
    (found,) = [one for one in readings if one.field == "memcg.births"]
    return dict(zip(found.instances, found.values.tolist(), strict=True))


def test_before_anything_happens_it_is_told_that_nothing_has(births: CgroupBirths) -> None:
    """So that whatever comes first is known to have begun at 0."""
    assert born(births.tick((0,))) == {OTHERS: 0}
    assert births.tick((0,)) == []


def test_nothing_is_told_while_nobody_watches(tmp_path: Path) -> None:
    assert CgroupBirths(Host(proc=tmp_path, sys=tmp_path), refuse).tick((0,)) == []


def test_names_are_folded_and_other_hierarchies_left_out(
    births: CgroupBirths, watch: FakeWatch
) -> None:
    watch.events = [made("/docker/" + "a1" * 32), made("/docker/" + "b2" * 32), made("/x", 7)]
    assert born(births.tick((0,))) == {OTHERS: 0, "/docker/*": 2}


def test_it_is_told_again_once_a_minute(births: CgroupBirths) -> None:
    told = [bool(births.tick((0,))) for _ in range(2 * REPEAT_TICKS + 1)]
    assert [tick for tick, is_told in enumerate(told) if is_told] == [0, 60, 120]


def test_too_many_names_are_counted_together(births: CgroupBirths, watch: FakeWatch) -> None:
    watch.events = [made("/" + "x" * (1 + number)) for number in range(MAX_NAMES + 20)]
    found = born(births.tick((0,)))
    assert len(found) == MAX_NAMES
    assert found[OTHERS] == 21


def test_what_was_lost_is_a_problem(births: CgroupBirths, watch: FakeWatch) -> None:
    assert births.problem == ""
    watch.lost = 7
    assert births.problem.startswith("7 births and removals")


@pytest.mark.parametrize(("cores", "size"), [(2, 1 << 20), (24, 1 << 20), (96, 256 << 10)])
def test_rings_are_large_on_few_cores_and_bounded_on_many(cores: int, size: int) -> None:
    assert cgroup_watch.ring_bytes(cores) == size
