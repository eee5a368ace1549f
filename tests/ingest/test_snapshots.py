from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.ingest import snapshots
from exhume.ingest.blocks import joined_blocks
from exhume.ingest.piece import ClockKind, Piece, Trust
from exhume.ingest.recognise import recognise
from exhume.ingest.snapshots_edge import edge_of
from exhume.ingest.snapshots_sections import sections
from exhume.ingest.streams import Source
from exhume.model.series import MISSING, Block
from tests.ingest import made
from tests.ingest.sysstat import IDLE, mpstat

NS = 1_000_000_000
START = 1794773717
STAT = """cpu  {a} 0 {b} 316 0 0 1 0 0 0
cpu0 {a} 0 {b} 76 0 0 0 0 0 0
cpu1 7 0 82 240 0 0 0 0 0 0
intr 2256 87 9 0
ctxt 4711
btime 1794773712
processes 179
procs_running 2
procs_blocked 0
softirq 1 2 3
"""
SOFTIRQS = """                    CPU0       CPU1
          HI:          0          1
       TIMER:        745        588
      NET_RX:          3          4
"""
INTERRUPTS = """           CPU0       CPU1
  4:         27          0   IO-APIC    4-edge      ttyS0
 24:          5          9   PCI-MSI  1-edge      eth0-Tx-Rx-0
LOC:        745        588   Local timer interrupts
ERR:          0
"""
SCHEDSTAT = """version 15
timestamp 4294893273
cpu0 0 0 79 19 40 19 2668369192 734249026 1008
domain0 00000003 13 13 0 0
cpu1 0 0 216 64 86 85 3167120023 188671584 810
"""
PRESSURE = """some avg10=1.89 avg60=0.35 avg300=0.07 total=225498
full avg10=0.00 avg60=0.00 avg300=0.00 total=17
"""
MEMINFO = """MemTotal:       12253972 kB
MemFree:         4734060 kB
HugePages_Total:       0
Percpu:            26112 kB
"""
VMSTAT = "nr_free_pages 1\npgfault 17\noom_kill 0\n"
CGROUPS = """#subsys_name\thierarchy\tnum_cgroups\tenabled
cpuset\t0\t1\t1
memory\t1\t352\t1
"""
CGROUP_STAT = "nr_descendants 3\nnr_dying_descendants 348\n"
LOADAVG = "0.16 0.03 0.01 4/79 179\n"
SOFTNET = "".join(f"{' '.join(['0000000a'] * 12)} {core:08x}\n" for core in (0, 3))
KINDS = {
    "stat": STAT.format(a=8, b=243), "softirqs": SOFTIRQS, "interrupts": INTERRUPTS,
    "schedstat": SCHEDSTAT, "pressure": PRESSURE, "meminfo": MEMINFO, "vmstat": VMSTAT,
    "cgroups": CGROUPS, "cgroup.stat": CGROUP_STAT, "loadavg": LOADAVG, "softnet_stat": SOFTNET,
}  # fmt: skip


def mark(second: float, rest: str = "") -> str:
    return f"### {START + second:.3f}{rest}\n"


def read(folder: Path, text: str | bytes, name: str = "copies.log") -> list[Piece]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(snapshots.read(Source.of(path), made.context(folder)))


def values(pieces: Sequence[Piece], field: str) -> dict[str, list[int]]:
    """By instance, in order of time."""
    blocks = joined_blocks([(piece.blocks, 0) for piece in pieces], 0, 1 << 62)
    found = {block.field: block for block in blocks}
    block = found.get(field, Block(field, (), np.empty(0, np.int64), np.empty((0, 0), np.int64)))
    return {name: block.values[:, i].tolist() for i, name in enumerate(block.instances)}


def test_wall_time_and_uptime_noted_together_tie_the_clocks(tmp_path: Path) -> None:
    text = "".join(
        f"### {START + i}.630 2026-11-15T20:15:17.629Z uptime={5 + i}.58\n{LOADAVG}"
        for i in range(9)
    )
    path = tmp_path / "proc_loadavg.log.gz"
    path.write_bytes(gzip.compress(text.encode()))
    *content, clock = snapshots.read(Source.of(path), made.context(tmp_path))
    assert clock.clock == ClockKind.KERNEL_LOG
    assert clock.claim is not None
    assert clock.claim.offset_ns == 1794773712_050000000
    assert clock.claim.trust == Trust.UPTIME
    assert "9 readings" in clock.claim.how
    assert clock.span_ns() is None
    assert {piece.clock for piece in content} == {ClockKind.WALL}
    assert values(content, "system.running") == {"": [4] * 9}


@pytest.mark.parametrize(
    ("kind", "field", "expected"),
    [
        ("stat", "cpu.system", {"0": 243, "1": 82}),
        ("stat", "system.context_switches", {"": 4711}),
        ("softirqs", "softirq.timer", {"0": 745, "1": 588}),
        ("interrupts", "irq.timer", {"0": 745, "1": 588}),
        ("interrupts", "irq.count", {"24 eth0-Tx-Rx-0": 14}),
        ("schedstat", "cpu.run_delay_ns", {"0": 734249026, "1": 188671584}),
        ("meminfo", "memory.percpu_bytes", {"": 26112 * 1024}),
        ("vmstat", "vmstat.pgfault", {"": 17}),
        ("cgroups", "memcg.tracked", {"": 352}),
        ("cgroup.stat", "memcg.zombies", {"": 348}),
        ("loadavg", "system.running", {"": 4}),
        ("softnet_stat", "softnet.processed", {"0": 10, "3": 10}),
    ],
)
def test_each_kind_of_copy_is_told_by_how_it_begins(
    tmp_path: Path, kind: str, field: str, expected: dict[str, int]
) -> None:
    text = mark(0) + KINDS[kind] + mark(1) + KINDS[kind]
    for indented in (text, indent(text, "    "), indent(text, "\t")):  # as pages and tickets do
        pieces = read(tmp_path, indented)
        assert pieces[-1].facts.problems == ()
        assert pieces[-1].facts.notes == (f"copies: 2 of {kind}",)
        found = values(pieces, field)
        assert {name: found[name] for name in expected} == {n: [v, v] for n, v in expected.items()}


def test_all_kinds_may_be_in_one_file_and_below_one_mark(tmp_path: Path) -> None:
    headed = "".join(f"==> /proc/{kind} <==\n{text}\n" for kind, text in KINDS.items())
    plain = "".join(KINDS.values())
    commented = "".join(f"# cat /proc/{kind}\n{text}" for kind, text in KINDS.items())
    for text in (headed, plain, commented):
        pieces = read(tmp_path, mark(0) + text + mark(1) + text, "pressure_cpu.log")
        assert pieces[-1].facts.problems == ()
        fields = {block.field for piece in pieces for block in piece.blocks}
        assert fields >= {
            "cpu.idle", "softirq.timer", "irq.device", "cpu.run_delay_ns", "pressure.cpu.some_us",
            "memory.free_bytes", "vmstat.oom_kill", "memcg.tracked", "memcg.zombies",
            "system.running", "softnet.backlog",
        }  # fmt: skip


@pytest.mark.parametrize(
    ("rest", "name", "field"),
    [
        ("", "proc_pressure_memory.log", "pressure.memory.some_us"),
        (" /proc/pressure/io", "copies.log", "pressure.io.full_us"),
        ("", "psi-cpu.txt", "pressure.cpu.full_us"),
    ],
)
def test_which_pressure_it_is_the_mark_or_the_name_says(
    tmp_path: Path, rest: str, name: str, field: str
) -> None:
    pieces = read(tmp_path, mark(0, rest) + PRESSURE, name)
    assert values(pieces, field) == {"": [17 if "full" in field else 225498]}


def test_pressure_that_could_be_any_is_passed_over(tmp_path: Path) -> None:
    pieces = read(tmp_path, mark(0) + PRESSURE, "copies.log")
    assert not any(piece.blocks for piece in pieces)
    assert "1 of pressure passed over" in pieces[-1].facts.notes[-1]
    only_some = read(tmp_path, mark(0) + PRESSURE.split("\n")[0] + "\n", "copies.log")
    assert values(only_some, "pressure.cpu.some_us") == {"": [225498]}


def test_three_pressures_below_one_mark_come_by_name(tmp_path: Path) -> None:
    three = [PRESSURE.replace("225498", str(number)) for number in (1, 2, 3)]
    pieces = read(tmp_path, mark(0) + "".join(three))
    for number, resource in enumerate(("cpu", "io", "memory"), 1):
        assert values(pieces, f"pressure.{resource}.some_us") == {"": [number]}
    assert "by their order" in pieces[-1].facts.notes[-1]


def test_a_name_alone_above_a_pressure_says_which_it_is(tmp_path: Path) -> None:
    named = [f"{name}\n{PRESSURE}" for name in ("cpu:", "Memory", "io:")]
    pieces = read(tmp_path, mark(0) + "".join(named), "copies.log")
    assert pieces[-1].facts is not None
    assert pieces[-1].facts.problems == ()
    for resource in ("cpu", "memory", "io"):
        assert values(pieces, f"pressure.{resource}.some_us") == {"": [225498]}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "pressure"])
def test_a_copy_cut_short_is_left_out_and_the_others_stay(tmp_path: Path, kind: str) -> None:
    whole = KINDS[kind]
    sound = values(read(tmp_path, mark(0) + whole), *_first_field(tmp_path, whole))
    lines = whole.splitlines(keepends=True)
    for end in range(len(lines)):
        for torn in (
            "".join(lines[:end]),
            "".join(lines[:end]) + lines[end][: len(lines[end]) // 2],
        ):
            text = (
                mark(0)
                + whole
                + mark(1)
                + torn
                + "\n" * (not torn.endswith("\n"))
                + mark(2)
                + whole
            )
            pieces = read(tmp_path, text)
            found = values(pieces, *_first_field(tmp_path, whole))
            for name, one in sound.items():
                assert set(found[name]) <= {*one, MISSING}
                assert found[name][0] == found[name][-1] == one[0]


def _first_field(folder: Path, text: str) -> tuple[str]:
    return (next(b.field for p in read(folder, mark(0) + text) for b in p.blocks),)


def test_a_torn_copy_is_told_with_its_line(tmp_path: Path) -> None:
    text = mark(0) + MEMINFO + mark(1) + MEMINFO.replace("4734060 kB", "47340") + mark(2) + MEMINFO
    pieces = read(tmp_path, text)
    (problem,) = pieces[-1].facts.problems
    assert problem == "line 8: a copy of meminfo is not whole, expected kB; left out"
    assert values(pieces, "memory.total_bytes") == {"": [12253972 * 1024] * 2}


def test_a_file_may_end_anywhere(tmp_path: Path) -> None:
    text = mark(0) + STAT.format(a=8, b=243) + mark(1) + STAT.format(a=9, b=300)
    for end in range(len(mark(0)), len(text), 3):
        found = values(read(tmp_path, text[:end]), "cpu.system").get("0", [])
        assert found in ([], [243])
    assert values(read(tmp_path, text), "cpu.system")["0"] == [243, 300]


@given(st.binary(max_size=400), st.integers(0, 1500))
def test_damage_is_read_over(damage: bytes, place: int) -> None:
    text = "".join(mark(i) + block for i, block in enumerate(KINDS.values())).encode()
    for section in sections(text[:place] + damage + text[place + len(damage) :]):
        assert section.kind
    snapshots.is_marked(damage + text)
    snapshots.is_bare(damage + text)


def test_copies_of_hours_come_in_pieces_of_ten_minutes(tmp_path: Path) -> None:
    text = "".join(mark(i * 10) + STAT.format(a=i, b=i) for i in range(200))
    pieces = read(tmp_path, text)
    content = [piece for piece in pieces if piece.blocks]
    assert len(content) == 4
    first = [min(int(block.tick_ns[0]) for block in piece.blocks) for piece in content]
    last = [max(int(block.tick_ns[-1]) for block in piece.blocks) for piece in content]
    assert first[1:] == last[:-1]
    assert values(pieces, "cpu.user")["0"] == list(range(200))


def test_marks_that_go_back_in_time_lose_nothing(tmp_path: Path) -> None:
    text = "".join(mark(second) + LOADAVG for second in (100, 101, 50, 51, 102))
    assert values(read(tmp_path, text), "system.running") == {"": [4] * 5}


def test_a_count_of_directories_is_told_by_its_name(tmp_path: Path) -> None:
    text = "".join(mark(i) + f"{240 + i}\n" for i in range(3))
    assert values(read(tmp_path, text, "cgroup_dirs.log"), "memcg.live") == {"": [240, 241, 242]}
    noted = mark(0, " find /sys/fs/cgroup/memory -type d | wc -l") + "7\n"
    assert values(read(tmp_path, noted, "x.log"), "memcg.live") == {"": [7]}
    unknown = read(tmp_path, text, "numbers.log")
    assert not any(piece.blocks for piece in unknown)


def test_cgroups_and_directories_below_one_mark(tmp_path: Path) -> None:
    text = mark(0) + CGROUPS + "240\n" + mark(10) + CGROUPS + "241\n"
    pieces = read(tmp_path, text, "cgroups.log")
    assert values(pieces, "memcg.tracked") == {"": [352, 352]}
    assert values(pieces, "memcg.live") == {"": [240, 241]}


def test_what_a_command_counted_is_not_taken_for_something_else(tmp_path: Path) -> None:
    below = f"{CGROUPS}# docker ps -a | wc -l\n75\n"
    pieces = read(tmp_path, mark(0) + below, "cgroups.log")
    assert values(pieces, "memcg.live") == {}
    assert values(pieces, "memcg.tracked") == {"": [352]}


def test_tables_of_mpstat_among_copies_are_said_to_be_passed_over(tmp_path: Path) -> None:
    text = "".join(mark(i) + LOADAVG + mpstat([{0: IDLE}]) for i in range(2))
    pieces = read(tmp_path, text)
    assert values(pieces, "system.running") == {"": [4, 4]}
    assert any("mpstat" in note for note in pieces[-1].facts.notes)


def test_line_ends_of_another_system_do_no_harm(tmp_path: Path) -> None:
    pieces = read(tmp_path, (mark(0) + MEMINFO).replace("\n", "\r\n"))
    assert values(pieces, "memory.free_bytes") == {"": [4734060 * 1024]}


def test_what_is_no_snapshot_is_not_taken_for_one(tmp_path: Path) -> None:
    for text in (
        "### Release notes\n\nMemTotal is more now\n",
        "### 1794773717 remark\nnothing known\n",
        "7\n",
        "0.16 0.03 0.01 4/79 179\n",
        "2026-11-15T20:15:17Z INFO cpu  1 2 3\n",
        "Type=simple\nName=something\n",
    ):
        path = Path(made.write(tmp_path / "x.txt", text))
        found = recognise(Source.of(path))
        assert found is None or not found.name.startswith("/proc"), text


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("loadavg", "pressure")])
def test_a_copy_without_a_mark_has_the_time_of_its_name_or_its_file(
    tmp_path: Path, kind: str
) -> None:
    path = Path(made.write(tmp_path / f"proc_{kind}-20261115-201517.txt", KINDS[kind]))
    copied = indent(KINDS[kind], "        ").replace("\n", "\r\n")
    quoted = Path(made.write(tmp_path / "quoted.txt", copied))
    *_, piece = snapshots.read_bare(Source.of(quoted), made.context(tmp_path))
    assert recognise(Source.of(quoted)) == recognise(Source.of(path))
    assert piece.facts.notes == (f"copies: 1 of {kind}",)
    format_ = recognise(Source.of(path))
    assert format_ is not None
    assert format_.name == "/proc copy"
    *_, piece = snapshots.read_bare(Source.of(path), made.context(tmp_path))
    assert piece.claim is not None
    assert piece.claim.trust == Trust.FILE_NAME
    assert piece.span_ns() == (START * NS, START * NS)
    other = path.rename(tmp_path / f"proc_{kind}_end.txt")
    os.utime(other, (5, 5))
    *_, piece = snapshots.read_bare(Source.of(other), made.context(tmp_path))
    assert piece.claim is not None
    assert (piece.claim.trust, piece.edge) == (Trust.FILE_TIME, "end")
    assert piece.span_ns() == (5 * NS, 5 * NS)


def test_of_a_folder_for_each_time_its_name_tells_where_the_files_times_are_lost(
    tmp_path: Path,
) -> None:
    for second in (17, 18, 19, 30):
        folder = tmp_path / f"2026-11-15T20:15:{second}"
        folder.mkdir()
        made.write(folder / "stat", STAT.format(a=second, b=243))
        os.utime(folder / "stat", (START + second - 17 - 3600,) * 2)

    def clock(second: int) -> tuple[int, str]:
        path = tmp_path / f"2026-11-15T20:15:{second}" / "stat"
        *_, piece = snapshots.read_bare(Source.of(path), made.context(tmp_path))
        assert piece.claim is not None
        span = piece.span_ns()
        assert span is not None
        return span[0] // NS, piece.claim.how

    assert clock(18) == (START + 1 - 3600, "guessed: when the file was last written")
    for path in tmp_path.glob("*/stat"):
        os.utime(path, (START + 86_400,) * 2)
    assert clock(18) == (START + 1, "by the time in its folder's name, taken as UTC")
    assert clock(30) == (START + 13, "by the time in its folder's name, taken as UTC")


def test_seconds_since_1970_in_a_name_are_not_taken_as_any_zone(tmp_path: Path) -> None:
    for name, told in ((f"stat.{START}", ""), ("stat-20261115-201517", ", taken as UTC")):
        path = Path(made.write(tmp_path / name, STAT.format(a=8, b=243)))
        *_, piece = snapshots.read_bare(Source.of(path), made.context(tmp_path))
        assert piece.span_ns() == (START * NS, START * NS)
        assert piece.claim is not None
        assert piece.claim.how == f"by the time in its name{told}"


def test_names_say_at_which_end_a_copy_was_taken() -> None:
    assert edge_of("proc_cgroups_start.txt") == "start"
    assert edge_of("meminfo-before.gz") == "start"
    assert edge_of("docker_ps.end") == "end"
    assert edge_of("backend.txt") == edge_of("restart.log") == ""


@pytest.mark.parametrize(
    ("below", "field", "value"),
    [
        ("memory\t1\t352\t1\n", "memcg.tracked", 352),
        ("memory\t1\t352\t1\n240\n", "memcg.live", 240),
        (CGROUPS + "live: 240\n", "memcg.live", 240),
        (CGROUPS + "live: 240\n", "memcg.tracked", 352),
        ("memory cgroups = 352\nlive dirs: 240\n", "memcg.tracked", 352),
        ("Percpu:   26112 kB\n", "memory.percpu_bytes", 26112 << 10),
        ("/proc/pressure/cpu:some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
         "pressure.cpu.some_us", 7),
        ("/proc/loadavg:0.16 0.03 0.01 4/79 179\n/proc/meminfo:MemTotal:   12 kB\n"
         "/proc/meminfo:MemFree:   5 kB\n", "memory.free_bytes", 5 << 10),
        ("[root@gpu-7 ~]# cat /proc/loadavg\n0.16 0.03 0.01 4/79 179\n"
         "[root@gpu-7 ~]# find /sys/fs/cgroup/memory -type d | wc -l\n240\n", "memcg.live", 240),
    ],
)  # fmt: skip
def test_parts_of_copies_as_people_take_them(
    tmp_path: Path, below: str, field: str, value: int
) -> None:
    pieces = read(tmp_path, "".join(f"{START + i}\n{below}" for i in range(2)))
    assert pieces[-1].facts.problems == ()
    assert values(pieces, field) == {"": [value, value]}


def test_cores_without_the_rest_of_the_file_are_whole(tmp_path: Path) -> None:
    cores = "".join(STAT.format(a=8, b=243).splitlines(keepends=True)[:3])
    torn = cores[: -len(" 0 0 0\n")] + "\n"
    pieces = read(tmp_path, mark(0) + cores + mark(1) + torn + mark(2) + cores)
    assert values(pieces, "cpu.system") == {"0": [243, 243], "1": [82, 82]}
    (problem,) = pieces[-1].facts.problems
    assert problem.startswith("line 8: a copy of stat is not whole")


@pytest.mark.parametrize(
    "above",
    [
        "==> /proc/cgroups <==\n", "$ cat /proc/cgroups\n", "root@gpu-7:~# cat /proc/cgroups\n",
        "\n### cgroups\n\n",
    ],
)  # fmt: skip
def test_a_copy_may_have_a_heading_or_the_command_that_made_it(tmp_path: Path, above: str) -> None:
    path = Path(
        made.write(tmp_path / "x.txt", above + CGROUPS + "\n==> /proc/stat <==\n" + KINDS["stat"])
    )
    found = recognise(Source.of(path))
    assert found is not None
    assert found.name == "/proc copy"
    pieces = list(snapshots.read_bare(Source.of(path), made.context(tmp_path)))
    assert values(pieces, "memcg.tracked") == {"": [352]}


def test_a_prompt_below_the_last_copy_does_not_cut_it_off(tmp_path: Path) -> None:
    for prompt in ("[ec2-user@ip-10-0-0-7 ~]$ ", "root@gpu-7:~# exit", "$ "):
        pieces = read(tmp_path, f"### {START}\n" + STAT.format(a=8, b=243) + prompt)
        assert pieces[-1].facts.problems == ()
        assert values(pieces, "cpu.user")["0"] == [8]
