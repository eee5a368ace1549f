from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest import csv_table
from exhume.ingest.csv_fields import column_of
from exhume.ingest.piece import ClockKind, Piece, Trust
from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from exhume.model.fields import FIELDS
from tests.ingest import made
from tests.ingest.made import do_import, segments, write
from tests.ingest.test_snapshots import NS, START, values

ZOMBIES = """epoch,iso,uptime_s,memory_cgroups,live_memory_dirs,dying,percpu_kB,memavailable_kB,mood
1794773717.630,2026-11-15T20:15:17.629Z,5.579,3,3,0,26112,11980180,good
1794773727.630,2026-11-15T20:15:27.629Z,15.579,352,4,348,132096,11856512,
"""


def read(folder: Path, text: str, name: str = "table.csv") -> list[Piece]:
    path = Path(made.write(folder / name, text))
    found = recognise(Source.of(path))
    assert found is not None
    assert found.name == "CSV"
    return list(csv_table.read(Source.of(path), made.context(folder)))


def test_columns_go_by_what_people_call_them(tmp_path: Path) -> None:
    pieces = read(tmp_path, ZOMBIES)
    assert values(pieces, "memcg.tracked") == {"": [3, 352]}
    assert values(pieces, "memcg.live") == {"": [3, 4]}
    assert values(pieces, "memcg.zombies") == {"": [0, 348]}
    assert values(pieces, "memory.percpu_bytes") == {"": [26112 * 1024, 132096 * 1024]}
    assert values(pieces, "memory.available_bytes")[""][0] == 11980180 * 1024
    assert pieces[0].blocks[0].tick_ns.tolist()[0] == START * NS + 630_000_000
    clock = pieces[-1]
    assert clock.claim is not None
    assert (clock.claim.trust, clock.claim.offset_ns) == (Trust.UPTIME, 1794773712_051000000)
    assert clock.facts.notes[-1] == "columns that mean nothing here: mood"


@pytest.mark.parametrize(
    ("header", "field", "factor"),
    [
        ("memory_cgroups", "memcg.tracked", 1), ("memcg", "memcg.tracked", 1),
        ("num_memcgs", "memcg.tracked", 1), ("tracked", "memcg.tracked", 1),
        ("live dirs", "memcg.live", 1), ("live", "memcg.live", 1), ("cgroup_dirs", "memcg.live", 1),
        ("dirs", "memcg.live", 1), ("Directories", "memcg.live", 1), ("num_dirs", "memcg.live", 1),
        ("zombies", "memcg.zombies", 1), ("dying_cgroups", "memcg.zombies", 1),
        ("nr_dying_descendants", "memcg.zombies", 1), ("Percpu (kB)", "memory.percpu_bytes", 1024),
        ("MemAvailable_MB", "memory.available_bytes", 1 << 20), ("SUnreclaim",
        "memory.slab_unreclaimable_bytes", 1024), ("memory.free_bytes", "memory.free_bytes", 1),
        ("memory_free_kb", "memory.free_bytes", 1024), ("memfree_bytes", "memory.free_bytes", 1),
        ("pgfault", "vmstat.pgfault", 1), ("procs_running", "system.running", 1),
        ("psi_cpu_some_us", "pressure.cpu.some_us", 1),
        ("psi_mem_full_ms", "pressure.memory.full_us", 1000),
        ("pressure.io.some_us", "pressure.io.some_us", 1), ("ctxt", "system.context_switches", 1),
        ("\ufeffmemcg.tracked", "memcg.tracked", 1),
    ],
)  # fmt: skip
def test_names_and_units(header: str, field: str, factor: float) -> None:
    found = column_of(header)
    assert found is not None
    assert (found.field, found.factor) == (field, factor)


@pytest.mark.parametrize(
    "header",
    ["", "host", "comment", "cpu39", "load1", "dying_kB", "live_ms", "bytes", "s", "%idle"],
)
def test_what_nobody_knows_is_nothing(header: str) -> None:
    assert column_of(header) is None


def test_every_field_of_the_node_is_known_by_its_own_id() -> None:
    for field in FIELDS:
        found = column_of(field.id)
        assert (found.field if found else "") == ("" if field.instance else field.id)


@pytest.mark.parametrize(
    "text",
    [
        "time;memcg;load\n2026-11-15T20:15:17Z;3;0,5\n2026-11-15T20:15:18Z;4;0,5\n",
        "ts\tmemcg.tracked\n1794773717000\t3\n1794773718000\t4\n",
        "# made by watch.sh\n#timestamp,memcg\n1794773717,3\n1794773718,4\n",
        '"when","memcg"\r\n"2026-11-15 20:15:17","3"\r\n"2026-11-15 20:15:18","4"\r\n',
    ],
)
def test_separators_times_and_line_ends_of_several_kinds(tmp_path: Path, text: str) -> None:
    pieces = read(tmp_path, text)
    assert values(pieces, "memcg.tracked") == {"": [3, 4]}
    assert pieces[0].blocks[0].tick_ns.tolist() == [START * NS, (START + 1) * NS]


def test_rows_that_make_no_sense_are_told_and_the_others_stay(tmp_path: Path) -> None:
    text = "epoch,memcg\n1794773717,3\nnever,4\n1794773718,many\n1794773719,5\n1794773720,6"
    pieces = read(tmp_path, text)
    # The last row has no end: its number may be cut off.
    assert values(pieces, "memcg.tracked") == {"": [3, 5]}
    assert pieces[-1].facts.problems == ("1 rows have no time, and were left out",)


@pytest.mark.parametrize(
    "text",
    ["a,b\n1,2\n", "epoch,color\n1794773717,red\n", "epoch,memcg\n", "epoch\n1794773717\n", ","],
)
def test_a_table_without_times_or_fields_is_none(text: str) -> None:
    assert not csv_table.is_table(text.encode())


def test_cgroups_beside_their_directories_are_what_the_kernel_keeps(tmp_path: Path) -> None:
    pieces = read(tmp_path, "time;cgroups;directories\n1794773717;420;12\n1794773727;540;12\n")
    assert values(pieces, "memcg.tracked") == {"": [420, 540]}
    assert values(pieces, "memcg.live") == {"": [12, 12]}
    alone = read(tmp_path, "time,cgroups,forks\n1794773717,420,7\n", "alone.csv")
    assert not values(alone, "memcg.tracked"), "of what, nobody says"
    both = read(tmp_path, "time,memory_cgroups,dirs,cgroups\n1794773717,420,12,9\n", "both.csv")
    assert values(both, "memcg.tracked") == {"": [420]}


@given(st.binary(max_size=300), st.integers(0, 300))
def test_no_table_is_too_odd(damage: bytes, place: int) -> None:
    text = ZOMBIES.encode()
    csv_table.shape_of(text[:place] + damage + text[place + len(damage) :])


def test_a_table_may_be_cut_off_anywhere(tmp_path: Path) -> None:
    for end in range(ZOMBIES.index("\n") + 90, len(ZOMBIES), 5):
        path = Path(made.write(tmp_path / "x.csv", ZOMBIES[:end]))
        pieces = list(csv_table.read(Source.of(path), made.context(tmp_path)))
        assert values(pieces, "memcg.tracked").get("", []) in ([], [3])


def test_a_column_of_bytes_is_no_time_though_its_numbers_look_like_one(tmp_path: Path) -> None:
    text = f"epoch,percpu_bytes,memory_free_bytes\n{START},1700000000,123456789\n"
    pieces = read(tmp_path, text)
    assert values(pieces, "memory.percpu_bytes") == {"": [1_700_000_000]}
    assert values(pieces, "memory.free_bytes") == {"": [123_456_789]}


def test_the_day_and_the_time_of_day_may_have_a_column_each(tmp_path: Path) -> None:
    text = "Date;Time;live\n2026-11-15;20:15:17;240\n2026-11-15;20:15:27;241\n"
    pieces = read(tmp_path, text)
    assert values(pieces, "memcg.live") == {"": [240, 241]}
    assert pieces[0].blocks[0].tick_ns.tolist() == [START * NS, (START + 10) * NS]


@pytest.mark.parametrize(
    ("header", "clock"), [("time", ClockKind.OWN), ("time_utc", ClockKind.WALL)]
)
def test_times_without_a_zone_are_local_unless_the_header_says(
    tmp_path: Path, header: str, clock: ClockKind
) -> None:
    pieces = read(tmp_path, f"{header},uptime,live\n2026-11-15 20:15:17,5,240\n")
    assert pieces[0].clock == clock
    assert bool(pieces[0].guesses) == (clock == ClockKind.OWN)
    claim = pieces[-1].claim
    assert claim is not None
    # What may be hours off must not be what perf's samples are placed by.
    assert claim.trust == (Trust.UPTIME if clock == ClockKind.WALL else Trust.FILE_NAME)


def test_columns_may_be_set_apart_by_blanks(tmp_path: Path) -> None:
    text = f"epoch       memcg   live\n{START}    352    240\n{START + 10}   1352    240\n"
    assert values(read(tmp_path, text), "memcg.tracked") == {"": [352, 1352]}


def test_between_two_rows_nothing_is_missing_though_ten_minutes_end_there(tmp_path: Path) -> None:
    rows = [f"{1794773970 + 20 * i},{3000 + i}" for i in range(4)]  # up to 20:20:30, from 20:19:30
    path = write(tmp_path / "z.csv", "epoch,dying\n" + "\n".join(rows) + "\n")
    do_import(tmp_path / "out", path)

    def stretches() -> list[tuple[int, int]]:
        return [(one.start_ns // NS, one.end_ns // NS) for one in segments(tmp_path / "out")]

    whole = [(1794773970, 1794774000), (1794774000, 1794774030)]
    assert stretches() == whole
    (reading,) = (one.blocks("memcg.zombies") for one in segments(tmp_path / "out")[1:])
    assert [block.tick_ns.tolist() for block in reading] == [[1794774010 * NS, 1794774030 * NS]]
    log = "2026-11-15T20:19:40Z ERROR health check timed out after 8.0s\n"
    do_import(tmp_path / "out", write(tmp_path / "app.log", log))
    assert stretches() == whole
    assert [len(one.events()) for one in segments(tmp_path / "out")] == [1, 0]
