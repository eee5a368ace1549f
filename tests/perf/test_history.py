from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from exhume.model.arrays import I32, I64, U8
from exhume.perf.asof import UNKNOWN, Statement
from exhume.perf.history import BEFORE_ALL, History, SideBand
from exhume.perf.records import COMM_BYTES, Comms, Forks, Mappings

# --- what is told, as rows ---------------------------------------------------------------------

Comm = tuple[int, int, int, str]
"""Time, pid, tid, name."""
Fork = tuple[int, int, int, int, int]
"""Time, pid, parent pid, tid, parent tid."""
Map = tuple[int, int, int, int, int]
"""Time, pid, start, length, hash of the file."""
Said = tuple[int, int, int]
"""Time, pid, value."""


class Story(Struct, frozen=True):
    named: Sequence[Comm] = ()
    execs: Sequence[Comm] = ()
    forks: Sequence[Fork] = ()
    exits: Sequence[Fork] = ()
    maps: Sequence[Map] = ()
    parents: Sequence[Said] = ()
    cgroups: Sequence[Said] = ()
    scanned: Sequence[tuple[int, int]] = ()


def child(time: int, pid: int, parent: int) -> Fork:
    return (time, pid, parent, pid, parent)


def thread(time: int, pid: int, tid: int, parent_tid: int) -> Fork:
    return (time, pid, pid, tid, parent_tid)


def told(story: Story) -> SideBand:
    rows = [*story.named, *story.execs]
    names: U8 = np.zeros((len(rows), COMM_BYTES), np.uint8)
    for index, row in enumerate(rows):
        names[index, : len(row[3])] = np.frombuffer(row[3].encode(), np.uint8)
    times, pids, tids = columns([row[:3] for row in rows], 3)
    is_exec = np.arange(len(rows)) >= len(story.named)
    map_time, map_pid, *places = columns(story.maps, 5)
    start, length, file_hash = (place.astype(np.uint64) for place in places)
    return SideBand(
        comms=Comms(times, i32(pids), i32(tids), names, is_exec),
        forks=forks_of(story.forks),
        exits=forks_of(story.exits),
        mappings=Mappings(map_time, i32(map_pid), start, length, start * np.uint64(0), file_hash),
        parent_pid=Statement(*columns(story.parents, 3)),
        cgroup=Statement(*columns(story.cgroups, 3)),
        scanned=Statement(*columns([(*row, 0) for row in story.scanned], 3)),
    )


def columns(rows: Sequence[tuple[int, ...]], width: int) -> list[I64]:
    signed = [[v - (1 << 64) if v >= 1 << 63 else v for v in row] for row in rows]
    return list(np.array(signed, np.int64).reshape(-1, width).T)


def i32(column: I64) -> I32:
    return column.astype(np.int32)


def forks_of(rows: Sequence[Fork]) -> Forks:
    time, *ids = columns(rows, 5)
    return Forks(time, *map(i32, ids))


def history(*stories: Story) -> History:
    known = History()
    for story in stories:
        known.learn(told(story))
    return known


# --- what is asked -----------------------------------------------------------------------------


def name(known: History, tid: int, time: int) -> str | None:
    number = int(known.name(np.array([tid], np.int32), np.array([time]))[0])
    return None if number == UNKNOWN else known.names[number]


def space(known: History, pid: int, time: int) -> int:
    return int(known.space(np.array([pid], np.int32), np.array([time]))[0])


def file_at(known: History, pid: int, time: int, address: int) -> int:
    """The hash of the file that the process had mapped there; 0 for none."""
    where = known.space(np.array([pid], np.int32), np.array([time]))
    return int(known.maps.at(where, np.array([address], np.uint64))[0][0])


def cgroup(known: History, pid: int, time: int) -> int:
    return int(known.cgroup(np.array([pid], np.int32), np.array([time]))[0])


def parent(known: History, pid: int, time: int) -> int:
    return int(known.parent_pid(np.array([pid], np.int32), np.array([time]))[0])


def since(known: History, pid: int, time: int) -> int:
    return int(known.since(np.array([pid], np.int32), np.array([time]))[0])


# --- names -------------------------------------------------------------------------------------


def test_a_thread_has_its_last_name_before_the_instant() -> None:
    known = history(Story(named=[(10, 1, 1, "first"), (20, 1, 1, "second")]))
    assert [name(known, 1, t) for t in (9, 10, 19, 20, 99)] == [
        None, "first", "first", "second", "second",
    ]  # fmt: skip


def test_threads_of_one_process_have_names_of_their_own() -> None:
    known = history(
        Story(
            named=[(0, 5, 5, "java"), (30, 5, 7, "GC Thread#0")],
            forks=[thread(10, 5, 6, 5), thread(20, 5, 7, 5)],
        )
    )
    assert [name(known, tid, 40) for tid in (5, 6, 7)] == ["java", "java", "GC Thread#0"]
    assert name(known, 7, 25) == "java"


def test_a_fork_inherits_name_mappings_and_cgroup_until_it_has_its_own() -> None:
    known = history(
        Story(
            execs=[(0, 1, 1, "bash"), (20, 2, 2, "sleep")],
            forks=[child(10, 2, 1)],
            maps=[(1, 1, 0x1000, 0x1000, 11), (21, 2, 0x1000, 0x1000, 22)],
            cgroups=[(0, 1, 3), (25, 2, 4)],
        )
    )
    assert [name(known, 2, t) for t in (9, 10, 19, 20)] == [None, "bash", "bash", "sleep"]
    assert [file_at(known, 2, t, 0x1800) for t in (15, 30)] == [11, 22]
    assert [cgroup(known, 2, t) for t in (9, 15, 25)] == [UNKNOWN, 3, 4]
    assert file_at(known, 1, 30, 0x1800) == 11


def test_inheritance_reaches_across_chunks_of_time() -> None:
    known = history(
        Story(execs=[(0, 1, 1, "init")], maps=[(1, 1, 0, 0x100, 7)], cgroups=[(0, 1, 5)]),
        Story(forks=[child(10, 2, 1)]),
        Story(forks=[child(20, 3, 2)]),
    )
    assert name(known, 3, 25) == "init"
    assert file_at(known, 3, 25, 0x10) == 7
    assert cgroup(known, 3, 25) == 5


def test_names_that_are_not_text_are_shown_as_far_as_they_are() -> None:
    side = told(Story(named=[(0, 1, 1, "x")]))
    side.comms.comm[0, :4] = [0xFF, 0x41, 0, 0]
    known = History()
    known.learn(side)
    assert name(known, 1, 0) == "\ufffdA"


# --- address spaces ----------------------------------------------------------------------------


def test_an_exec_gives_a_new_address_space_and_a_renaming_does_not() -> None:
    known = history(
        Story(
            execs=[(0, 1, 1, "sh"), (10, 1, 1, "python3")],
            named=[(20, 1, 1, "worker")],
            maps=[(1, 1, 0x1000, 0x1000, 11), (11, 1, 0x5000, 0x1000, 22)],
        )
    )
    assert space(known, 1, 5) != space(known, 1, 15)
    assert space(known, 1, 15) == space(known, 1, 25)
    assert [file_at(known, 1, 5, a) for a in (0x1800, 0x5800)] == [11, 0]
    assert [file_at(known, 1, 25, a) for a in (0x1800, 0x5800)] == [0, 22]


def test_a_mapping_covers_its_own_length_and_the_newest_at_one_place_counts() -> None:
    known = history(
        Story(
            execs=[(0, 1, 1, "a")],
            maps=[(1, 1, 0x1000, 0x100, 11), (2, 1, 0x2000, 0x100, 22), (3, 1, 0x2000, 0x80, 33)],
        )
    )
    asked = [0xFFF, 0x1000, 0x10FF, 0x1100, 0x2000, 0x207F, 0x2080, 1 << 63]
    assert [file_at(known, 1, 9, a) for a in asked] == [0, 11, 11, 0, 33, 33, 0, 0]


def test_what_lies_below_every_mapping_is_not_in_the_one_at_the_very_end() -> None:
    vsyscall = 0xFFFF_FFFF_FF60_0000
    known = history(
        Story(
            execs=[(0, 1, 1, "a")],
            maps=[(1, 1, 0x40_0000, 0x1000, 11), (1, 1, vsyscall, 0x1000, 22)],
        )
    )
    asked = [0, 0x3A, 0x40_0010, 0x50_0000, vsyscall, vsyscall + 0x1000]
    assert [file_at(known, 1, 9, a) for a in asked] == [0, 0, 11, 0, 22, 0]


def test_an_address_becomes_an_offset_in_its_file() -> None:
    known = History()
    side = told(Story(execs=[(0, 1, 1, "a")], maps=[(1, 1, 0x7F0000, 0x1000, 11)]))
    side.mappings.file_offset[:] = 0x2000
    known.learn(side)
    where = known.space(np.array([1, 1], np.int32), np.array([5, 5]))
    files, offsets = known.maps.at(where, np.array([0x7F0123, 0x9], np.uint64))
    assert files.tolist() == [11, 0]
    assert offsets.tolist() == [0x2123, 0x9]


def test_mappings_of_a_process_whose_fork_and_exec_were_lost_are_kept() -> None:
    known = history(
        Story(maps=[(10, 9, 0x1000, 0x1000, 11)]),
        Story(maps=[(20, 9, 0x5000, 0x1000, 22)]),
    )
    assert [file_at(known, 9, 30, a) for a in (0x1800, 0x5800)] == [11, 22]
    assert file_at(known, 9, 5, 0x1800) == 11  # it must have been there before we heard of it
    assert known.maker(space(known, 9, 30)) == 9


def test_mappings_of_a_child_whose_parent_nobody_knows_are_its_own() -> None:
    known = history(
        Story(
            forks=[child(10, 8, 7), child(20, 9, 7)],
            maps=[(11, 8, 0x1000, 0x1000, 11), (21, 9, 0x1000, 0x1000, 22)],
        )
    )
    assert file_at(known, 8, 30, 0x1800) == 11
    assert file_at(known, 9, 30, 0x1800) == 22
    assert since(known, 9, 30) == 20


def test_a_space_remembers_which_process_made_it_even_for_its_children() -> None:
    known = history(Story(execs=[(0, 4, 4, "node")], forks=[child(5, 6, 4)]))
    assert known.maker(space(known, 6, 9)) == 4


# --- a scan of /proc ---------------------------------------------------------------------------


def test_what_a_scan_found_holds_from_then_on() -> None:
    known = history(
        Story(scanned=[(50, 1)], maps=[(50, 1, 0x1000, 0x1000, 11)], parents=[(50, 1, 0)])
    )
    assert file_at(known, 1, 60, 0x1800) == 11
    assert file_at(known, 1, 40, 0x1800) == 0
    assert parent(known, 1, 60) == 0


def test_what_a_scan_says_of_ever_holds_before_it_too_unless_more_is_known() -> None:
    known = history(
        Story(
            scanned=[(BEFORE_ALL, 1), (50, 1), (BEFORE_ALL, 2), (50, 2)],
            execs=[(20, 2, 2, "new")],
            maps=[
                (50, 1, 0x1000, 0x1000, 11),
                (21, 2, 0x1000, 0x1000, 22),
                (50, 2, 0x1000, 0x1000, 33),
            ],
        )
    )
    assert [file_at(known, 1, t, 0x1800) for t in (0, 60)] == [11, 11]
    assert [file_at(known, 2, t, 0x1800) for t in (30, 60)] == [22, 33]
    assert since(known, 2, 30) == 20


# --- when it began -----------------------------------------------------------------------------


def test_a_process_began_when_it_was_forked_or_started_a_program() -> None:
    known = history(
        Story(execs=[(0, 1, 1, "sh"), (30, 2, 2, "ls")], forks=[child(10, 2, 1), child(12, 3, 1)])
    )
    assert [since(known, 2, t) for t in (15, 40)] == [10, 30]
    assert since(known, 3, 40) == 12


def test_nobody_knows_when_a_process_began_that_was_there_before() -> None:
    known = history(Story(scanned=[(BEFORE_ALL, 1), (50, 1)], maps=[(10, 5, 0x1000, 0x1000, 11)]))
    assert [since(known, 1, 60), since(known, 1, 20)] == [UNKNOWN, UNKNOWN]
    assert since(known, 5, 60) == UNKNOWN
    assert since(known, 99, 60) == UNKNOWN
    assert since(History(), 99, 60) == UNKNOWN


# --- pids are used again -----------------------------------------------------------------------


def test_a_reused_pid_is_the_old_process_before_and_the_new_one_after() -> None:
    known = history(
        Story(
            execs=[(0, 1, 1, "init"), (1, 7, 7, "cron")],
            maps=[(2, 1, 0x1000, 0x1000, 11), (2, 7, 0x1000, 0x1000, 77)],
            cgroups=[(1, 1, 1), (1, 7, 2)],
            parents=[(0, 7, 1)],
            exits=[child(50, 7, 1)],
            forks=[child(60, 7, 3), child(65, 8, 7), child(55, 3, 1)],
        )
    )
    assert [name(known, 7, t) for t in (10, 70)] == ["cron", "init"]
    assert [file_at(known, 7, t, 0x1800) for t in (10, 70)] == [77, 11]
    assert [cgroup(known, 7, t) for t in (10, 70)] == [2, 1]
    assert [parent(known, 7, t) for t in (10, 70)] == [1, 3]
    assert name(known, 8, 70) == "init"
    assert since(known, 7, 70) == 60


# --- forgetting --------------------------------------------------------------------------------


def test_the_dead_are_forgotten_and_the_living_are_not() -> None:
    exits = [child(30, 2, 1)]
    known = history(
        Story(
            execs=[(0, 1, 1, "init"), (10, 2, 2, "gone"), (10, 3, 3, "stays")],
            forks=[thread(11, 3, 33, 3)],
            maps=[(12, pid, 0x1000, 0x1000, pid) for pid in (1, 2, 3)],
            cgroups=[(0, pid, pid) for pid in (1, 2, 3)],
            parents=[(0, pid, 1) for pid in (2, 3)],
            exits=exits,
        )
    )
    spaces = {pid: space(known, pid, 20) for pid in (1, 2, 3)}
    known.forget_dead(forks_of(exits))
    assert name(known, 2, 40) is None
    assert (space(known, 2, 40), cgroup(known, 2, 40)) == (UNKNOWN, UNKNOWN)
    assert parent(known, 2, 40) == UNKNOWN
    for pid, text in ((1, "init"), (3, "stays")):
        assert name(known, pid, 40) == text
        assert space(known, pid, 40) == spaces[pid]
        assert file_at(known, pid, 40, 0x1800) == pid
        assert cgroup(known, pid, 40) == pid
    assert name(known, 33, 40) == "stays"
    assert parent(known, 3, 40) == 1
    assert set(known.spaces.tolist()) == {spaces[1], spaces[3]}


def test_a_thread_that_ends_does_not_take_its_process_along() -> None:
    exits = [(30, 5, 5, 6, 5)]
    known = history(
        Story(
            execs=[(0, 5, 5, "java")],
            forks=[thread(10, 5, 6, 5)],
            maps=[(1, 5, 0x1000, 0x1000, 11)],
            exits=exits,
        )
    )
    known.forget_dead(forks_of(exits))
    assert name(known, 6, 40) is None
    assert name(known, 5, 40) == "java"
    assert file_at(known, 5, 40, 0x1800) == 11


def test_a_pid_that_died_and_was_born_again_is_not_forgotten() -> None:
    exits = [child(20, 7, 1)]
    known = history(
        Story(
            execs=[(0, 1, 1, "init"), (10, 7, 7, "old"), (31, 7, 7, "new")],
            forks=[child(30, 7, 1)],
            exits=exits,
        )
    )
    known.forget_dead(forks_of(exits))
    assert name(known, 7, 40) == "new"
    assert since(known, 7, 40) == 31


def test_what_is_kept_does_not_grow_with_the_length_of_the_recording() -> None:
    known = history(Story(execs=[(0, 1, 1, "init")], maps=[(1, 1, 0x1000, 0x1000, 1)]))
    sizes = set()
    for second in range(1, 6):
        pids = range(second * 100, second * 100 + 50)
        exits = [child(second * 1000 + 900, pid, 1) for pid in pids]
        known.learn(
            told(
                Story(
                    forks=[child(second * 1000, pid, 1) for pid in pids],
                    execs=[(second * 1000 + 1, pid, pid, "loop") for pid in pids],
                    named=[(second * 1000, 1, 1, "init")],
                    maps=[(second * 1000 + 2, pid, 0x1000, 0x1000, 9) for pid in pids],
                    cgroups=[(second * 1000, pid, 4) for pid in pids],
                    exits=exits,
                )
            )
        )
        known.forget_dead(forks_of(exits))
        kept = (known._comm, known._space, known._cgroup, known._parent)
        sizes.add((*(len(part.key) for part in kept), len(known._maps.space)))
    assert sizes == {(1, 1, 0, 0, 1)}
    assert name(known, 1, 10_000) == "init"
