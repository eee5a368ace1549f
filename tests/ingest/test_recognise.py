from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exhume.ingest.recognise import FORMATS, recognise
from exhume.ingest.streams import Source
from tests.ingest import made

MARKED = "### 1794773717.630 2026-11-15T20:15:17.629Z uptime=5.579\ncpu  1 2 3\n"
MPSTAT = "Linux 5.4 (x)\t11/15/26\n\n20:15:18  CPU  %usr  %nice\n20:15:19  all  1.00  0.00\n"
SYSLOG = "Nov 15 20:15:17 host kernel: [    5.5] usb 1-1: new device\n" * 3
FTRACE = "          <idle>-0     [001] d..2  1234.567890: sched_switch: prev_comm=swapper/1\n"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (made.capture(0.1).file(), "perf.data"),
        (made.capture(0.1).pipe(), "perf.data"),
        (b"2ELIFREP" + bytes(100), "perf.data"),
        (gzip.compress(made.capture(0.1).file()), "perf.data"),
        (made.script(0.1).encode(), "perf script"),
        (made.script(0.1, host="x").encode(), "perf script"),
        (gzip.compress(made.script(5).encode()), "perf script"),
        (b"# ========\n# captured on    : Sun Nov 15 20:21:09 2026\n#\n", "perf script"),
        (made.KALLSYMS.encode(), "kallsyms"),
        (gzip.compress(made.KALLSYMS.encode()), "kallsyms"),
        (MARKED.encode(), "/proc copies"),
        (b"", None),
        (b"hello world\n", None),
        (b"{}\n", None),
        (MPSTAT.encode(), None),
        (SYSLOG.encode(), "system log"),
        (FTRACE.encode(), None),
        (bytes(5000), None),
        (b"1794773717 240\n1794773718 241\n1794773719 241\n", None),
        (b"java 12\n\t7f12 run (/lib/x.so)\n\t7f13 main (/lib/x.so)\n\n", "perf script"),
    ],
)
def test_files_are_told_by_what_is_in_them(data: bytes, name: str | None, tmp_path: Path) -> None:
    path = tmp_path / "anything.dat"
    path.write_bytes(data)
    found = recognise(Source.of(path))
    assert (found.name if found else None) == name


def test_a_perf_map_needs_its_name_to_tell_whose_it_is(tmp_path: Path) -> None:
    for name, expected in (("perf-12.map", "perf map"), ("other.map", None)):
        (tmp_path / name).write_text("3ef414c0 398 LazyCompile:~fib /srv/app.js:12\n")
        found = recognise(Source.of(tmp_path / name))
        assert (found.name if found else None) == expected


@given(st.binary(max_size=400))
@settings(deadline=None)
def test_any_bytes_are_something_or_nothing(data: bytes) -> None:
    for one in FORMATS:
        assert one.matches(data, Path("perf-1.map")) in (True, False)


COPY = "### 1794773717.630 uptime=5.579\ncpu  1 0 2 3 0 0 0 0 0 0\ncpu0 1 0 2 3 0 0 0 0 0 0\n"


@pytest.mark.parametrize(
    "text",
    ["=" * 300_000, "-" * 300_000, COPY[:-1] + " " * 100_000, f"time,a{' ' * 60_000}x\n1,2\n3,4\n"],
)
def test_a_line_without_end_takes_no_time(text: str, tmp_path: Path) -> None:
    began = time.process_time()
    made.do_import(tmp_path / "out", made.write(tmp_path / "in.txt", text))
    assert time.process_time() - began < 5
