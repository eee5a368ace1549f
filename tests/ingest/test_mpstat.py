from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exhume.cli.main import main
from exhume.derive.cpu import core_shares
from exhume.ingest import mpstat_json
from exhume.ingest.blocks import joined_blocks
from exhume.ingest.mpstat_clock import DayClock
from exhume.ingest.mpstat_table import COLUMNS, Counters
from exhume.ingest.mpstat_text import TextScanner
from exhume.ingest.piece import ClockKind
from exhume.ingest.recognise import recognise
from exhume.ingest.streams import Source
from exhume.model.answers import MAP_MODES
from exhume.model.series import Block
from exhume.model.window import Window
from exhume.store.queries.core_map import core_map
from exhume.store.recording import Recording
from tests.ingest import made
from tests.ingest.mpstat_read import BUSY, EVENING, NS, at, joined, read, shares
from tests.ingest.sysstat import IDLE, NAMES, SYSTEM, heading, percentages, row
from tests.ingest.sysstat import mpstat as text_of

SHARE_OF_PRINT = 0.005


def test_what_was_printed_is_what_is_read(tmp_path: Path) -> None:
    pieces = read(tmp_path, text_of([{0: BUSY, 1: SYSTEM}, {0: IDLE, 1: BUSY}]))
    found = shares(pieces)
    assert found.cores == (0, 1)
    assert (found.start_ns // NS).tolist() == [EVENING, EVENING + 1]
    assert at(found, 1, 0)["system"] == 100
    printed = dict(zip(NAMES, percentages(BUSY), strict=True))
    here = at(found, 0, 0)
    assert here["system"] == pytest.approx(printed["%sys"], abs=SHARE_OF_PRINT)
    assert here["user"] == pytest.approx(
        printed["%usr"] + printed["%nice"] + printed["%guest"], abs=SHARE_OF_PRINT
    )
    assert here["idle"] == pytest.approx(printed["%idle"], abs=SHARE_OF_PRINT)
    (one,) = [piece for piece in pieces if piece.blocks]
    assert one.is_filler
    assert one.hints.node == "gpu-7"
    assert one.hints.kernel == "5.4.0-1146-aws"
    assert one.claim is not None
    assert (one.clock, one.claim.offset_ns) == (ClockKind.OWN, 0)
    assert "UTC" in one.claim.how


def test_guests_are_inside_user_as_in_proc_stat(tmp_path: Path) -> None:
    blocks = {block.field: block for block in joined(read(tmp_path, text_of([{0: BUSY}])))}
    assert blocks["cpu.user"].values[-1].tolist() == [21 + 5]
    assert blocks["cpu.guest"].values[-1].tolist() == [5]
    assert blocks["cpu.nice"].values[-1].tolist() == [3]


JIFFIES = st.lists(st.integers(0, 40), min_size=10, max_size=10).map(tuple)


@given(st.lists(JIFFIES, min_size=1, max_size=8), st.integers(93, 108))
def test_the_jiffies_behind_percentages_are_found_again(
    rows: list[tuple[int, ...]], total: int
) -> None:
    filled = []
    for values in rows:
        *others, _ = (value * total // max(1, sum(values)) for value in values)
        filled.append((*others, total - sum(others)))
    scanner = TextScanner(DayClock(EVENING // 86_400 * 86_400))
    counters = Counters()
    blocks: list[Block] = []
    for lines in scanner.read(text_of([{0: one} for one in filled]).encode(), at_end=True):
        for some in counters.add(lines):
            blocks += some
    for some in counters.take():
        blocks += some
    found = core_shares(joined_blocks([(blocks, 0)], 0, 1 << 62))
    assert found is not None
    for instant, values in enumerate(filled):
        expected = np.array(percentages(values))
        printed = np.array([float(f"{value:.2f}") for value in expected])
        got = [float(found.percent[i, 0, instant]) for i in range(len(MAP_MODES))]
        user = printed[[0, 1, 7, 8]].sum()
        assert got[MAP_MODES.index("user")] == pytest.approx(user, abs=0.021)
        for mode, column in (("system", 2), ("softirq", 5), ("iowait", 3)):
            # To the last digit that is printed: half a step either way, as 15.625 is 15.62 there.
            assert abs(got[MAP_MODES.index(mode)] - printed[column]) <= SHARE_OF_PRINT + 1e-9


def test_numbers_that_no_jiffies_make_keep_their_mean(tmp_path: Path) -> None:
    values = [0.37, 0, 12.34, 0, 0, 0, 0, 0, 0, 87.29]
    lines = [heading("20:00:00")]
    lines += [row(f"20:0{s // 60}:{s % 60:02}", "3", values) for s in range(1, 301)]
    blocks = {b.field: b for b in joined(read(tmp_path, "".join(lines)))}
    for field, percent in (("cpu.user", 0.37), ("cpu.system", 12.34), ("cpu.idle", 87.29)):
        gained = int(blocks[field].values[-1, 0] - blocks[field].values[0, 0])
        assert gained == pytest.approx(percent * 300, abs=1)


def test_cores_go_off_and_come_back(tmp_path: Path) -> None:
    both: dict[int, Sequence[int]] = {0: BUSY, 1: SYSTEM}
    off: dict[int, Sequence[int]] = {0: BUSY}
    found = shares(read(tmp_path, text_of([both, both, off, off, off, both, both])))
    one = found.busy[found.cores.index(1)]
    # When it is back, what it did in that second is told.
    assert np.isfinite(one).tolist() == [True, True, False, False, False, True, True]
    assert one[[0, 1, 5, 6]].tolist() == [100] * 4
    assert np.isfinite(found.busy[found.cores.index(0)]).all()


@pytest.mark.parametrize("decimals", [0, 1])
def test_fewer_decimals_are_still_percent(tmp_path: Path, decimals: int) -> None:
    found = shares(read(tmp_path, text_of([{0: BUSY}] * 3, decimals=decimals)))
    assert at(found, 0, 1)["system"] == pytest.approx(percentages(BUSY)[2], abs=1)


def test_columns_go_by_their_names(tmp_path: Path) -> None:
    # sysstat 8 called them %user, had no guests, and told interrupts beside them.
    old = ("%user", "%nice", "%sys", "%iowait", "%irq", "%soft", "%steal", "%idle", "intr/s")
    lines = ["Linux 2.6.18 (old) \t2008-11-15 \t_x86_64_\t(2 CPU)\n\n", heading("10:00:00", old)]
    lines.append(row("10:00:01", "all", [10, 0, 20, 0, 0, 0, 0, 70, 1234.5]))
    lines.append(row("10:00:01", "7", [20, 0, 40, 0, 0, 0, 0, 40, 99999.99]))
    found = shares(read(tmp_path, "".join(lines)))
    assert found.cores == (7,)
    assert (at(found, 7, 0)["user"], at(found, 7, 0)["system"], at(found, 7, 0)["idle"]) == (
        20, 40, 40,
    )  # fmt: skip


def test_tables_of_nodes_and_interrupts_and_averages_are_passed_over(tmp_path: Path) -> None:
    text = text_of([{0: BUSY, 1: SYSTEM}])
    text += "\n20:00:00    NODE    %usr   %sys   %idle\n20:00:01       0    1.00   2.00   97.00\n"
    text += "\n20:00:00     CPU    intr/s\n20:00:01       0   1234.00\n"
    text += text_of([{0: IDLE, 1: IDLE}], start=20 * 3600 + 1).split("\n", 1)[1]
    text += "\n" + heading("Average:") + row("Average:", "0", [50.0] * 10)
    text += "\n" + heading("Moyenne :") + row("Moyenne :", "1", [50.0] * 10)
    pieces = read(tmp_path, text)
    found = shares(pieces)
    assert found.percent.shape[2] == 2
    assert (at(found, 1, 0)["system"], at(found, 1, 1)["system"]) == (100, 0)
    assert pieces[-1].facts.problems == ()


def test_topology_columns_that_all_lacks_do_no_harm(tmp_path: Path) -> None:
    names = ("CORE", "SOCK", "NODE", *NAMES)
    head = f"{'20:00:00':<11s}  CPU CORE SOCK NODE" + "".join(f"{n:>8s}" for n in NAMES) + "\n"
    shown = "".join(f"{value:8.2f}" for value in SYSTEM)
    body = f"20:00:01     all               {shown}\n20:00:01       1    3    0    1{shown}\n"
    assert len(names) == 13
    found = shares(read(tmp_path, "Linux 6 (a) \t2026-11-15 \t_x_\t(2 CPU)\n\n" + head + body))
    assert (found.cores, at(found, 1, 0)["system"]) == ((1,), 100)


def test_the_mean_of_all_cores_alone_is_told_to_be_of_no_use(tmp_path: Path) -> None:
    pieces = read(tmp_path, "".join([heading("20:00:00"), row("20:00:01", "all", BUSY)]))
    assert not any(piece.blocks for piece in pieces)
    assert "-P ALL" in pieces[-1].facts.notes[-1]


def test_averages_since_boot_have_no_interval(tmp_path: Path) -> None:
    pieces = read(tmp_path, "".join([heading("20:00:00"), row("20:00:00", "0", BUSY)]))
    assert not any(piece.blocks for piece in pieces)
    assert "since boot" in pieces[-1].facts.notes[-1]


def test_a_line_whose_last_number_was_cut_off_is_left_out(tmp_path: Path) -> None:
    text = text_of([{0: BUSY, 1: IDLE}])
    whole = next(line for line in text.split("\n") if line.split()[1:2] == ["1"])
    for cut in (1, 2, 3, 4, 5):
        pieces = read(tmp_path, text.replace(whole, whole[:-cut], 1))
        assert shares(pieces).cores == (0,), whole[:-cut]
        assert "1 lines are not as they should be" in pieces[-1].facts.problems[0]


def test_other_tables_of_sar_are_not_damage(tmp_path: Path) -> None:
    other = (
        "20:15:16       proc/s   cswch/s\n20:15:17         0.00    325.00\n\n"
        "20:15:16         INTR    intr/s\n20:15:17          sum    256.00\n"
        "20:15:17            0      0.00\n\n"
    )
    text = text_of([{0: BUSY, 1: IDLE}, {0: IDLE, 1: IDLE}])
    first, second = text.split("\n\n", 1)[0], text.split("\n\n", 1)[1]
    begin, end = second.split("\n\n", 1)
    pieces = read(tmp_path, f"{first}\n\n{begin}\n\n{other}{end}")
    assert shares(pieces).cores == (0, 1)
    assert len(shares(pieces).start_ns) == 2
    assert not pieces[-1].facts.problems


def test_it_may_be_cut_off_anywhere(tmp_path: Path) -> None:
    text = text_of([{0: BUSY, 1: SYSTEM}] * 3).encode()
    whole = shares(read(tmp_path, text))
    ends = {end + more for end, octet in enumerate(text) if octet == 10 for more in (0, 1, 2, 40)}
    for end in sorted(ends):
        scanner = TextScanner(DayClock(0))
        counters = Counters()
        blocks: list[Block] = []
        for lines in scanner.read(text[:end], at_end=True):
            for some in counters.add(lines):
                blocks += some
        for some in counters.take():
            blocks += some
        found = core_shares(joined_blocks([(blocks, 0)], 0, 1 << 62)) if blocks else None
        if found is not None:
            row = found.cores.index(0)
            count = found.busy.shape[1]
            assert np.array_equal(found.busy[row], whole.busy[0, :count])
        assert scanner.odd_lines == 0


@given(st.integers(1, 400), st.booleans())
def test_the_size_of_the_parts_it_comes_in_does_not_matter(size: int, comma: bool) -> None:
    text = text_of([{0: BUSY, 1: SYSTEM, 12: IDLE}] * 4, comma=comma).encode()

    def collected(parts: list[bytes]) -> list[tuple[int, int, int, tuple[int, ...]]]:
        scanner = TextScanner(DayClock(0))
        lines = [line for part in parts for line in scanner.read(part)]
        lines += scanner.read(b"", at_end=True)
        return [
            (int(some.start_s[i]), int(some.end_s[i]), int(core), tuple(values.tolist()))
            for some in lines
            for i, core, values in zip(some.instant, some.core, some.percent, strict=True)
        ]

    parts = [text[at : at + size] for at in range(0, len(text), size)]
    assert collected(parts) == collected([text])
    assert len(collected([text])) == 12


@given(st.binary(max_size=300), st.integers(0, 900))
def test_damage_costs_the_damaged_lines_and_no_more(damage: bytes, place: int) -> None:
    text = text_of([{0: BUSY, 1: SYSTEM}] * 5).encode()
    scanner, counters = TextScanner(DayClock(0)), Counters()
    for lines in scanner.read(text[:place] + damage + text[place + len(damage) :], at_end=True):
        assert lines.percent.shape[1] == len(COLUMNS)
        assert (lines.end_s > lines.start_s).all()
        for _ in counters.add(lines):
            pass


def test_columns_count_only_behind_the_core_that_they_are_of() -> None:
    text = text_of([{0: BUSY, 1: SYSTEM}] * 3).encode()
    header = next(line for line in text.split(b"\n") if b"CPU " in line)
    shuffled = b" ".join([header.split()[0], *header.split()[:1:-1], b"CPU"])
    mixed = text.replace(header, shuffled, 1)

    def rows(of: bytes) -> int:
        return sum(len(one.core) for one in TextScanner(DayClock(0)).read(of, at_end=True))

    assert 0 < rows(mixed) < rows(text)


def as_json(instants: Sequence[dict[int, Sequence[int]]], indent: int | None) -> str:
    import json

    statistics = [
        {
            "timestamp": f"20:00:{number + 1:02}",
            "cpu-load": [
                {"cpu": core}
                | {
                    name[1:]: round(value, 2)
                    for name, value in zip(NAMES, percentages(jiffies), strict=True)
                }
                for core, jiffies in [("all", BUSY), *((str(c), j) for c, j in cores.items())]
            ],
            "sum-interrupts": [{"cpu": "all", "intr": 1.0}],
        }
        for number, cores in enumerate(instants)
    ]
    host = {
        "nodename": "gpu-7", "release": "5.4", "machine": "x86_64", "number-of-cpus": 2,
        "date": "2026-11-15", "statistics": statistics,
    }  # fmt: skip
    return json.dumps({"sysstat": {"hosts": [host]}}, indent=indent)


@pytest.mark.parametrize("indent", [None, 1])
def test_json_is_read_as_text_is(tmp_path: Path, indent: int | None) -> None:
    instants: list[dict[int, Sequence[int]]] = [{0: BUSY, 1: SYSTEM}, {0: IDLE, 1: SYSTEM}]
    text = as_json(instants, indent)
    assert mpstat_json.is_json(text.encode())
    pieces = read(tmp_path, text)
    assert pieces[0].hints.node == "gpu-7"
    found, same = shares(pieces), shares(read(tmp_path, text_of(instants)))
    assert np.array_equal(found.percent, same.percent)
    assert found.start_ns.tolist() == same.start_ns.tolist()


def test_json_may_be_cut_off_anywhere(tmp_path: Path) -> None:
    text = as_json([{0: BUSY}] * 3, 1).encode()
    for end in range(text.find(b"statistics"), len(text), 41):
        pieces = read(tmp_path, text[:end])
        assert pieces[-1].facts.problems == ()


def test_two_hours_of_many_cores_come_in_pieces_of_ten_minutes(tmp_path: Path) -> None:
    cores: dict[int, Sequence[int]] = dict.fromkeys(range(4), BUSY)
    pieces = [p for p in read(tmp_path, text_of([cores] * 240, step=30)) if p.blocks]
    assert len(pieces) == 13
    # Each begins with the last reading of the one before.
    assert [p.blocks[0].tick_ns[0] for p in pieces[1:]] == [
        p.blocks[0].tick_ns[-1] for p in pieces[:-1]
    ]
    assert np.isfinite(shares(pieces).busy).all()


@pytest.mark.parametrize(
    "prefix",
    [
        "Nov 15 20:00:0{} ", "2026-11-15T20:00:0{}.125+00:00 ", "179477280{}.250000 ",
        "Nov 15 20:00:0{} gpu-7 mpstat[4711]: ", "> ", ">> ", "    ", "# ",
    ],
)  # fmt: skip
def test_what_was_put_before_every_line_does_no_harm(tmp_path: Path, prefix: str) -> None:
    lines = text_of([{0: BUSY, 1: SYSTEM}, {0: IDLE, 1: BUSY}]).splitlines(keepends=True)
    text = "".join(prefix.format(number % 10) + line for number, line in enumerate(lines))
    path = Path(made.write(tmp_path / "x.txt", text))
    format_ = recognise(Source.of(path))
    assert format_ is not None
    assert format_.name == "mpstat"
    pieces = read(tmp_path, text)
    found = shares(pieces)
    assert pieces[-1].facts.problems == ()
    assert pieces[0].hints.node == "gpu-7"
    assert (found.start_ns // NS).tolist() == [EVENING, EVENING + 1]
    assert at(found, 1, 0)["system"] == 100


def test_colours_do_no_harm(tmp_path: Path) -> None:
    # As sysstat 12 prints with S_COLORS=always: what is zero is darker.
    text = text_of([{0: BUSY, 1: SYSTEM}, {0: IDLE, 1: BUSY}])
    coloured = text.replace("    0.00", "\x1b[34;22m    0.00\x1b[0m").replace("CPU ", "CPU\x1b[0m ")
    path = Path(made.write(tmp_path / "x.txt", coloured))
    format_ = recognise(Source.of(path))
    assert format_ is not None
    assert format_.name == "mpstat"
    pieces = read(tmp_path, coloured)
    assert np.array_equal(shares(pieces).percent, shares(read(tmp_path, text)).percent)
    assert pieces[-1].facts.problems == ()


def test_a_table_of_sar_says_that_its_system_time_holds_interrupts(tmp_path: Path) -> None:
    names = ("%usr", "%nice", "%sys", "%iowait", "%steal", "%idle")
    text = text_of([{0: SYSTEM}], names=names).replace("%usr", "%user").replace(" %sys", "%system")
    pieces = read(tmp_path, text.replace("   %user", "  %user").replace("  %system", "%system"))
    assert any("softirqs" in note for note in pieces[-1].facts.notes)
    assert not any("softirqs" in n for n in read(tmp_path, text_of([{0: BUSY}]))[-1].facts.notes)


@pytest.mark.parametrize("minutes", [1, 10, 15, 30])
def test_intervals_of_sar_are_whole_however_long_they_are(tmp_path: Path, minutes: int) -> None:
    lines = ["Linux 5.4.0-1146-aws (gpu-7) \t2026-11-15 \t_x86_64_\t(2 CPU)", ""]
    for number in range(4):
        begin, end = (f"{20 + at // 60:02d}:{at % 60:02d}:01"
                      for at in (number * minutes, (number + 1) * minutes))  # fmt: skip
        lines.append(f"{begin}     CPU     %user     %nice   %system   %iowait    %steal     %idle")
        for core, idle in (("all", 50.0), ("0", 100.0), ("1", 0.0)):
            lines.append(f"{end}{core:>8}" + "      0.00" * 2 + f"{100 - idle:10.2f}"
                         + "      0.00" * 2 + f"{idle:10.2f}")  # fmt: skip
        lines.append("")
    made.write(tmp_path / "sar.txt", "\n".join(lines))
    assert main(["import", str(tmp_path / "sar.txt"), "--into", str(tmp_path / "into")]) == 0
    first = EVENING * NS + NS
    window = Window(first, first + 4 * minutes * 60 * NS)
    found = core_map(Recording.open(tmp_path / "into"), window, 4 * minutes)
    assert found.cores == (0, 1)
    assert np.allclose(found.mean_percent_of_core[1], 100, atol=0.5), "nothing is missing"
    assert np.allclose(found.mean_percent_of_core[0], 0, atol=0.5)
