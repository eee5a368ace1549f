from __future__ import annotations

import time
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from exhume.perf.script_header import EventHeader, ScriptHeader, dated, parse

# perf 6.1
NEW = b"""# ========
# captured on    : Sun Nov 15 20:21:09 2026
# hostname : gpu-node-54
# os release : 5.4.0-1146-aws
# arch : x86_64
# nrcpus online : 2
# nrcpus avail : 4
# cmdline : /bin/perf record -F 97 -g -a -k mono
# event : name = cpu-clock, , id = { 7, 8 }, type = 1, { sample_period, sample_freq } = 97, freq = 1
# event : name = dummy:HG, , id = { 9 }, type = 1, { sample_period, sample_freq } = 4000
# time of first sample : 7.019862
# time of last sample : 347.020236
# sample duration : 340000.374 ms
# clockid: monotonic (1)
# reference time: 2026-11-15 20:15:19.500000 = 1794773719.500000 (TOD) = 7.019862001 (monotonic)
# ========
#
"""
# perf 3.13
OLD = b"""# ========
# captured on: Thu Aug 17 14:14:43 2017
# hostname : lgud
# os release : 3.13.0-44-generic
# arch : x86_64
# nrcpus online : 8
# cmdline : /usr/bin/perf record -F 99 -a -g -- sleep 30
# event : name = cycles, type = 0, config = 0x0, excl_usr = 0, attr_mmap  = 1
"""


def test_a_header_of_today() -> None:
    found = parse(NEW)
    assert found.hostname == "gpu-node-54"
    assert (found.release, found.architecture, found.cores) == ("5.4.0-1146-aws", "x86_64", 2)
    assert found.numbered_cores is None, "some are off line, nobody knows which"
    assert parse(NEW.replace(b"avail : 4", b"avail : 2")).numbered_cores == 2
    assert found.captured == "Sun Nov 15 20:21:09 2026"
    assert found.clock == "monotonic"
    assert found.reference == (1794773719_500000000, 7_019862001)
    assert found.recorded == (7_019862000, 347_020236000)
    assert parse(NEW.replace(b"time of last", b"time of")).recorded is None
    assert found.events == (
        EventHeader("cpu-clock", 97.0, None), EventHeader("dummy:HG", None, 4000),
    )  # fmt: skip


def test_a_header_of_long_ago_has_the_rate_in_the_command() -> None:
    found = parse(OLD)
    assert (found.hostname, found.captured) == ("lgud", "Thu Aug 17 14:14:43 2017")
    assert found.events == (EventHeader("cycles", 99.0, None),)
    assert parse(OLD.replace(b"-F 99", b"-c 1000")).events == (EventHeader("cycles", None, 1000),)


def test_no_header_says_nothing() -> None:
    assert parse(b"") == ScriptHeader()


@given(st.binary(max_size=300), st.integers(0, len(NEW)))
def test_damage_is_harmless(noise: bytes, at: int) -> None:
    parse(NEW[:at] + noise + NEW[at:])


def test_a_line_of_blanks_takes_no_time() -> None:
    began = time.process_time()
    for line in (b"# a" + b" " * 100_000 + b"x", b"# a: x" + b" " * 100_000 + b"x"):
        assert parse(line + b"\n" + NEW).hostname == "gpu-node-54"
    assert time.process_time() - began < 2


def test_a_line_with_a_date_tells_two_clocks() -> None:
    line = b"  perf  7801 [000] 2026-11-17 18:08:05.301526 56425.641890:  10101010 cpu-clock:\n"
    at = datetime(2026, 11, 17, 18, 8, 5, 301_526)
    assert dated(b"x 1 [000] 3.000001: 1 cycles:\n\n" + line) == (
        at, 56_425_641_890_000,
    )  # fmt: skip
    nanoseconds = line.replace(b"301526", b"301526789").replace(b"641890", b"641890123")
    assert dated(nanoseconds) == (at, 56_425_641_890_123)
    assert dated(line.replace(b"11-17", b"13-17")) is None
    assert dated(b"") is None
