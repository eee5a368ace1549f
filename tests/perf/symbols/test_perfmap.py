from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.host import Host
from exhume.perf.symbols import perfmap
from exhume.perf.symbols.perfmap import PerfMap, parse, parse_status
from tests.perf.symbols.real_programs import running


def at(found: PerfMap, address: int) -> str | None:
    assert found.table is not None
    index = int(found.table.lookup(np.array([address], np.uint64))[0])
    return found.table.name(index) if index >= 0 else None


def test_entries_are_found_and_names_may_have_spaces() -> None:
    found = parse(b"3ef414c0 398 LazyCompile:~fib /srv/app.js:12\n7f2e1c000000 1a0 Interpreter\n")
    assert at(found, 0x3EF414C0 + 0x397) == "LazyCompile:~fib /srv/app.js:12"
    assert at(found, 0x7F2E1C000000) == "Interpreter"
    assert at(found, 0x3EF414C0 + 0x398) is None
    assert found.skipped_count == 0


def test_a_later_entry_overrides_what_it_overlaps() -> None:
    found = parse(b"1000 100 old\n1080 40 new\n2000 10 first\n2000 10 second\n")
    assert at(found, 0x1090) == "new"
    assert at(found, 0x1010) is None  # the old code was freed when its place was reused
    assert at(found, 0x2008) == "second"


def test_a_long_entry_covers_many_older_ones() -> None:
    lines = [b"%x 10 small%d" % (0x1000 + i * 16, i) for i in range(500)]
    found = parse(b"\n".join([*lines, b"1000 1f40 big"]))
    assert at(found, 0x1000 + 250 * 16) == "big"
    assert found.table is not None
    assert len(found.table) == 1


def test_garbage_lines_are_skipped_and_counted() -> None:
    found = parse(
        b"1000 10 good\nnonsense\n\n12 xyz bad\nffffffffffffffff 10 wraps\n0x2000 0x8 ok\n"
    )
    assert at(found, 0x1000) == "good"
    assert at(found, 0x2000) == "ok"
    assert found.skipped_count == 3


@settings(deadline=2000)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 1 << 47), st.integers(1, 1 << 12), st.text("ab c:/~", min_size=1)
        ).filter(lambda row: row[2].strip() == row[2]),
        max_size=40,
    )
)
def test_the_last_entry_is_always_found_whole(rows: list[tuple[int, int, str]]) -> None:
    found = parse("".join(f"{a:x} {s:x} {n}\n" for a, s, n in rows).encode())
    assert found.skipped_count == 0
    if rows:
        start, size, name = rows[-1]
        assert at(found, start) == name
        assert at(found, start + size - 1) == name


@settings(deadline=2000)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=25))
def test_an_entry_counts_exactly_until_a_later_one_overlaps_it(rows: list[tuple[int, int]]) -> None:
    found = parse("".join(f"{a:x} {s:x} n{i}\n" for i, (a, s) in enumerate(rows)).encode())
    for address in range(90):
        current = [
            f"n{i}"
            for i, (a, s) in enumerate(rows)
            if a <= address < a + s and not any(b < a + s and a < b + t for b, t in rows[i + 1 :])
        ]
        assert at(found, address) == (current[0] if current else None)


@settings(deadline=2000)
@given(st.binary(max_size=300))
def test_random_bytes_are_read_without_harm(data: bytes) -> None:
    found = parse(data)
    assert found.skipped_count >= 0


def test_the_pid_of_the_innermost_namespace_and_the_users_are_read() -> None:
    status = "Name:\tx\nUid:\t1000\t1001\t1002\t1003\nNSpid:\t4711\t23\t1\n"
    assert parse_status(status, 4711) == (1, (1000, 1001))
    assert parse_status("Name:\tx\n", 4711) == (4711, ())


class MadeProc:
    """A /proc with one process, whose root is a directory of the test."""

    def __init__(self, folder: Path, uid: int) -> None:
        self.tmp = folder / "1234" / "root" / "tmp"
        self.tmp.mkdir(parents=True)
        self.map = self.tmp / "perf-7.map"
        (folder / "1234" / "status").write_text(f"Uid:\t{uid}\t{uid}\nNSpid:\t1234\t7\n")
        self.host = Host(proc=folder)


def test_the_map_is_read_below_the_root_of_the_process_by_its_own_pid(tmp_path: Path) -> None:
    made = MadeProc(tmp_path, os.getuid())
    made.map.write_text("1000 10 jitted\n")
    found = perfmap.read(made.host, 1234)
    assert found is not None
    assert at(found, 0x1000) == "jitted"


def test_a_process_without_a_map_or_gone_has_none(tmp_path: Path) -> None:
    made = MadeProc(tmp_path, os.getuid())
    assert perfmap.read(made.host, 1234) is None
    assert perfmap.read(made.host, 99) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_map_somebody_else_put_there_is_refused(tmp_path: Path) -> None:
    made = MadeProc(tmp_path, uid=1000)
    made.map.write_text("1000 10 planted\n")
    os.chown(made.map, 1001, 1001)
    found = perfmap.read(made.host, 1234)
    assert found is not None
    assert found.table is None
    assert "uid 1001" in found.reason
    os.chown(made.map, 1000, 1000)
    assert at_root_or_own(made) == "planted"
    os.chown(made.map, 0, 0)
    assert at_root_or_own(made) == "planted"


def at_root_or_own(made: MadeProc) -> str | None:
    found = perfmap.read(made.host, 1234)
    assert found is not None
    return at(found, 0x1000)


def test_a_map_that_a_process_left_behind_is_read(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    path = tmp_path / "tmp" / "perf-77.map"
    path.write_text("1000 100 fib\n")
    found = perfmap.read_left(tmp_path, 77)
    assert found is not None
    assert at(found, 0x1004) == "fib"
    assert perfmap.read_left(tmp_path, 78) is None
    if os.geteuid() == 0:
        os.chown(path, 1001, 1001)
        assert perfmap.read_left(tmp_path, 77) is None


def test_a_map_that_is_a_link_or_a_fifo_is_refused_at_once(tmp_path: Path) -> None:
    made = MadeProc(tmp_path, os.getuid())
    (made.tmp / "real").write_text("1000 10 elsewhere\n")
    made.map.symlink_to("real")
    found = perfmap.read(made.host, 1234)
    assert found is not None
    assert found.table is None
    made.map.unlink()
    os.mkfifo(made.map)
    found = perfmap.read(made.host, 1234)
    assert found is not None
    assert "not a regular file" in found.reason


def test_of_an_overlong_map_the_end_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perfmap, "_MAX_FILE_BYTES", 40)
    made = MadeProc(tmp_path, os.getuid())
    made.map.write_text("1000 10 first\n2000 10 second\n3000 10 third_and_last\n")
    found = perfmap.read(made.host, 1234)
    assert found is not None
    assert at(found, 0x1000) is None
    assert at(found, 0x3000) == "third_and_last"


@pytest.mark.kernel
def test_the_map_of_a_real_process_is_read() -> None:
    script = "import os, sys\nprint('ready', flush=True)\nsys.stdin.read()"
    with running("python3", "-c", script) as pid:
        path = Path(f"/tmp/perf-{pid}.map")
        path.write_text("7f0000001000 20 py::spin:/srv/app.py\n")
        try:
            found = perfmap.read(Host(), pid)
        finally:
            path.unlink()
    assert found is not None
    assert at(found, 0x7F0000001010) == "py::spin:/srv/app.py"
